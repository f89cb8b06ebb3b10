"""Learn what an API server serves: aggregated discovery, the older form, and a cache on disk.

Reading answers is pure (`from_aggregated`, `from_legacy`); `Discovery` asks and remembers. The
cache's key is the server's address and its CA, so a cluster made anew at an old address is
another cluster. A client asks once with the cache's ETags (3 ms on the loopback, not 25), and
again when something is not in the index: a CRD that was just established. Only a server without
ETags is believed for ten minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from argosy.kube.errors import Forbidden, NotFound, ServerError
from argosy.kube.resources import Resource, ResourceIndex, split_api_version
from argosy.kube.storage import write_atomically
from argosy.kube.transport import Call

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from argosy.kube.transport import Answer, Transport

__all__ = ["Discovery", "from_aggregated", "from_legacy"]

FRESH = 600.0  # seconds that a cache without ETags is believed without asking
FORMAT = 1
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


class _Half(Struct):
    """What /api or /apis said, and the ETag to ask again with."""

    etag: str
    resources: list[Resource]
    incomplete: list[str] = []


class _Cache(Struct):
    format: int
    at: float
    halves: dict[str, _Half]


def from_aggregated(document: dict[str, Any]) -> tuple[list[Resource], list[str]]:
    """Read an APIGroupDiscoveryList: its resources, and the group versions that are stale."""
    found: list[Resource] = []
    stale: list[str] = []
    for group in document.get("items") or ():
        name = group.get("metadata", {}).get("name", "")
        for version in group.get("versions") or ():
            if version.get("freshness") == "Stale":
                stale.append(f"{name}/{version['version']}")
            found += (
                Resource(
                    group=name,
                    version=version["version"],
                    plural=r["resource"],
                    kind=r["responseKind"]["kind"],
                    namespaced=r["scope"] == "Namespaced",
                    verbs=tuple(r.get("verbs") or ()),
                    short_names=tuple(r.get("shortNames") or ()),
                    singular=r.get("singularResource", ""),
                    categories=tuple(r.get("categories") or ()),
                    subresources=tuple(s["subresource"] for s in r.get("subresources") or ()),
                )
                for r in version.get("resources") or ()
                if (r.get("responseKind") or {}).get("kind")
            )
    return found, stale


def from_legacy(document: dict[str, Any]) -> list[Resource]:
    """Read an APIResourceList of one group version."""
    group, version = split_api_version(document["groupVersion"])
    listed = document.get("resources") or ()
    subs: dict[str, list[str]] = {}
    for r in listed:
        plural, _, sub = r["name"].partition("/")
        if sub:
            subs.setdefault(plural, []).append(sub)
    return [
        Resource(
            group=group,
            version=version,
            plural=r["name"],
            kind=r["kind"],
            namespaced=r["namespaced"],
            verbs=tuple(r.get("verbs") or ()),
            short_names=tuple(r.get("shortNames") or ()),
            singular=r.get("singularName", ""),
            categories=tuple(r.get("categories") or ()),
            subresources=tuple(subs.get(r["name"], ())),
        )
        for r in listed
        if "/" not in r["name"]
    ]


class Discovery:
    """What one server serves, kept in memory and on disk."""

    def __init__(self, transport: Transport, directory: Path | None) -> None:
        self._transport = transport
        config = transport.config
        key = hashlib.sha256(config.server.encode() + b"\0" + config.ca).hexdigest()[:24]
        self._file = directory / f"{key}.json" if directory else None
        self._lock = asyncio.Lock()
        self._cache: _Cache | None = None
        self._index: ResourceIndex | None = None

    async def index(self, *, fresh: bool = False) -> ResourceIndex:
        """Return what the server serves.

        Args:
            fresh: ask the server, even when the cache is young.

        Raises:
            ApiError: the server does not say.
        """
        if self._index is not None and not fresh:
            return self._index
        seen = self._index
        async with self._lock:
            if self._index is not None and self._index is not seen:
                return self._index  # somebody else asked while we waited
            now = self._transport.surroundings.now()
            cache = self._cache or self._load()
            if fresh or cache is None or not _believed(cache, now):
                cache = await self._refresh(cache, now)
            self._cache = cache
            self._index = ResourceIndex(
                [r for half in cache.halves.values() for r in half.resources],
                incomplete=[i for half in cache.halves.values() for i in half.incomplete],
            )
            return self._index

    async def _refresh(self, old: _Cache | None, now: float) -> _Cache:
        known = old.halves if old else {}
        core, groups = await asyncio.gather(
            self._half("/api", known.get("/api")), self._half("/apis", known.get("/apis"))
        )
        cache = _Cache(FORMAT, now, {"/api": core, "/apis": groups})
        self._store(cache)
        return cache

    async def _half(self, path: str, known: _Half | None) -> _Half:
        headers = (("If-None-Match", known.etag),) if known and known.etag else ()
        answer = await self._ask(path, accept=AGGREGATED, headers=headers)
        if answer.code == 304 and known:
            return known
        document = msgspec.json.decode(answer.body)
        if document.get("kind") == "APIGroupDiscoveryList":
            resources, stale = from_aggregated(document)
            return _Half(answer.headers.get("ETag", ""), resources, stale)
        resources, missing = await self._legacy(path, document)
        return _Half("", resources, missing)

    async def _legacy(
        self, path: str, document: dict[str, Any]
    ) -> tuple[list[Resource], list[str]]:
        if path == "/api":
            versions = list(document.get("versions") or ())
        else:
            versions = [v for g in document.get("groups") or () for v in _by_preference(g)]
        answers = await asyncio.gather(*(self._version(f"{path}/{v}") for v in versions))
        missing = [v for v, found in zip(versions, answers, strict=True) if found is None]
        return [r for found in answers for r in found or ()], missing

    async def _version(self, path: str) -> list[Resource] | None:
        try:
            answer = await self._ask(path)
        except (ServerError, NotFound, Forbidden):
            return None  # an aggregated API whose server is down; the others are there
        return from_legacy(msgspec.json.decode(answer.body))

    async def _ask(
        self,
        path: str,
        *,
        accept: str = "application/json",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Answer:
        where = f"discover {path}"
        return await self._transport.send(
            Call("discover", "GET", path, where, accept=accept, headers=headers)
        )

    def _load(self) -> _Cache | None:
        if self._file is None:
            return None
        try:
            cache = msgspec.json.decode(self._file.read_bytes(), type=_Cache)
        except (OSError, msgspec.MsgspecError):
            return None  # a cache that cannot be read is no cache
        return cache if cache.format == FORMAT else None

    def _store(self, cache: _Cache) -> None:
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a cache that cannot be written is no cache
            write_atomically(self._file, msgspec.json.encode(cache))


def _believed(cache: _Cache, now: float) -> bool:
    asked_cheaply = any(half.etag for half in cache.halves.values())
    return not asked_cheaply and 0 <= now - cache.at < FRESH


def _by_preference(group: dict[str, Any]) -> Iterable[str]:
    versions = [v["groupVersion"] for v in group.get("versions") or ()]
    preferred = (group.get("preferredVersion") or {}).get("groupVersion")
    return sorted(versions, key=lambda v: v != preferred)
