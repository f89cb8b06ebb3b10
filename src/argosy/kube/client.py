"""What reading and writing share: the session, discovery, OpenAPI, and how a request is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec

from argosy.kube.backoff import Backoff
from argosy.kube.discovery import Discovery
from argosy.kube.errors import NoSuchKind
from argosy.kube.limit import Priority
from argosy.kube.openapi import OpenApi
from argosy.kube.resources import split_api_version
from argosy.kube.transport import Call, Surroundings, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from argosy.kube.config import ClusterConfig
    from argosy.kube.resources import Resource, ResourceIndex
    from argosy.kube.stats import Stats
    from argosy.kube.transport import Answer

__all__ = ["Client"]

FIELD_MANAGER = "argosy-platform"
FIRST_LOOK_AGAIN = 0.05  # seconds until discovery is asked again for a kind that is to come
LAST_LOOK_AGAIN = 1.0  # seconds; the delay doubles up to here
CONCURRENCY = 64  # requests; more does not make one API server faster


class Client:
    """A session with one API server; `KubeApi` is the whole of it.

    Args:
        config: which server, and as whom.
        field_manager: who we are in managedFields.
        concurrency: how many requests are in flight at most; fewer when the server says 429.
        backoff: how patient to be with failures.
        cache: the directory that discovery is kept in; None takes the configuration's.
        interactive: whether a credential plugin may talk to the user on the terminal.
        on_warning: takes the server's warnings (deprecated versions, unknown fields).
        surroundings: time and chance.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        field_manager: str = FIELD_MANAGER,
        concurrency: int = CONCURRENCY,
        backoff: Backoff | None = None,
        cache: Path | None = None,
        interactive: bool = False,
        on_warning: Callable[[str], None] | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.config = config
        self.field_manager = field_manager
        self._backoff = backoff or Backoff()
        self._priority = Priority.NORMAL
        self._transport = Transport(
            config,
            concurrency=concurrency,
            backoff=self._backoff,
            interactive=interactive,
            surroundings=surroundings or Surroundings(),
            on_warning=on_warning,
        )
        self._discovery = Discovery(self._transport, cache or config.cache)
        self._openapi = OpenApi(self._transport, cache or config.cache)

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    def prioritised(self, priority: Priority) -> Self:
        """Return a view of this client whose requests have another priority."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view._priority = priority
        return view

    @property
    def stats(self) -> Stats:
        """Return the counters, shared by all views."""
        return self._transport.stats

    @property
    def in_flight_limit(self) -> int:
        """Return how many requests the server is trusted with just now."""
        return self._transport.limit.size

    async def version(self) -> dict[str, str]:
        """Return the server's version (`gitVersion`, `major`, `minor` …).

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        answer = await self.raw("GET", "/version", where="ask for the version")
        found: dict[str, str] = msgspec.json.decode(answer.body)
        return found

    async def resources(self, *, fresh: bool = False) -> ResourceIndex:
        """Return all that the server serves; `fresh` asks it even when the cache is young.

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        return await self._discovery.index(fresh=fresh)

    async def resource(
        self, group: str, version: str | None, kind: str, *, wait: float = 0.0
    ) -> Resource:
        """Return the resource of a kind; the server is asked anew before it is called missing.

        Args:
            group: its API group, "" for core.
            version: its version; None takes the one that the server prefers.
            kind: the kind.
            wait: seconds to go on asking: an established CRD shows in discovery a moment later.

        Raises:
            NoSuchKind: the server does not serve it.
            ApiError: see `argosy.kube.errors`.
        """
        index = await self._discovery.index()
        surroundings = self._transport.surroundings
        deadline, delay = surroundings.now() + wait, FIRST_LOOK_AGAIN
        while (found := index.find(group, version, kind)) is None:
            index = await self._discovery.index(fresh=True)
            found = index.find(group, version, kind)
            if found is not None:
                break
            if surroundings.now() >= deadline:
                raise _no_such_kind(index, group, version, kind)
            await surroundings.sleep(delay)
            delay = min(delay * 2, LAST_LOOK_AGAIN)
        return found

    async def resource_of(self, obj: Mapping[str, Any]) -> Resource:
        """Return the resource of a manifest.

        Raises:
            NoSuchKind: the server does not serve it.
            ApiError: see `argosy.kube.errors`.
        """
        group, version = split_api_version(obj["apiVersion"])
        return await self.resource(group, version, obj["kind"])

    async def openapi(self, group_version: str) -> bytes:
        """Return the OpenAPI v3 document of a group version ("v1", "apps/v1") as JSON.

        Raises:
            NotFound: the server has none.
            ApiError: see `argosy.kube.errors`.
        """
        return await self._openapi.document(group_version)

    async def raw(
        self,
        method: str,
        path: str,
        *,
        where: str = "",
        params: Mapping[str, str | bool | int] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "*/*",
    ) -> Answer:
        """Send any request and return its answer.

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        return await self._transport.send(
            Call(
                "raw",
                method,
                path,
                where or f"{method} {path}",
                params=params or {},
                body=body,
                content_type=content_type,
                accept=accept,
                idempotent=method in {"GET", "HEAD", "PUT", "DELETE"},
                priority=self._priority,
            )
        )

    async def _object(self, call: Call) -> dict[str, Any]:
        obj: dict[str, Any] = msgspec.json.decode((await self._transport.send(call)).body)
        return obj

    def _one(
        self,
        verb: str,
        method: str,
        resource: Resource,
        name: str,
        namespace: str | None,
        *,
        sub: str = "",
        **more: Any,
    ) -> Call:
        place = self._place(resource, namespace)
        where = f"{verb} {resource.title(place, name)}{' ' + sub if sub else ''}"
        path = resource.path(place, name, sub)
        return Call(verb, method, path, where, priority=self._priority, **more)

    def _place(self, resource: Resource, namespace: str | None) -> str | None:
        return (namespace or self.config.namespace) if resource.namespaced else None


def _no_such_kind(index: ResourceIndex, group: str, version: str | None, kind: str) -> NoSuchKind:
    other = index.find(group, None, kind)
    name = f"{kind}.{group}" if group else kind
    hint = f"it serves {other.api_version}" if other else None
    if hint is None and any(i.startswith(f"{group}/") for i in index.incomplete):
        hint = f"the server of {group} does not answer"
    said = f"version {version} of {name}" if version and other else name
    return NoSuchKind(f"the server does not serve {said}", hint=hint, code=404)
