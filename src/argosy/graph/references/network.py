"""What traffic objects refer to: Services by their host names, gateways, and addresses in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy.graph.places import place
from argosy.graph.references.model import Reference, target
from argosy.graph.shape import dig, entries, mapping, string, strings
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
    spec = mapping(obj, "spec")
    for number, name in enumerate(strings(spec, "gateways")):
        if meant := gateway_id(name, source.namespace):
            yield Reference(source, f"spec.gateways[{number}]", meant)
    for protocol in ("http", "tls", "tcp"):
        for number, rule in enumerate(entries(spec, protocol)):
            at = f"spec.{protocol}[{number}]"
            for index, route in enumerate(entries(rule, "route")):
                destination = mapping(route, "destination")
                yield from _destination(source, f"{at}.route[{index}].destination", destination)
            yield from _destination(source, f"{at}.mirror", mapping(rule, "mirror"))


def _destination(source: ObjectId, at: str, destination: Any) -> Iterator[Reference]:
    meant = service_host(string(destination, "host"), source.namespace)
    if meant:
        port = dig(destination, "port", "number")
        port = port if isinstance(port, int) else None
        yield Reference(source, at, meant[0], port=port, certain=meant[1])


def from_destination_rule(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service whose traffic a DestinationRule shapes."""
    source = identity(obj)
    meant = service_host(string(obj, "spec", "host"), source.namespace)
    if meant:
        yield Reference(source, "spec.host", meant[0], certain=meant[1])


def from_ingress(obj: Manifest) -> Iterator[Reference]:
    """Yield the backends, the TLS secrets and the class of an Ingress."""
    source = identity(obj)
    spec = mapping(obj, "spec")
    backends = [("spec.defaultBackend", mapping(spec, "defaultBackend"))]
    for number, rule in enumerate(entries(spec, "rules")):
        for index, path in enumerate(entries(rule, "http", "paths")):
            at = f"spec.rules[{number}].http.paths[{index}].backend"
            backends.append((at, mapping(path, "backend")))
    for at, backend in backends:
        if name := string(backend, "service", "name"):
            meant = target("Service", name, namespace=source.namespace)
            port = dig(backend, "service", "port", "number")
            named = string(backend, "service", "port", "name") or None
            port = port if isinstance(port, int) else named
            yield Reference(source, f"{at}.service", meant, port=port)
    for number, tls in enumerate(entries(spec, "tls")):
        if name := string(tls, "secretName"):
            secret = target("Secret", name, namespace=source.namespace)
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
