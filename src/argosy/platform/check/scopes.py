"""ARG015: a cluster-scoped object that names a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import ObjectId
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings", "namespaced"]

SPEC = Spec(
    "ARG015",
    Severity.WARNING,
    "cluster-scoped object with a namespace",
    "metadata.namespace stands in an object of a kind that has no namespaces. kubectl drops it "
    "or fails, depending on the version, and tools that compare objects by name see two.",
)


def namespaced(context: Context, where: ObjectId, version: str) -> bool | None:
    """Say whether objects of a kind live in namespaces, None when the kind is not known."""
    kind = context.openapi.find(where.group, version, where.kind)
    if kind:
        return kind.namespaced
    definition = context.definitions.get((where.group, where.kind))
    return definition.namespaced if definition else None


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such object."""
    for obj in context.objects:
        where = identity(obj)
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        if where.namespace and namespaced(context, where, version) is False:
            message = (
                f"A {where.kind} has no namespace; remove metadata.namespace "
                f"({where.namespace}) with a patch."
            )
            yield context.finding(SPEC, where, "metadata.namespace", message)
