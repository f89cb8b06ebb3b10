"""Read and rewrite managedFields: who owns which field, and taking over from others.

Pure. Paths are written as the server writes them in conflicts, without quotes:
`spec.template.spec.containers[name=web].image`, `metadata.finalizers[=kubernetes]`, `spec.x[0]`.

Taking over follows kubectl's own migration (k8s.io/client-go/util/csaupgrade): the newest `Update`
entry of a client-side manager becomes our `Apply` entry, entries of the same API version are
united with it, and the others of that manager go. Without this, fields that the old tool set
and we no longer render would stay for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from argosy.kube.errors import FieldOwner

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = [
    "KUBECTL_CLIENT_SIDE",
    "LAST_APPLIED",
    "adoption_patch",
    "last_applied_managers",
    "owned_paths",
    "owners",
    "union",
]

KUBECTL_CLIENT_SIDE = "kubectl-client-side-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

FieldsV1 = dict[str, Any]  # a set of paths as nested objects: "f:name", "k:{…}", "v:…", "i:0", "."


def owned_paths(entry: Mapping[str, Any]) -> set[str]:
    """Return the paths that an entry of `metadata.managedFields` owns."""
    return set(_members(entry.get("fieldsV1") or {}, ""))


def owners(obj: Mapping[str, Any], path: str) -> list[FieldOwner]:
    """Return who owns `path` of an object or a field below it, in the order of managedFields."""
    below = (f"{path}.", f"{path}[")
    return [
        FieldOwner(
            path,
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        )
        for entry in _entries(obj)
        if any(p == path or p.startswith(below) for p in owned_paths(entry))
    ]


def last_applied_managers(obj: Mapping[str, Any]) -> set[str]:
    """Return the managers that applied an object on the client's side, as kubectl finds them."""
    path = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
    found = set()
    for entry in _entries(obj):
        fields: Any = entry.get("fieldsV1") or {}
        for key in path:
            fields = fields.get(key) if fields is not None else None
        if fields is not None and entry.get("operation") == "Update":
            found.add(entry.get("manager", ""))
    return found


def adoption_patch(
    obj: Mapping[str, Any],
    *,
    manager: str,
    legacy: Collection[str] = (KUBECTL_CLIENT_SIDE,),
    applied: Collection[str] = (),
) -> list[dict[str, Any]] | None:
    """Return the JSON patch that makes `manager` the owner of what others own; None for nothing.

    The patch fails with a conflict when the object has changed since it was read.

    Args:
        obj: the live object, with its managedFields.
        manager: who we are.
        legacy: managers whose `Update` entries become ours (client-side apply).
        applied: managers whose `Apply` entries become ours (another tool's server-side apply).
    """
    before = _entries(obj)
    entries = [dict(e) for e in before]
    for name in sorted(legacy):
        entries = _take_over(entries, name, "Update", manager)
    for name in sorted(applied):
        if name != manager:
            entries = _take_over(entries, name, "Apply", manager)
    if entries == before:
        return None
    version = obj["metadata"]["resourceVersion"]
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        # "replace", not "test": etcd then says 409, where the server would say invalid (client-go)
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]


def union(one: FieldsV1, other: FieldsV1) -> FieldsV1:
    """Return the set of paths that is in either."""
    if not one or not other:  # an empty object is a leaf: the path itself is a member
        more = one or other
        return {".": {}, **more} if more else {}
    return {
        key: union(one[key], other[key])
        if key in one and key in other
        else (one[key] if key in one else other[key])
        for key in [*one, *(k for k in other if k not in one)]
    }


def _take_over(
    entries: list[dict[str, Any]], name: str, operation: str, manager: str
) -> list[dict[str, Any]]:
    theirs = [i for i, e in enumerate(entries) if _is(e, name, operation)]
    if not theirs:
        return entries
    ours = next((i for i, e in enumerate(entries) if _is(e, manager, "Apply")), None)
    if ours is None:
        ours = theirs[0]
        entries[ours] = {**entries[ours], "manager": manager, "operation": "Apply"}
    target = entries[ours]
    same = (
        i for i in theirs if i != ours and entries[i].get("apiVersion") == target.get("apiVersion")
    )
    source = next(same, None)
    if source is not None:
        mine, more = target.get("fieldsV1") or {}, entries[source].get("fieldsV1") or {}
        target["fieldsV1"] = union(mine, more) if mine and more else mine or more
    return [e for i, e in enumerate(entries) if i == ours or i not in theirs]


def _is(entry: Mapping[str, Any], manager: str, operation: str) -> bool:
    return (
        entry.get("manager") == manager
        and entry.get("operation") == operation
        and not entry.get("subresource")
    )


def _entries(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    return (obj.get("metadata") or {}).get("managedFields") or []


def _members(fields: FieldsV1, path: str) -> Iterator[str]:
    for key, below in fields.items():
        if key == ".":
            yield path
            continue
        here = path + _segment(key, first=not path)
        if below:
            yield from _members(below, here)
        else:
            yield here


def _segment(key: str, *, first: bool) -> str:
    kind, _, text = key.partition(":")
    if kind == "f":
        return text if first else f".{text}"
    if kind == "k":
        keys = msgspec.json.decode(text)
        return f"[{','.join(f'{k}={_text(v)}' for k, v in keys.items())}]"
    if kind == "v":
        return f"[={_text(msgspec.json.decode(text))}]"
    return f"[{text}]"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
