"""List a collection page by page.

A continue token that has grown too old (410) is replaced by the one that the server hands out
with the refusal: what comes then is newer than what came before, each object still comes once,
and `consistent` turns False. Whoever must not miss a change between the pages takes
`KubeApi.snapshot`, which starts over instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct, field

from argosy.kube.errors import Expired
from argosy.kube.transport import Call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from argosy.kube.limit import Priority
    from argosy.kube.resources import Resource
    from argosy.kube.transport import Transport

__all__ = ["METADATA_LIST", "METADATA_ONE", "PAGE", "Listing", "Selection", "Snapshot"]

PAGE = 500  # objects; 500 pods of 30 KB stay under 16 MB a response
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
METADATA_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
LIST_TIMEOUT = 120.0  # seconds; a page of large objects over a slow line


@dataclass(frozen=True)
class Selection:
    """What of a collection is meant."""

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False

    def params(self) -> dict[str, str | bool | int]:
        """Return the query's part that says it."""
        return {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}

    def own(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an item with the apiVersion and kind that it stands for, in front."""
        r = self.resource
        if self.metadata_only or "kind" not in obj:
            return {"apiVersion": r.api_version, "kind": r.kind, **_without_type(obj)}
        return obj


def _without_type(obj: dict[str, Any]) -> dict[str, Any]:
    obj.pop("apiVersion", None)
    obj.pop("kind", None)
    return obj


class Snapshot(NamedTuple):
    """A whole collection as it was at one version."""

    items: list[dict[str, Any]]
    resource_version: str


class _Meta(Struct):
    resource_version: str = field(default="", name="resourceVersion")
    continue_: str = field(default="", name="continue")
    remaining: int | None = field(default=None, name="remainingItemCount")


class _Page(Struct):
    metadata: _Meta
    items: list[dict[str, Any]] | None = None


_PAGE = msgspec.json.Decoder(_Page)


class Listing:
    """The objects of a selection, fetched a page at a time as they are iterated.

    `resource_version` is the collection's version, known once the first page is there;
    `remaining` is how many objects the server still holds back, None when it does not say.
    """

    def __init__(
        self,
        transport: Transport,
        selection: Selection,
        *,
        page: int,
        priority: Priority,
        strict: bool = False,
    ) -> None:
        self._transport = transport
        self._selection = selection
        self._page = page
        self._priority = priority
        self._strict = strict
        self._continue: str | None = ""
        self.resource_version = ""
        self.remaining: int | None = None
        self.consistent = True

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[dict[str, Any]]:
        own = self._selection.own
        while (items := await self.next_page()) is not None:
            for item in items:
                yield own(item)

    async def next_page(self) -> list[dict[str, Any]] | None:
        """Return the next page's items as the server wrote them; None behind the last.

        Raises:
            ApiError: the server refuses.
        """
        if self._continue is None:
            return None
        try:
            page = await self._fetch(self._continue)
        except Expired as e:
            token = (e.status.get("metadata") or {}).get("continue", "")
            if self._strict or not self._continue or not token:
                raise
            self.consistent = False
            page = await self._fetch(token)
        meta = page.metadata
        self._continue = meta.continue_ or None
        self.remaining = meta.remaining
        self.resource_version = meta.resource_version
        return page.items or []

    async def _fetch(self, token: str) -> _Page:
        s = self._selection
        call = Call(
            "list",
            "GET",
            s.resource.path(s.namespace),
            f"list {s.resource.title(s.namespace)}",
            params={**s.params(), "limit": self._page, "continue": token},
            accept=METADATA_LIST if s.metadata_only else "application/json",
            priority=self._priority,
            timeout=LIST_TIMEOUT,
        )
        return _PAGE.decode((await self._transport.send(call)).body)
