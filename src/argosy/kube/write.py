"""Write: apply, create, replace, patch, delete, delete_collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, field

from argosy.errors import UsageError
from argosy.kube.client import Client
from argosy.kube.errors import NotFound
from argosy.kube.resources import split_api_version
from argosy.kube.transport import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.kube.resources import Resource

__all__ = ["PatchForm", "Propagation", "Writing"]

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


class Writing(Client):
    """The part of `KubeApi` that changes things."""

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
        try:
            return await self._object(call)
        except NotFound as e:
            if not e.repeated:
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
