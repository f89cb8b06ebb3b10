"""ARG052: a policy without selector in the mesh's root namespace: it holds for the whole mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import mapping
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG052",
    Severity.WARNING,
    "policy for the whole mesh",
    "An AuthorizationPolicy, PeerAuthentication, RequestAuthentication or Sidecar without "
    "selector stands in the mesh's root namespace. On a mesh that others use as well it denies, "
    "demands or hides for all of them.",
)
KINDS = (
    ("networking.istio.io", "Sidecar", "workloadSelector"),
    ("security.istio.io", "AuthorizationPolicy", "selector"),
    ("security.istio.io", "PeerAuthentication", "selector"),
    ("security.istio.io", "RequestAuthentication", "selector"),
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such policy."""
    for group, kind, field in KINDS:
        for obj in context.index.of(kind, group=group, namespace=context.root_namespace):
            spec = mapping(obj, "spec")
            if spec.get(field) or spec.get("targetRef") or spec.get("targetRefs"):
                continue
            message = (
                f"It holds for every namespace of the mesh; on a shared mesh write one {kind} "
                "for each namespace of the platform instead."
            )
            yield context.finding(SPEC, identity(obj), "spec", message)
