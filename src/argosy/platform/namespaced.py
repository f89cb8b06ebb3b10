"""Say whether objects of a kind live in a namespace, as far as that can be known offline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from argosy.platform.openapi import load_openapi

if TYPE_CHECKING:
    from argosy.manifests import ObjectId

__all__ = ["cluster_kinds", "is_namespaced"]

_CRD = re.compile(r"^kind: CustomResourceDefinition$", re.MULTILINE)
_CLUSTER = re.compile(r"^  scope: Cluster$", re.MULTILINE)
_GROUP = re.compile(r"^  group: (\S+)$", re.MULTILINE)
_KIND = re.compile(r"^    kind: (\S+)$", re.MULTILINE)


def cluster_kinds(text: str) -> frozenset[tuple[str, str]]:
    """Return (group, kind) of the cluster-scoped kinds that an engine's output defines."""
    found = set()
    for document in text.split("\n---\n"):
        if _CRD.search(document) and _CLUSTER.search(document):
            group, kind = _GROUP.search(document), _KIND.search(document)
            if group and kind:
                found.add((group.group(1), kind.group(1)))
    return frozenset(found)


def is_namespaced(of: ObjectId, kubernetes: str, clustered: frozenset[tuple[str, str]]) -> bool:
    """Say whether an object's kind is namespaced.

    Args:
        of: the object.
        kubernetes: the target's minor version, whose own kinds are known.
        clustered: cluster-scoped kinds that the app itself defines.

    A kind that neither knows is taken to be namespaced, as most are; `argosy check` reports the
    object when its definition says otherwise.

    Raises:
        VersionError: there is no data for that Kubernetes version.
    """
    own = load_openapi(kubernetes).versions(of.group, of.kind)
    if own:
        return own[0].namespaced
    return (of.group, of.kind) not in clustered
