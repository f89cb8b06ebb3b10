"""What the API server itself calls: webhooks, conversions, aggregated APIs; and who signs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.references.model import Reference, target
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
    for number, webhook in enumerate(obj.get("webhooks") or []):
        name = webhook.get("name")
        at = f"webhooks[{f'name={name}' if name else number}].clientConfig.service"
        yield from _service(source, at, (webhook.get("clientConfig") or {}).get("service"))


def from_crd(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service that converts between the versions of a custom resource."""
    conversion = (obj.get("spec") or {}).get("conversion") or {}
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    at = "spec.conversion.webhook.clientConfig.service"
    yield from _service(identity(obj), at, config.get("service"))


def from_api_service(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service behind an aggregated API."""
    yield from _service(identity(obj), "spec.service", (obj.get("spec") or {}).get("service"))


def _service(source: ObjectId, at: str, service: Any) -> Iterator[Reference]:
    if service and service.get("name"):
        meant = target("Service", service["name"], namespace=service.get("namespace", ""))
        yield Reference(source, at, meant, port=service.get("port", HTTPS))


def from_annotations(obj: Manifest) -> Iterator[Reference]:
    """Yield the Certificate or Secret that cert-manager is asked to take a CA from."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    for name, kind, group in (
        (CA_FROM, "Certificate", "cert-manager.io"),
        (CA_FROM_SECRET, "Secret", ""),
    ):
        namespace, slash, short = str(annotations.get(name, "")).partition("/")
        if slash and "$(" not in namespace:
            meant = target(kind, short, namespace=namespace, group=group)
            yield Reference(identity(obj), f'metadata.annotations["{name}"]', meant)
