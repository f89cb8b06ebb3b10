"""Fetch the OpenAPI documents of a server, a group version at a time, each once.

The server names each document by the hash of its content, so a copy on disk never goes stale and
serves all clusters.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct, field

from argosy.kube.errors import NotFound
from argosy.kube.storage import write_atomically
from argosy.kube.transport import Call

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.kube.transport import Transport

__all__ = ["OpenApi"]


class _Document(Struct):
    url: str = field(name="serverRelativeURL")


class _Index(Struct):
    paths: dict[str, _Document]


class OpenApi:
    """The OpenAPI v3 documents of one server."""

    def __init__(self, transport: Transport, directory: Path | None) -> None:
        self._transport = transport
        self._directory = directory
        self._index: dict[str, _Document] = {}

    async def group_versions(self, *, fresh: bool = False) -> list[str]:
        """Return the group versions that have a document ("v1", "apps/v1").

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        paths = await self._paths(fresh=fresh)
        return sorted(p.partition("/")[2] for p in paths if p.startswith(("api/", "apis/")))

    async def document(self, group_version: str) -> bytes:
        """Return one document as JSON.

        Raises:
            NotFound: the server has none for this group version.
            ApiError: see `argosy.kube.errors`.
        """
        path = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
        found = (await self._paths()).get(path) or (await self._paths(fresh=True)).get(path)
        if found is None:
            raise NotFound(f"the server has no OpenAPI document for {group_version}", code=404)
        digest = parse_qs(urlsplit(found.url).query).get("hash", [""])[0]
        file = self._file(path, digest)
        if file is not None and file.is_file():
            return file.read_bytes()
        content = await self._ask(found.url)
        if file is not None:
            with contextlib.suppress(OSError):  # a cache that cannot be written is no cache
                write_atomically(file, content)
        return content

    async def _paths(self, *, fresh: bool = False) -> dict[str, _Document]:
        if fresh or not self._index:
            body = await self._ask("/openapi/v3")
            self._index = msgspec.json.decode(body, type=_Index).paths
        return self._index

    async def _ask(self, url: str) -> bytes:
        call = Call("openapi", "GET", url, f"fetch {url.partition('?')[0]}")
        return (await self._transport.send(call)).body

    def _file(self, path: str, digest: str) -> Path | None:
        if self._directory is None or not digest:
            return None
        name = hashlib.sha256(f"{path}?{digest}".encode()).hexdigest()[:32]
        return self._directory / "openapi" / f"{name}.json"
