"""Read from a cluster what a plan needs to know, and no more.

Members of ApplySets are found by their label, metadata alone; the rest of a cluster is not listed,
however large it is. Objects that are rendered and are no members are asked for one by one, save in
namespaces that are not there yet.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.kube import Resource
from argosy.manifests import ObjectId
from argosy.platform.applyset import (
    MANAGER,
    NAMESPACE,
    PART_OF,
    Parent,
    parent_selector,
    read_parent,
)
from argosy.platform.tasks import together

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.kube import KubeApi, ResourceIndex
    from argosy.manifests import Manifest

__all__ = ["LiveObject", "LiveState", "members", "own_fields", "read_live", "read_parents"]

CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


class LiveObject(msgspec.Struct, frozen=True):
    """What the metadata of a live object says.

    Attributes:
        part_of: the ApplySet that it is a member of, "" for none.
        fields: the digest of our entry in its managedFields, "" when there is none.
        managers: everybody else who wrote its main resource, with the operation.
        deleting: it is on its way out.
    """

    id: ObjectId
    uid: str
    version: str
    part_of: str
    fields: str
    managers: tuple[tuple[str, str], ...]
    deleting: bool
    finalizers: tuple[str, ...] = ()


class LiveState(msgspec.Struct):
    """What is in the cluster of a platform.

    Attributes:
        objects: members, and rendered objects that are there without being members.
        parents: the ApplySet of each app that was ever applied.
        namespaces: the namespaces that are there.
        unserved: kinds that were asked for and that the server does not serve.
    """

    objects: dict[ObjectId, LiveObject]
    parents: dict[str, Parent]
    namespaces: frozenset[str]
    unserved: frozenset[tuple[str, str]] = frozenset()


def live_object(id_: ObjectId, metadata: Manifest) -> LiveObject:
    """Return what the metadata of an object says."""
    entries = metadata.get("managedFields") or ()
    others = {
        (e.get("manager", ""), e.get("operation", ""))
        for e in entries
        if not e.get("subresource") and not _is_ours(e)
    }
    return LiveObject(
        id=id_,
        uid=metadata.get("uid", ""),
        version=metadata.get("resourceVersion", ""),
        part_of=(metadata.get("labels") or {}).get(PART_OF, ""),
        fields=own_fields(metadata),
        managers=tuple(sorted(others)),
        deleting=bool(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers") or ()),
    )


def own_fields(metadata: Manifest) -> str:
    """Return a digest of our entry in managedFields, "" when there is none.

    The API server changes the entry when we change a field, and when anybody else does to a field
    that we applied; a controller that writes status or fields of its own leaves it as it is.
    """
    for entry in metadata.get("managedFields") or ():
        if _is_ours(entry):
            text = msgspec.json.encode([entry.get("time"), entry.get("fieldsV1")])
            return hashlib.sha256(text).hexdigest()[:16]
    return ""


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return bool(
        entry.get("manager") == MANAGER
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    )


async def read_parents(api: KubeApi, platform: str, env: str) -> dict[str, Parent]:
    """Return the ApplySet of each app of a platform that was ever applied.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    selector = parent_selector(platform, env)
    listing = api.list(CONFIG_MAP, NAMESPACE, label_selector=selector)
    parents = [read_parent(obj) async for obj in listing]
    return {parent.app: parent for parent in parents if parent.app}


async def read_live(
    api: KubeApi,
    platform: str,
    env: str,
    *,
    wanted: Mapping[ObjectId, Resource],
    index: ResourceIndex,
) -> LiveState:
    """Return what is in the cluster of a platform.

    Args:
        api: the cluster.
        platform: the platform's name.
        env: the environment.
        wanted: the rendered objects, each with its resource.
        index: what the cluster serves.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    parents = await read_parents(api, platform, env)
    kinds = {(r.group, r.kind): r for r in wanted.values()}
    for parent in parents.values():
        for group, kind in parent.kinds:
            found = index.find(group, None, kind)
            if found is not None:
                kinds.setdefault((group, kind), found)
    served = {key: r for key, r in kinds.items() if index.find(r.group, None, r.kind) is not None}
    calls = [members(api, served[key]) for key in sorted(served)]
    listed = await together(calls, name="list members")
    namespaces = await _names(api)
    objects = {o.id: o for found in listed for o in found}
    absent = [
        (id_, r)
        for id_, r in wanted.items()
        if id_ not in objects
        and (r.group, r.kind) in served
        and (not r.namespaced or id_.namespace in namespaces)
    ]
    objects.update(await _strangers(api, absent))
    return LiveState(objects, parents, namespaces, frozenset(set(kinds) - set(served)))


async def _names(api: KubeApi) -> frozenset[str]:
    found = [o["metadata"]["name"] async for o in api.list(NAMESPACES, metadata_only=True)]
    return frozenset(found)


async def members(api: KubeApi, resource: Resource) -> list[LiveObject]:
    """Return the objects of a kind that are members of any ApplySet.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    found = api.list(resource, label_selector=PART_OF, metadata_only=True)
    return [live_object(_id(resource, obj), obj["metadata"]) async for obj in found]


def _id(resource: Resource, obj: Manifest) -> ObjectId:
    metadata = obj["metadata"]
    return ObjectId(
        resource.group, resource.kind, metadata.get("namespace") or "", metadata["name"]
    )


FEW = 4  # objects of a kind and namespace: fewer are asked for one by one, more are listed


async def _strangers(
    api: KubeApi, absent: Iterable[tuple[ObjectId, Resource]]
) -> dict[ObjectId, LiveObject]:
    """Return those of some objects that are there without our label."""
    places: dict[tuple[Resource, str], list[ObjectId]] = {}
    for id_, resource in absent:
        places.setdefault((resource, id_.namespace), []).append(id_)
    found: dict[ObjectId, LiveObject] = {}

    async def one(id_: ObjectId, resource: Resource) -> None:
        # a list of one: what is not there is an empty answer and no refused request
        async for obj in api.list(
            resource,
            id_.namespace or None,
            field_selector=f"metadata.name={id_.name}",
            metadata_only=True,
        ):
            found[id_] = live_object(id_, obj["metadata"])

    async def many(resource: Resource, namespace: str, ids: set[ObjectId]) -> None:
        async for obj in api.list(resource, namespace or None, metadata_only=True):
            id_ = _id(resource, obj)
            if id_ in ids:
                found[id_] = live_object(id_, obj["metadata"])

    calls = []
    for (resource, namespace), ids in places.items():
        if len(ids) >= FEW:
            calls.append(many(resource, namespace, set(ids)))
        else:
            calls += [one(id_, resource) for id_ in ids]
    await together(calls, name="look for objects")
    return found
