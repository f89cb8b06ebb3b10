"""Follow a collection: what is there, then what changes, without a gap.

Where the server can, state and changes come over one connection (WatchList); else pages are
listed and a watch goes on behind them. When the server has forgotten our version (410), the state
is read again and compared with what was known: an object that vanished meanwhile is shown as
DELETED, one that was made anew under its old name as DELETED and ADDED, one that did not change
not at all. Keeps two short strings an object, never the object.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from argosy.kube.errors import (
    ApiError,
    Expired,
    Invalid,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from argosy.kube.listing import PAGE, Listing
from argosy.kube.watch import Event, Watch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from argosy.kube.backoff import Backoff
    from argosy.kube.limit import Priority
    from argosy.kube.listing import Selection
    from argosy.kube.transport import Transport

__all__ = ["Follow"]

Key = tuple[str, str]  # namespace and name


class Follow:
    """ADDED, MODIFIED and DELETED events of a selection, from its present state on, for ever.

    A SYNCED event says that the state is complete: once at first, and again after each relist.
    Refusals (401, 403, 404) are raised; failures are waited out when `patient`.
    """

    def __init__(
        self,
        transport: Transport,
        selection: Selection,
        *,
        backoff: Backoff,
        priority: Priority,
        patient: bool,
        streaming: bool = True,
    ) -> None:
        self._transport = transport
        self._selection = selection
        self._backoff = backoff
        self._priority = priority
        self._patient = patient
        self._streaming = streaming
        self._known: dict[Key, tuple[str, str]] = {}
        self._failures = 0
        self._current: Watch | None = None
        self.relists = -1

    @property
    def resource_version(self) -> str:
        """Return the last version seen, "" before the first."""
        return self._current.resource_version if self._current else ""

    def __aiter__(self) -> AsyncGenerator[Event]:
        return self.events()

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events; close the generator to end the connection."""
        while True:
            self.relists += 1
            state = self._stream() if self._streaming else self._list_then_watch()
            try:
                async with contextlib.aclosing(state) as events:
                    async for event in events:
                        if event.type == "SYNCED":
                            self._failures = 0
                        yield event
            except Expired as e:
                await self._pause(e)
            except Invalid:
                if not self._streaming:
                    raise
                self._streaming = False  # a server without WatchList refuses its parameters
            except (Unreachable, ServerError, TooManyRequests) as e:
                self._streaming = self._streaming and not isinstance(e, Unreachable)
                await self._pause(e)

    async def _pause(self, error: ApiError) -> None:
        self._failures += 1
        if self._failures >= self._backoff.attempts and not self._patient:
            raise error
        if self._failures > 1 or not isinstance(error, Expired):
            surroundings = self._transport.surroundings
            await surroundings.sleep(
                self._backoff.delay(self._failures, error, surroundings.random)
            )

    async def _stream(self) -> AsyncGenerator[Event]:
        seen: set[Key] = set()
        watch = self._watch("", initial=True)
        async with contextlib.aclosing(watch.events()) as events:
            async for event in events:
                if event.type == "SYNCED":
                    for gone in self._vanished(seen):
                        yield gone
                    seen.clear()
                    yield event
                    continue
                if not watch.in_sync:
                    (seen.discard if event.type == "DELETED" else seen.add)(_key(event.object))
                for told in self._told(event):
                    yield told

    async def _list_then_watch(self) -> AsyncGenerator[Event]:
        own = self._selection.own
        seen: set[Key] = set()
        page = PAGE
        while True:
            listing = Listing(
                self._transport, self._selection, page=page, priority=self._priority, strict=True
            )
            try:
                while (items := await listing.next_page()) is not None:
                    for item in items:
                        seen.add(_key(item))
                        for told in self._told(Event("ADDED", own(item))):
                            yield told
                break
            except Expired:
                if not page:
                    raise
                page = 0  # too slow for pages: all at once, as client-go does
                seen.clear()
        for gone in self._vanished(seen):
            yield gone
        version = listing.resource_version
        watch = self._watch(version, initial=False)
        yield Event("SYNCED", {"metadata": {"resourceVersion": version}})
        async with contextlib.aclosing(watch.events()) as events:
            async for event in events:
                for told in self._told(event):
                    yield told

    def _watch(self, version: str, *, initial: bool) -> Watch:
        self._current = Watch(
            self._transport,
            self._selection,
            backoff=self._backoff,
            resource_version=version,
            initial=initial,
            patient=self._patient,
        )
        return self._current

    def _told(self, event: Event) -> Iterator[Event]:
        """Say what an event means to somebody who knows what we know."""
        key = _key(event.object)
        metadata = event.object["metadata"]
        uid, version = metadata.get("uid", ""), metadata["resourceVersion"]
        before = self._known.get(key)
        if event.type == "DELETED":
            if before is not None:
                del self._known[key]
                yield event
            return
        if before == (uid, version):
            return
        if before is not None and before[0] != uid:
            yield Event("DELETED", self._shadow(key, before))
            before = None
        self._known[key] = (uid, version)
        yield Event("MODIFIED" if before else "ADDED", event.object)

    def _vanished(self, seen: set[Key]) -> Iterator[Event]:
        for key in [k for k in self._known if k not in seen]:
            yield Event("DELETED", self._shadow(key, self._known.pop(key)))

    def _shadow(self, key: Key, known: tuple[str, str]) -> dict[str, Any]:
        """Return what is still known of an object that is gone."""
        resource = self._selection.resource
        metadata = {"name": key[1], "uid": known[0], "resourceVersion": known[1]}
        if key[0]:
            metadata["namespace"] = key[0]
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def _key(obj: dict[str, Any]) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
