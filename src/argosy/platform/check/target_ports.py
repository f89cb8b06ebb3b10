"""ARG044: a Service that sends to a port on which its pods do not listen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph import containers
from argosy.graph.shape import entries, mapping
from argosy.manifests import Match, format_path, identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.graph import PodTemplate
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG044",
    Severity.WARNING,
    "port that the pods do not have",
    "A Service's targetPort is a name that no container of its pods gives to a port, or a number "
    "that none declares although they declare others. Declaring ports is optional in Kubernetes, "
    "so pods that declare none are left out, and a number may be right all the same. The pods of "
    "mesh gateways listen where their Gateway objects say.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each port of each Service."""
    gateways = {
        pod.owner
        for obj in context.index.of("Gateway", group="networking.istio.io")
        if (selector := mapping(obj, "spec", "selector"))
        for pod in context.index.selected({"matchLabels": selector}, namespace=None)
    }
    for service in context.index.of("Service"):
        pods = [pod for pod in context.index.behind(service) if pod.owner not in gateways]
        for port in entries(service, "spec", "ports"):
            target = port.get("targetPort", port.get("port"))
            if pods and not any(_listens(pod, target) for pod in pods):
                number = port.get("port")
                which = (("port", number if isinstance(number, int) else str(number)),)
                path = f"spec.{format_path(('ports', Match(which)))}.targetPort"
                names = ", ".join(sorted({str(pod.owner) for pod in pods}))
                message = (
                    f"No container of {names} declares the port {target}; correct targetPort or "
                    "remove the port."
                )
                yield context.finding(SPEC, identity(service), path, message)


def _listens(pod: PodTemplate, target: Any) -> bool:
    declared = [
        port for _, container in containers(pod.spec) for port in entries(container, "ports")
    ]
    if isinstance(target, str):
        return any(port.get("name") == target for port in declared)
    # the sidecar's own ports are added when the pod is made
    return not declared or any(port.get("containerPort") == target for port in declared)
