"""ARG059: callers told to use the mesh's TLS towards pods that have no sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.references.network import service_host
from argosy.graph.shape import string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG059",
    Severity.ERROR,
    "mesh TLS towards pods without sidecar",
    "A DestinationRule with tls mode ISTIO_MUTUAL is for a Service whose pods are not injected: "
    "every caller in the mesh speaks TLS to a program that does not, and the connection is reset.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such rule."""
    for obj in context.index.of("DestinationRule", group="networking.istio.io"):
        if string(obj, "spec", "trafficPolicy", "tls", "mode") != "ISTIO_MUTUAL":
            continue
        where = identity(obj)
        meant = service_host(string(obj, "spec", "host"), where.namespace)
        service = meant and context.index.objects.get(meant[0])
        pods = context.index.behind(service) if service else []
        if pods and not any(context.reach.injected(pod) for pod in pods):
            message = (
                f"{pods[0].owner} has no sidecar to speak the mesh's TLS; inject it, or remove "
                "the rule."
            )
            yield context.finding(SPEC, where, "spec.trafficPolicy.tls.mode", message)
