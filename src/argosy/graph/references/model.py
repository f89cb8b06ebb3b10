"""One reference from an object to another, as data."""

from __future__ import annotations

from typing import NamedTuple

from argosy.manifests import ObjectId

__all__ = ["Reference", "target"]


class Reference(NamedTuple):
    """What one object says about another.

    Attributes:
        source: the object that refers.
        path: where it does, such as `spec.template.spec.volumes[name=x].configMap.name`.
        target: the object that is meant.
        optional: Kubernetes goes on without it, because the author said so.
        key: the key of the ConfigMap or Secret that is meant, "" when all of it.
        port: the Service's port that is meant, by number or name; None when none is named.
        certain: False when the text could mean something else, such as a host name on the
            internet; then a target that is not there says nothing.
    """

    source: ObjectId
    path: str
    target: ObjectId
    optional: bool = False
    key: str = ""
    port: int | str | None = None
    certain: bool = True


def target(kind: str, name: str, *, namespace: str = "", group: str = "") -> ObjectId:
    """Return the identity of what is referred to."""
    return ObjectId(group, kind, namespace, name)
