"""Watch a collection: one stream of events that outlives its connections.

Bookmarks move the version on and are not shown. When the server ends the connection (it does so
every few minutes) or the connection breaks, the watch goes on behind the last version seen. When
that version is too old, `Expired` is raised: whoever must not lose deletions takes `follow`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from argosy.kube.errors import ApiError, ServerError, TooManyRequests, Unreachable
from argosy.kube.errors import from_status as error_from_status
from argosy.kube.lines import LineSplitter
from argosy.kube.listing import METADATA_ONE
from argosy.kube.transport import Call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from argosy.kube.backoff import Backoff
    from argosy.kube.listing import Selection
    from argosy.kube.transport import Transport

__all__ = ["Event", "Watch"]

SERVER_TIMEOUT = 300  # seconds, up to twice that: the server ends each watch, all not at once
IDLE = 150.0  # seconds; the server sends a bookmark a minute, so two lost ones and some delay
INITIAL_END = "k8s.io/initial-events-end"


class Event(NamedTuple):
    """ADDED, MODIFIED or DELETED, and the object as it is (or last was)."""

    type: str
    object: dict[str, Any]


class _Line(Struct):
    type: str
    object: dict[str, Any]


_LINE = msgspec.json.Decoder(_Line)


class Watch:
    """The events of a selection behind a version.

    `resource_version` is the last version seen: to go on later, start there.
    """

    def __init__(
        self,
        transport: Transport,
        selection: Selection,
        *,
        backoff: Backoff,
        resource_version: str = "",
        initial: bool = False,
        patient: bool = False,
    ) -> None:
        self._transport = transport
        self._selection = selection
        self._backoff = backoff
        self._initial = initial
        self._patient = patient
        self.resource_version = resource_version
        self.in_sync = not initial

    def __aiter__(self) -> AsyncGenerator[Event]:
        return self.events()

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events; close the generator to end the connection."""
        failures = 0
        while True:
            try:
                async with contextlib.aclosing(self._connection()) as events:
                    async for event in events:
                        failures = 0
                        yield event
                failures = 0
            except (Unreachable, ServerError, TooManyRequests) as e:
                failures += 1
                if not self.in_sync or (failures >= self._backoff.attempts and not self._patient):
                    raise
                await self._pause(failures, e)

    async def _pause(self, failures: int, error: ApiError) -> None:
        surroundings = self._transport.surroundings
        self._transport.stats.retries["watch"] += 1
        await surroundings.sleep(self._backoff.delay(failures, error, surroundings.random))

    async def _connection(self) -> AsyncGenerator[Event]:
        selection = self._selection
        splitter = LineSplitter()
        decode = _LINE.decode
        stats = self._transport.stats
        plain = not selection.metadata_only
        async with self._transport.stream(self._call(), idle=IDLE) as content:
            async for chunk in content.iter_any():
                stats.bytes_received += len(chunk)
                for text in splitter.feed(chunk):
                    line = decode(text)
                    kind, obj = line.type, line.object
                    if kind in {"ADDED", "MODIFIED", "DELETED"}:
                        stats.watch_events += 1
                        if self.in_sync:
                            self.resource_version = obj["metadata"]["resourceVersion"]
                        yield Event(kind, obj if plain else selection.own(obj))
                    elif kind == "BOOKMARK":
                        if self._bookmark(obj["metadata"]):
                            yield Event("SYNCED", obj)
                    elif kind == "ERROR":
                        raise self._refused(obj)

    def _bookmark(self, metadata: dict[str, Any]) -> bool:
        self.resource_version = metadata["resourceVersion"]
        if not self.in_sync and (metadata.get("annotations") or {}).get(INITIAL_END) == "true":
            self.in_sync = True
            return True
        return False

    def _refused(self, status: dict[str, Any]) -> ApiError:
        body = msgspec.json.encode(status)
        return error_from_status(int(status.get("code") or 500), body, where=self._where())

    def _where(self) -> str:
        return f"watch {self._selection.resource.title(self._selection.namespace)}"

    def _call(self) -> Call:
        s = self._selection
        chance = self._transport.surroundings.random()
        params = {
            **s.params(),
            "watch": True,
            "allowWatchBookmarks": True,
            "timeoutSeconds": int(SERVER_TIMEOUT * (1 + chance)),
            "resourceVersion": self.resource_version,
        }
        if not self.in_sync:
            params |= {"sendInitialEvents": True, "resourceVersionMatch": "NotOlderThan"}
        return Call(
            "watch",
            "GET",
            s.resource.path(s.namespace),
            self._where(),
            params=params,
            accept=METADATA_ONE if s.metadata_only else "application/json",
        )
