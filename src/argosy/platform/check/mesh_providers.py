"""ARG057: a CUSTOM policy whose authoriser the mesh does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG057",
    Severity.ERROR,
    "authoriser that the mesh does not know",
    "An AuthorizationPolicy with action CUSTOM names a provider that is not among the "
    "extensionProviders of the mesh configuration in the tree; the mesh denies every request "
    "that it selects. Trees without a mesh configuration are left out.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such policy."""
    if not context.mesh_config:
        return
    providers = entries(context.mesh_config, "extensionProviders")
    known = [string(provider, "name") for provider in providers]
    for obj in context.index.of("AuthorizationPolicy", group="security.istio.io"):
        spec = mapping(obj, "spec")
        name = string(spec, "provider", "name")
        if spec.get("action") == "CUSTOM" and name not in known:
            message = (
                f"The mesh knows no extension provider {name!r} (it knows "
                f"{', '.join(known) or 'none'}); add it to the mesh configuration."
            )
            yield context.finding(SPEC, identity(obj), "spec.provider.name", message)
