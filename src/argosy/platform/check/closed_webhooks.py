"""ARG051: a webhook that policies keep the API server from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.platform.check.called_services import called
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.ports import service_port

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.graph import PodTemplate, Reference
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings", "pod_port"]

SPEC = Spec(
    "ARG051",
    Severity.ERROR,
    "webhook that is closed",
    "The pods behind a webhook's Service are selected by NetworkPolicies of which none lets the "
    "API server in (it is no pod: only a rule without `from`, or with an ipBlock, does), or they "
    "have a sidecar under a policy that denies and no ALLOW policy, and the port is not among "
    "traffic.sidecar.istio.io/excludeInboundPorts. One finding a configuration, Service and cause.",
)


def pod_port(pod: PodTemplate, entry: dict[str, Any]) -> int | None:
    """Return the number of the port that a Service's entry sends to, None when it is not known."""
    target = entry.get("targetPort", entry.get("port"))
    if isinstance(target, str):
        return pod.ports().get(target)
    return target if isinstance(target, int) else None


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each configuration and Service that is closed."""
    seen = set()
    for reference in called(context):
        if (reference.source, reference.target) not in seen:
            seen.add((reference.source, reference.target))
            yield from _closed(context, reference)


def _closed(context: Context, reference: Reference) -> Iterable[Finding]:
    service = context.index.objects.get(reference.target)
    entry = service and reference.port is not None and service_port(service, reference.port)
    if not service or not entry:
        return
    pods = context.index.behind(service)
    for pod in pods[:1]:
        port = pod_port(pod, entry)
        for closed in (
            context.reach.network_closed(pod, port),
            context.reach.mesh_closed(pod, port),
        ):
            if closed is not None:
                remedy = (
                    f"add the port {port} to its pods' excludeInboundPorts, or an ALLOW policy"
                    if closed.mesh
                    else f"add a NetworkPolicy that opens the port {port} to everybody"
                )
                message = f"The API server cannot reach {pod.owner}, closed by {closed}; {remedy}."
                yield context.finding(SPEC, reference.source, reference.path, message)
