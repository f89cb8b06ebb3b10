"""ARG043: a policy that selects no pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.graph import matches
from argosy.graph.shape import mapping
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG043",
    Severity.WARNING,
    "policy that selects nothing",
    "The selector of a NetworkPolicy, PodDisruptionBudget, Gateway or mesh policy matches the "
    "pods of no workload in the tree (the canonical name that sidecar injection adds is counted "
    "in). It belongs to a component that is not installed, or its labels are wrong and the pods "
    "that it was to protect are without it. Namespaces of Profiles, where pods come and go, are "
    "left out.",
)


class Selecting(NamedTuple):
    """A kind whose objects select pods, and where the selector stands."""

    group: str
    kind: str
    field: str
    labels: str = ""  # the key under the field that holds plain labels, "" for a LabelSelector


SELECTING = (
    Selecting("networking.istio.io", "Gateway", "selector", "selector"),
    Selecting("networking.istio.io", "EnvoyFilter", "workloadSelector", "labels"),
    Selecting("networking.istio.io", "Sidecar", "workloadSelector", "labels"),
    Selecting("networking.k8s.io", "NetworkPolicy", "podSelector"),
    Selecting("policy", "PodDisruptionBudget", "selector"),
    Selecting("security.istio.io", "AuthorizationPolicy", "selector"),
    Selecting("security.istio.io", "PeerAuthentication", "selector"),
    Selecting("security.istio.io", "RequestAuthentication", "selector"),
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each policy that selects nothing."""
    for selecting in SELECTING:
        for obj in context.index.of(selecting.kind, group=selecting.group):
            where = identity(obj)
            selector = _selector(obj, selecting)
            if not selector or where.namespace not in context.index.namespaces:
                continue
            # a gateway, and a policy in the root namespace, reach every namespace
            everywhere = selecting.kind == "Gateway" or (
                where.namespace == context.root_namespace and selecting.group.endswith("istio.io")
            )
            if not _selects(context, selector, None if everywhere else where.namespace):
                message = (
                    f"spec.{selecting.field} matches the pods of no workload; correct the "
                    "labels, or leave the object out with its component."
                )
                yield context.finding(SPEC, where, f"spec.{selecting.field}", message)


def _selector(obj: Manifest, selecting: Selecting) -> dict[str, Any]:
    selector = mapping(obj, "spec", selecting.field)
    if selecting.labels == selecting.field:
        return {"matchLabels": selector} if selector else {}
    if selecting.labels:
        labels = mapping(selector, selecting.labels)
        return {"matchLabels": labels} if labels else {}
    return selector


def _selects(context: Context, selector: dict[str, Any], namespace: str | None) -> bool:
    return any(
        matches(selector, context.reach.labels(pod))
        for space, pods in context.index.pods.items()
        if namespace in {None, space}
        for pod in pods
    )
