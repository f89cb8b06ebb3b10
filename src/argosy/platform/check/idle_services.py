"""ARG041: a Service that no pods stand behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import mapping
from argosy.manifests import identity
from argosy.platform.check.called_services import called
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG041",
    Severity.WARNING,
    "Service without pods",
    "A Service's selector matches the pods of no workload in the tree: requests to it fail. "
    "Services that the API server calls are ARG042's.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such Service."""
    webhooks = {reference.target for reference in called(context)}
    for service in context.index.of("Service"):
        where = identity(service)
        selector = mapping(service, "spec", "selector")
        if selector and where not in webhooks and not context.index.behind(service):
            labels = ", ".join(f"{key}={value}" for key, value in selector.items())
            message = (
                f"No workload in {where.namespace} has the labels {labels}; correct the selector "
                "or remove the Service."
            )
            yield context.finding(SPEC, where, "spec.selector", message)
