"""The API server as one object: read, write and watch any resource.

Nothing here decides anything: each method writes down a request and hands it to the transport.
Refuses what a method cannot make sense of (an object without a name) before it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
from msgspec import Struct, field

from argosy.errors import UsageError
from argosy.kube.backoff import Backoff
from argosy.kube.discovery import Discovery
from argosy.kube.errors import NoSuchKind, NotFound
from argosy.kube.limit import Priority
from argosy.kube.listing import METADATA_ONE, PAGE, Listing, Selection
from argosy.kube.resources import split_api_version
from argosy.kube.transport import Call, Surroundings, Transport
from argosy.kube.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from argosy.kube.config import ClusterConfig
    from argosy.kube.resources import Resource, ResourceIndex
    from argosy.kube.stats import Stats
    from argosy.kube.transport import Answer

__all__ = ["KubeApi", "PatchForm", "Propagation"]

FIELD_MANAGER = "argosy-platform"
CONCURRENCY = 64  # requests; more does not make one API server faster

PatchForm = Literal["json", "merge", "strategic"]
Propagation = Literal["Background", "Foreground", "Orphan"]

_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY = "application/apply-patch+yaml"  # JSON is YAML, and every server reads it


class _Metadata(Struct):
    name: str = ""
    namespace: str = ""


class _Header(Struct):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""
    metadata: _Metadata = field(default_factory=_Metadata)


class KubeApi:
    """A client of one API server; use it as an async context manager.

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

    # -- what is there ---------------------------------------------------------------------------

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

    async def resource(self, group: str, version: str | None, kind: str) -> Resource:
        """Return the resource of a kind; the server is asked anew before it is called missing.

        Raises:
            NoSuchKind: the server does not serve it.
            ApiError: see `argosy.kube.errors`.
        """
        found = (await self._discovery.index()).find(group, version, kind)
        if found is None:
            index = await self._discovery.index(fresh=True)
            found = index.find(group, version, kind)
            if found is None:
                raise _no_such_kind(index, group, version, kind)
        return found

    async def resource_of(self, obj: Mapping[str, Any]) -> Resource:
        """Return the resource of a manifest.

        Raises:
            NoSuchKind: the server does not serve it.
            ApiError: see `argosy.kube.errors`.
        """
        group, version = split_api_version(obj["apiVersion"])
        return await self.resource(group, version, obj["kind"])

    # -- read ------------------------------------------------------------------------------------

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

    # -- write -----------------------------------------------------------------------------------

    async def apply(
        self,
        obj: Mapping[str, Any] | bytes,
        *,
        resource: Resource | None = None,
        name: str = "",
        namespace: str = "",
        sub: str = "",
        force: bool = False,
        dry_run: bool = False,
        manager: str | None = None,
        validation: str = "",
    ) -> dict[str, Any]:
        """Apply a manifest on the server's side and return the object as it is then.

        Args:
            obj: the manifest, or its bytes (JSON; YAML when `name` and `resource` are given).
            resource: what it is; None asks discovery.
            name: its name; "" takes the manifest's.
            namespace: its namespace; "" takes the manifest's, else the context's.
            sub: a subresource ("status").
            force: take fields over from other managers.
            dry_run: change nothing, return what would be.
            manager: the field manager; None takes the client's.
            validation: "Strict", "Warn" or "Ignore" for unknown fields; "" leaves it to the server.

        Raises:
            Conflict: others own fields of it (`.fields`).
            Invalid: the server does not accept it (`.causes`).
            ApiError: see `argosy.kube.errors`.
        """
        if isinstance(obj, bytes):
            body = obj
            header = _Header() if name and resource else _header(obj)
        else:
            body = msgspec.json.encode(obj)
            metadata = obj.get("metadata") or {}
            header = _Header(
                obj.get("apiVersion", ""),
                obj.get("kind", ""),
                _Metadata(metadata.get("name") or "", metadata.get("namespace") or ""),
            )
        name = name or header.metadata.name
        if not name:
            raise UsageError("an object without a name cannot be applied", where=header.kind)
        if resource is None:
            resource = await self.resource(*split_api_version(header.api_version), header.kind)
        call = self._one(
            "apply", "PATCH", resource, name, namespace or header.metadata.namespace or None,
            sub=sub, body=body, content_type=_APPLY,
            params={
                "fieldManager": manager or self.field_manager,
                "force": force,
                "dryRun": "All" if dry_run else "",
                "fieldValidation": validation,
            },
        )  # fmt: skip
        return await self._object(call)

    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        manager: str | None = None,
    ) -> dict[str, Any]:
        """Create an object and return it as the server made it.

        Raises:
            AlreadyExists: there is one of that name.
            ApiError: see `argosy.kube.errors`.
        """
        metadata = obj.get("metadata") or {}
        namespace = self._place(resource, namespace or metadata.get("namespace"))
        call = Call(
            "create",
            "POST",
            resource.path(namespace),
            f"create {resource.title(namespace, metadata.get('name'))}",
            params=self._written(manager, dry_run=dry_run),
            body=msgspec.json.encode(obj),
            idempotent=False,
            priority=self._priority,
        )
        return await self._object(call)

    async def replace(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        namespace: str | None = None,
        *,
        sub: str = "",
        dry_run: bool = False,
        manager: str | None = None,
    ) -> dict[str, Any]:
        """Replace an object; with a resourceVersion in it, only if it is still that one.

        Raises:
            Conflict: it has changed.
            ApiError: see `argosy.kube.errors`.
        """
        metadata = obj.get("metadata") or {}
        call = self._one(
            "replace", "PUT", resource, metadata["name"], namespace or metadata.get("namespace"),
            sub=sub, body=msgspec.json.encode(obj),
            params=self._written(manager, dry_run=dry_run),
            idempotent=not metadata.get("resourceVersion"),
        )  # fmt: skip
        return await self._object(call)

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Any,
        *,
        form: PatchForm = "merge",
        sub: str = "",
        dry_run: bool = False,
        manager: str | None = None,
    ) -> dict[str, Any]:
        """Patch an object and return it as it is then.

        Raises:
            Conflict: a test in the patch failed, or its resourceVersion is stale.
            ApiError: see `argosy.kube.errors`.
        """
        call = self._one(
            "patch", "PATCH", resource, name, namespace, sub=sub,
            body=msgspec.json.encode(patch), content_type=_PATCHES[form],
            params=self._written(manager, dry_run=dry_run),
            idempotent=form == "merge",
        )  # fmt: skip
        return await self._object(call)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
        dry_run: bool = False,
        grace: int | None = None,
    ) -> dict[str, Any]:
        """Delete an object; return it (it is going) or a Status (it is gone).

        Args:
            resource: what it is.
            name: its name.
            namespace: its namespace; None takes the context's.
            uid: delete this very object, not a namesake that came after it.
            propagation: what happens to what it owns.
            dry_run: delete nothing.
            grace: seconds until it is killed; None leaves it to the object.

        Raises:
            NotFound: it is not there.
            Conflict: it is not the one with that uid.
            ApiError: see `argosy.kube.errors`.
        """
        call = self._one(
            "delete", "DELETE", resource, name, namespace,
            body=_delete_options(uid, propagation, grace, dry_run=dry_run),
        )  # fmt: skip
        lost = self._transport.stats.retries["delete"]
        try:
            return await self._object(call)
        except NotFound:
            if self._transport.stats.retries["delete"] == lost:
                raise
            return {}  # an attempt whose answer was lost did it

    async def delete_collection(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Delete all objects of a collection that match.

        Raises:
            ApiError: see `argosy.kube.errors`.
        """
        place = self._place(resource, namespace)
        call = Call(
            "deletecollection",
            "DELETE",
            resource.path(place),
            f"delete all of {resource.title(place)}",
            params={"labelSelector": label_selector, "fieldSelector": field_selector},
            body=_delete_options(None, propagation, None, dry_run=dry_run),
            priority=self._priority,
        )
        return await self._object(call)

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

    # -- inside ----------------------------------------------------------------------------------

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

    def _written(self, manager: str | None, *, dry_run: bool) -> dict[str, str | bool | int]:
        return {
            "fieldManager": manager or self.field_manager,
            "dryRun": "All" if dry_run else "",
        }


def _header(obj: bytes) -> _Header:
    try:
        return msgspec.json.decode(obj, type=_Header)
    except msgspec.MsgspecError as e:
        raise UsageError(f"these bytes are no manifest: {e}") from e


def _delete_options(
    uid: str | None, propagation: str, grace: int | None, *, dry_run: bool
) -> bytes:
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
    }
    if uid is not None:
        options["preconditions"] = {"uid": uid}
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if dry_run:
        options["dryRun"] = ["All"]
    return msgspec.json.encode(options)


def _no_such_kind(index: ResourceIndex, group: str, version: str | None, kind: str) -> NoSuchKind:
    other = index.find(group, None, kind)
    name = f"{kind}.{group}" if group else kind
    hint = f"it serves {other.api_version}" if other else None
    if hint is None and any(i.startswith(f"{group}/") for i in index.incomplete):
        hint = f"the server of {group} does not answer"
    said = f"version {version} of {name}" if version and other else name
    return NoSuchKind(f"the server does not serve {said}", hint=hint, code=404)
