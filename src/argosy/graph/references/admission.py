"""What the API server itself calls: webhooks, conversions, aggregated APIs; and who signs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.references.model import Reference, target
from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest, ObjectId

__all__ = ["from_annotations", "from_api_service", "from_crd", "from_webhooks"]

HTTPS = 443  # the port that the API server takes when a client configuration names none
CA_FROM = "cert-manager.io/inject-ca-from"
CA_FROM_SECRET = "cert-manager.io/inject-ca-from-secret"  # noqa: S105  # an annotation's name


def from_webhooks(obj: Manifest) -> Iterator[Reference]:
    """Yield the Services that answer the webhooks of a configuration."""
    source = identity(obj)
    for number, webhook in enumerate(entries(obj, "webhooks")):
        name = string(webhook, "name")
        at = f"webhooks[{f'name={name}' if name else number}].clientConfig.service"
        yield from _service(source, at, mapping(webhook, "clientConfig", "service"))


def from_crd(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service that converts between the versions of a custom resource."""
    conversion = mapping(obj, "spec", "conversion")
    config = mapping(conversion, "webhook", "clientConfig")
    at = "spec.conversion.webhook.clientConfig.service"
    yield from _service(identity(obj), at, mapping(config, "service"))


def from_api_service(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service behind an aggregated API."""
    yield from _service(identity(obj), "spec.service", mapping(obj, "spec", "service"))


def _service(source: ObjectId, at: str, service: dict[str, Any]) -> Iterator[Reference]:
    if name := string(service, "name"):
        meant = target("Service", name, namespace=string(service, "namespace"))
        port = service.get("port", HTTPS)
        yield Reference(source, at, meant, port=port if isinstance(port, int) else None)


def from_annotations(obj: Manifest) -> Iterator[Reference]:
    """Yield the Certificate or Secret that cert-manager is asked to take a CA from."""
    annotations = mapping(obj, "metadata", "annotations")
    for name, kind, group in (
        (CA_FROM, "Certificate", "cert-manager.io"),
        (CA_FROM_SECRET, "Secret", ""),
    ):
        namespace, slash, short = string(annotations, name).partition("/")
        if slash and "$(" not in namespace:
            meant = target(kind, short, namespace=namespace, group=group)
            yield Reference(identity(obj), f'metadata.annotations["{name}"]', meant)
