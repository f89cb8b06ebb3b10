"""ARG011: an object of a kind that neither Kubernetes nor the tree has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import entries, string
from argosy.manifests import identity
from argosy.platform.check.api_lifetimes import REMOVED
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG011",
    Severity.ERROR,
    "kind that nobody defines",
    "An object's kind is neither one of the target Kubernetes version nor defined by a "
    "CustomResourceDefinition in the tree, or not at that version. The API server refuses it. "
    "Kinds of catalogued apps that are left out, because the cluster has them, are not reported. "
    "Versions that Kubernetes had and dropped are ARG012's.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object whose kind is not there."""
    for obj in context.objects:
        message = _problem(context, obj)
        if message:
            yield context.finding(SPEC, identity(obj), "apiVersion", message)


def _problem(context: Context, obj: Manifest) -> str:
    api_version = str(obj.get("apiVersion", ""))
    where = identity(obj)
    group, version = where.group, api_version.rpartition("/")[2]
    if context.openapi.find(group, version, where.kind):
        return ""
    if (api_version, where.kind) in REMOVED or (api_version, "*") in REMOVED:
        return ""
    served = context.openapi.versions(group, where.kind)
    if served:
        instead = " or ".join(kind.api_version for kind in served)
        target = context.platform.kubernetes
        return f"Kubernetes {target} has no {where.kind} {api_version}; write {instead}."
    definition = context.definitions.get((group, where.kind))
    if definition is None and f"{where.kind}.{group}" in context.brought.kinds:
        return ""
    if definition is None:
        hint = did_you_mean(where.kind, [kind for at, kind in context.definitions if at == group])
        return (
            f"No CustomResourceDefinition in the tree defines {where.kind} in {group}; "
            f"{hint or 'add the app that brings it.'}"
        )
    entry = definition.version(version)
    if entry is None or not entry.get("served"):
        versions = entries(definition.head, "spec", "versions")
        served_names = [string(one, "name") for one in versions if one.get("served")]
        return (
            f"The definition in app {definition.rendered.app} does not serve {api_version}; "
            f"write {' or '.join(f'{group}/{name}' for name in served_names)}."
        )
    return ""
