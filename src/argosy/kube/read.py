"""Read and watch: get, find, list, snapshot, watch, follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from argosy.kube.client import Client
from argosy.kube.errors import Expired, NotFound
from argosy.kube.follow import Follow
from argosy.kube.listing import METADATA_ONE, PAGE, Listing, Selection, Snapshot
from argosy.kube.watch import Watch

if TYPE_CHECKING:
    from argosy.kube.resources import Resource

__all__ = ["Reading"]


class Reading(Client):
    """The part of `KubeApi` that changes nothing."""

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        sub: str = "",
        metadata_only: bool = False,
    ) -> dict[str, Any]:
        """Return one object.

        Raises:
            NotFound: it is not there.
            ApiError: see `argosy.kube.errors`.
        """
        call = self._one(
            "get", "GET", resource, name, namespace, sub=sub,
            accept=METADATA_ONE if metadata_only else "application/json",
        )  # fmt: skip
        obj: dict[str, Any] = msgspec.json.decode((await self._transport.send(call)).body)
        return Selection(resource, metadata_only=True).own(obj) if metadata_only else obj

    async def find(
        self, resource: Resource, name: str, namespace: str | None = None
    ) -> dict[str, Any] | None:
        """Return one object, None when it is not there.

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        try:
            return await self.get(resource, name, namespace)
        except NotFound:
            return None

    def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page: int = PAGE,
    ) -> Listing:
        """Return the objects of a collection, to be iterated (`async for`); None = everywhere."""
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        return Listing(self._transport, selection, page=page, priority=self._priority)

    async def snapshot(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> Snapshot:
        """Return a whole collection at one version; a watch may go on from it.

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        for page in (PAGE, 0):  # pages that expire are fetched again at once, as client-go does
            listing = Listing(
                self._transport, selection, page=page, priority=self._priority, strict=True
            )
            try:
                items = [item async for item in listing]
            except Expired:
                if not page:
                    raise
            else:
                return Snapshot(items, listing.resource_version)
        raise AssertionError("the last attempt returns or raises")

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> Watch:
        """Return the events behind `resource_version` (a list's), to be iterated.

        Iterating raises `Expired` when the version is too old.
        """
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        return Watch(
            self._transport, selection, backoff=self._backoff, resource_version=resource_version
        )

    def follow(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        patient: bool = True,
        streaming: bool = True,
    ) -> Follow:
        """Return what is there and what changes, without a gap, to be iterated.

        Args:
            resource: what to follow.
            namespace: where; None = everywhere.
            label_selector: which of them.
            field_selector: which of them.
            metadata_only: leave spec and status out.
            patient: wait while the server is away; else raise after the back-off's attempts.
            streaming: take the state over the watch where the server can (WatchList).
        """
        selection = Selection(resource, namespace, label_selector, field_selector, metadata_only)
        return Follow(
            self._transport,
            selection,
            backoff=self._backoff,
            priority=self._priority,
            patient=patient,
            streaming=streaming,
        )
