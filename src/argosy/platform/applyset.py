"""Say which objects are ours: an ApplySet (KEP-3659) for each app, with an inventory.

Pure: names, labels and the parent object as data. The parent is a ConfigMap in `argosy-system`.
It lists the kinds and namespaces of its members, as the KEP asks, and what was applied to each:
whoever runs the next apply, from whatever machine, knows what needs no call.

An object is a member when it carries the parent's id as its `part-of` label. Nothing without
that label is ever deleted.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from argosy import __version__
from argosy.manifests import ObjectId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.manifests import Manifest

__all__ = [
    "ID_LABEL",
    "MANAGER",
    "NAMESPACE",
    "PART_OF",
    "Parent",
    "Record",
    "applyset_id",
    "parent_name",
    "parent_selector",
    "read_parent",
    "write_parent",
]

NAMESPACE = "argosy-system"
MANAGER = "argosy-platform"
PART_OF = "applyset.kubernetes.io/part-of"
ID_LABEL = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
MANAGED_BY = "app.kubernetes.io/managed-by"
PLATFORM = "argosy.dev/platform"
ENV = "argosy.dev/env"
APP = "argosy.dev/app"
INVENTORY = "inventory.json"


class Record(msgspec.Struct, frozen=True, array_like=True):
    """What was applied to one member.

    Attributes:
        digest: what we sent.
        uid: the object that we sent it to.
        fields: the digest of our entry in its managedFields behind that: it changes when anybody
            changes a field of ours, and only then.
    """

    digest: str
    uid: str
    fields: str


class Parent(msgspec.Struct):
    """The ApplySet of one app, as its parent object says it."""

    app: str
    id: str
    kinds: frozenset[tuple[str, str]]
    namespaces: frozenset[str]
    records: dict[ObjectId, Record]


def parent_name(platform: str, env: str, app: str) -> str:
    """Return the name of an app's parent object; dots keep apart what has dashes inside."""
    return f"{platform}.{env}.{app}"


def applyset_id(name: str, *, namespace: str = NAMESPACE) -> str:
    """Return the id of the ApplySet whose parent is the ConfigMap `name`, as in the KEP."""
    text = f"{name}.{namespace}.ConfigMap."
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return f"applyset-{digest.decode().rstrip('=')}-v1"


def parent_selector(platform: str, env: str) -> str:
    """Return the label selector of all parents of a platform."""
    return f"{MANAGED_BY}=argosy,{PLATFORM}={platform},{ENV}={env}"


def write_parent(platform: str, env: str, parent: Parent) -> Manifest:
    """Return the parent object of an app."""
    others = sorted(parent.namespaces - {NAMESPACE, ""})
    kinds = sorted(f"{kind}.{group}" if group else kind for group, kind in parent.kinds)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": parent_name(platform, env, parent.app),
            "namespace": NAMESPACE,
            "labels": {
                ID_LABEL: parent.id,
                MANAGED_BY: "argosy",
                PLATFORM: platform,
                ENV: env,
                APP: parent.app,
            },
            "annotations": {
                TOOLING: f"argosy/v{__version__}",
                KINDS: ",".join(kinds),
                NAMESPACES: ",".join(others),
            },
        },
        "data": {INVENTORY: _inventory(parent.records)},
    }


def read_parent(obj: Manifest) -> Parent:
    """Return what a parent object says; an inventory that cannot be read counts as empty."""
    metadata = obj.get("metadata") or {}
    labels: Mapping[str, str] = metadata.get("labels") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    namespaces = frozenset(n for n in annotations.get(NAMESPACES, "").split(",") if n)
    return Parent(
        app=labels.get(APP, ""),
        id=labels.get(ID_LABEL, ""),
        kinds=frozenset(_group_kinds(annotations.get(KINDS, ""))),
        namespaces=namespaces,
        records=_records((obj.get("data") or {}).get(INVENTORY, "")),
    )


def _group_kinds(text: str) -> Iterable[tuple[str, str]]:
    for name in text.split(","):
        kind, _, group = name.partition(".")
        if kind:
            yield group, kind


def _inventory(records: Mapping[ObjectId, Record]) -> str:
    rows = [[*id_, *msgspec.to_builtins(record)] for id_, record in sorted(records.items())]
    # a line an object, so that a person can read it and a diff shows what changed
    return "\n".join(["[", ",\n".join(msgspec.json.encode(r).decode() for r in rows), "]"])


def _records(text: str) -> dict[ObjectId, Record]:
    try:
        rows: list[list[Any]] = msgspec.json.decode(text or "[]", type=list[list[str]])
        return {ObjectId(*row[:4]): Record(*row[4:7]) for row in rows}
    except (msgspec.DecodeError, msgspec.ValidationError, TypeError):
        return {}
