"""ARG056: a gateway that nobody outside can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity
from argosy.platform.check.closed_webhooks import pod_port
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG056",
    Severity.WARNING,
    "gateway that is closed to visitors",
    "The pods that a Gateway selects are under NetworkPolicies of which none opens the port that "
    "the gateway's Service sends to, for callers from outside the cluster. A port-forward, which "
    "comes from the node, works all the same and hides it; a load balancer does not. Gateways "
    "that only take requests from inside (a Service named *-local-*) are left out.",
)
LOCAL = "local"


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each Service in front of a closed gateway."""
    selectors = [
        selector
        for obj in context.index.of("Gateway", group="networking.istio.io")
        if (selector := mapping(obj, "spec", "selector"))
    ]
    pods = {
        pod.owner: pod
        for selector in selectors
        for pod in context.index.selected({"matchLabels": selector}, namespace=None)
    }
    for service in context.index.of("Service"):
        where = identity(service)
        if LOCAL in where.name:
            continue
        for pod in context.index.behind(service):
            if pod.owner not in pods:
                continue
            for entry in entries(service, "spec", "ports"):
                if string(entry, "name") not in {"http", "http2", "https"}:
                    continue
                closed = context.reach.network_closed(pod, pod_port(pod, entry))
                if closed:
                    message = (
                        f"Visitors cannot reach port {entry.get('port')} of {pod.owner}: {closed} "
                        "lets in pods of other namespaces only; add a NetworkPolicy that opens it."
                    )
                    path = f"spec.ports[name={entry['name']}]"
                    yield context.finding(SPEC, where, path, message)
