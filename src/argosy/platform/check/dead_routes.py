"""ARG053: a route through a gateway that the destination never lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.references.network import gateway_id, service_host
from argosy.graph.shape import dig, entries, mapping, string, strings
from argosy.manifests import identity
from argosy.platform.check.closed_webhooks import pod_port
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.ports import service_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.graph import ClosedBy, PodTemplate
    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG053",
    Severity.WARNING,
    "route that is always denied",
    "A VirtualService sends requests from a gateway to pods whose policies do not let that "
    "gateway in, whatever the request says: an ALLOW policy that names other accounts, or "
    "NetworkPolicies for other namespaces. Every request ends in 403 or a time-out.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each route and cause."""
    for obj in context.index.of("VirtualService", group="networking.istio.io"):
        gateways = list(_gateway_pods(context, obj))
        for number, rule in enumerate(entries(obj, "spec", "http")):
            for route in entries(rule, "route"):
                path = f"spec.http[{number}]"
                yield from _denied(context, obj, path, rule, route, gateways)


def _gateway_pods(context: Context, obj: Manifest) -> Iterator[PodTemplate]:
    """Yield the pods of the gateways that a VirtualService hangs on."""
    for name in strings(obj, "spec", "gateways"):
        meant = gateway_id(name, identity(obj).namespace)
        gateway = meant and context.index.objects.get(meant)
        selector = mapping(gateway, "spec", "selector")
        if selector:
            yield from context.index.selected({"matchLabels": selector}, namespace=None)


def _denied(
    context: Context,
    obj: Manifest,
    path: str,
    rule: dict[str, Any],
    route: dict[str, Any],
    gateways: list[PodTemplate],
) -> Iterable[Finding]:
    destination = mapping(route, "destination")
    where = identity(obj)
    meant = service_host(string(destination, "host"), where.namespace)
    service = meant and context.index.objects.get(meant[0])
    if not service or not gateways:
        return
    number = dig(destination, "port", "number")
    ports = entries(service, "spec", "ports")
    entry = service_port(service, number) if number else (ports[0] if ports else None)
    for pod in context.index.behind(service):
        port = pod_port(pod, entry) if entry else None
        for closed in _closed(context, pod, port, gateways):
            callers = ", ".join(sorted({str(gateway.owner) for gateway in gateways}))
            message = (
                f"Requests to {_prefixes(rule)} always fail: {callers} may not reach {pod.owner}, "
                f"closed by {closed}; remove the route, or let the gateway in."
            )
            yield context.finding(SPEC, where, path, message)


def _closed(
    context: Context, pod: PodTemplate, port: int | None, gateways: list[PodTemplate]
) -> Iterator[ClosedBy]:
    for ask in (context.reach.mesh_closed, context.reach.network_closed):
        answers = [ask(pod, port, caller=gateway) for gateway in gateways]
        if answers[0] is not None and all(answer is not None for answer in answers):
            yield answers[0]


def _prefixes(rule: dict[str, Any]) -> str:
    uris = [mapping(match, "uri") for match in entries(rule, "match")]
    return ", ".join(str(next(iter(uri.values()))) for uri in uris if uri) or "every path"
