"""What traffic objects refer to: Services by their host names, gateways, and addresses in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy.graph.places import place
from argosy.graph.references.model import Reference, target
from argosy.manifests import identity, walk_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest, ObjectId

__all__ = [
    "from_addresses",
    "from_destination_rule",
    "from_ingress",
    "from_virtual_service",
    "gateway_id",
    "service_host",
]

ISTIO = "networking.istio.io"
LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
# an address inside any text; the lookbehind keeps `x.y.svc` from being read out of `a.x.y.svc`
ADDRESS = re.compile(
    rf"(?<![\w.$)}}*-])({LABEL})\.({LABEL})\.svc(?:\.[a-z0-9.-]*[a-z0-9])?(?::(\d+))?(?![\w-])"
)
_HOST = re.compile(rf"({LABEL})(?:\.({LABEL})(?:\.svc(?:\.[a-z0-9.-]+)?)?)?")


def service_host(host: str, namespace: str) -> tuple[ObjectId, bool] | None:
    """Return the Service that a mesh or ingress host means, and whether it must be one.

    Takes `name`, `name.namespace`, `name.namespace.svc` and the fully qualified form. The second
    form could as well be a name on the internet, so it is not certain.
    """
    found = _HOST.fullmatch(host)
    if not found:
        return None
    meant = target("Service", found[1], namespace=found[2] or namespace)
    return meant, "." not in host or ".svc" in host


def gateway_id(name: str, namespace: str) -> ObjectId | None:
    """Return the Gateway that a VirtualService names; None for the reserved word `mesh`."""
    if name == "mesh":
        return None
    space, _, short = name.rpartition("/")
    space = namespace if space in {"", "."} else space
    return target("Gateway", short, namespace=space, group=ISTIO)


def from_virtual_service(obj: Manifest) -> Iterator[Reference]:
    """Yield the gateways and destinations of a VirtualService."""
    source = identity(obj)
    spec = obj.get("spec") or {}
    for number, name in enumerate(spec.get("gateways") or []):
        if meant := gateway_id(name, source.namespace):
            yield Reference(source, f"spec.gateways[{number}]", meant)
    for protocol in ("http", "tls", "tcp"):
        for number, rule in enumerate(spec.get(protocol) or []):
            at = f"spec.{protocol}[{number}]"
            for index, route in enumerate(rule.get("route") or []):
                yield from _destination(
                    source, f"{at}.route[{index}].destination", route.get("destination")
                )
            yield from _destination(source, f"{at}.mirror", rule.get("mirror"))


def _destination(source: ObjectId, at: str, destination: Any) -> Iterator[Reference]:
    if not destination or not destination.get("host"):
        return
    meant = service_host(destination["host"], source.namespace)
    if meant:
        port = (destination.get("port") or {}).get("number")
        yield Reference(source, at, meant[0], port=port, certain=meant[1])


def from_destination_rule(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service whose traffic a DestinationRule shapes."""
    source = identity(obj)
    meant = service_host((obj.get("spec") or {}).get("host") or "", source.namespace)
    if meant:
        yield Reference(source, "spec.host", meant[0], certain=meant[1])


def from_ingress(obj: Manifest) -> Iterator[Reference]:
    """Yield the backends, the TLS secrets and the class of an Ingress."""
    source = identity(obj)
    spec = obj.get("spec") or {}
    backends = [("spec.defaultBackend", spec.get("defaultBackend") or {})]
    for number, rule in enumerate(spec.get("rules") or []):
        for index, path in enumerate((rule.get("http") or {}).get("paths") or []):
            at = f"spec.rules[{number}].http.paths[{index}].backend"
            backends.append((at, path.get("backend") or {}))
    for at, backend in backends:
        service = backend.get("service") or {}
        if service.get("name"):
            port = service.get("port") or {}
            meant = target("Service", service["name"], namespace=source.namespace)
            yield Reference(
                source, f"{at}.service", meant, port=port.get("number") or port.get("name")
            )
    for number, tls in enumerate(spec.get("tls") or []):
        if tls.get("secretName"):
            secret = target("Secret", tls["secretName"], namespace=source.namespace)
            yield Reference(source, f"spec.tls[{number}].secretName", secret)


def from_addresses(obj: Manifest) -> Iterator[Reference]:
    """Yield the Services whose addresses (`name.namespace.svc…`) stand in any text of an object.

    Environment variables, arguments, configuration files inside ConfigMaps: this is where a
    moved or left-out Service leaves its address behind.
    """
    source = identity(obj)
    seen: set[tuple[str, ObjectId, str]] = set()
    for steps, text in walk_strings(obj):
        if ".svc" not in text or _says_nothing(steps):
            continue
        path = place(obj, steps)
        for found in ADDRESS.finditer(text):
            meant = target("Service", found[1], namespace=found[2])
            port = found[3] or ""
            if (path, meant, port) not in seen:
                seen.add((path, meant, port))
                yield Reference(source, path, meant, port=int(port) if port else None)


def _says_nothing(steps: tuple[str | int, ...]) -> bool:
    """Say whether a text is documentation: kubectl's copy of the object, Knative's `_example`."""
    return "kubectl.kubernetes.io/last-applied-configuration" in steps or "_example" in steps
