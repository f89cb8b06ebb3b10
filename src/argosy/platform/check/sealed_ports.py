"""ARG058: a Service that nobody in the mesh may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import entries
from argosy.manifests import identity
from argosy.platform.check.called_services import called
from argosy.platform.check.closed_webhooks import pod_port
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG058",
    Severity.WARNING,
    "Service that nobody may call",
    "The pods behind a Service have a sidecar under AuthorizationPolicies without a single rule, "
    "which deny everybody, and the port is not among excludeInboundPorts: metrics are not "
    "scraped, status is not reported. Services of webhooks are ARG051's.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each Service, with its closed ports."""
    webhooks = {(reference.target, reference.port) for reference in called(context)}
    for service in context.index.of("Service"):
        where = identity(service)
        for pod in context.index.behind(service)[:1]:
            closing = {}
            for entry in entries(service, "spec", "ports"):
                closed = context.reach.sealed(pod, pod_port(pod, entry))
                if closed and (where, entry.get("port")) not in webhooks:
                    closing[str(entry.get("port"))] = closed
            if closing:
                message = (
                    f"Nobody may call port {' and '.join(closing)}: {pod.owner} is closed by "
                    f"{next(iter(closing.values()))}; add an ALLOW policy, or remove the port."
                )
                yield context.finding(SPEC, where, "spec.ports", message)
