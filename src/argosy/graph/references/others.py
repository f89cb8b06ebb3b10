"""What the rest refers to: certificates, scalers, disruption budgets, storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.references.model import Reference, target
from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest

__all__ = [
    "from_certificate",
    "from_claim",
    "from_gateway",
    "from_issuer",
    "from_scaler",
    "from_service_account",
    "from_stateful_set",
]

CERT_MANAGER = "cert-manager.io"


def from_certificate(obj: Manifest) -> Iterator[Reference]:
    """Yield the issuer that signs a Certificate."""
    source = identity(obj)
    ref = mapping(obj, "spec", "issuerRef")
    name = string(ref, "name")
    if name and ref.get("group", CERT_MANAGER) == CERT_MANAGER:
        kind = string(ref, "kind") or "Issuer"
        namespace = "" if kind == "ClusterIssuer" else source.namespace
        meant = target(kind, name, namespace=namespace, group=CERT_MANAGER)
        yield Reference(source, "spec.issuerRef", meant)


def from_issuer(obj: Manifest) -> Iterator[Reference]:
    """Yield the Secret that holds a CA issuer's key.

    A ClusterIssuer's stands in the namespace that cert-manager is told to look in, which by
    default is its own.
    """
    source = identity(obj)
    name = string(obj, "spec", "ca", "secretName")
    if name:
        namespace = source.namespace or "cert-manager"
        yield Reference(source, "spec.ca.secretName", target("Secret", name, namespace=namespace))


def from_scaler(obj: Manifest) -> Iterator[Reference]:
    """Yield what a HorizontalPodAutoscaler scales."""
    source = identity(obj)
    ref = mapping(obj, "spec", "scaleTargetRef")
    name = string(ref, "name")
    if name:
        group = string(ref, "apiVersion").rpartition("/")[0]
        kind = string(ref, "kind")
        meant = target(kind, name, namespace=source.namespace, group=group)
        yield Reference(source, "spec.scaleTargetRef", meant)


def from_stateful_set(obj: Manifest) -> Iterator[Reference]:
    """Yield the Service that names the pods of a StatefulSet."""
    source = identity(obj)
    name = string(obj, "spec", "serviceName")
    if name:
        meant = target("Service", name, namespace=source.namespace)
        yield Reference(source, "spec.serviceName", meant)


def from_claim(obj: Manifest) -> Iterator[Reference]:
    """Yield the storage class of a PersistentVolumeClaim.

    Classes come from the cluster more often than from the tree, so this one is not certain.
    """
    source = identity(obj)
    name = string(obj, "spec", "storageClassName")
    if name:
        meant = target("StorageClass", name, group="storage.k8s.io")
        yield Reference(source, "spec.storageClassName", meant, certain=False)


def from_gateway(obj: Manifest) -> Iterator[Reference]:
    """Yield the TLS secrets of a Gateway, which stand beside it."""
    source = identity(obj)
    for number, server in enumerate(entries(obj, "spec", "servers")):
        name = string(server, "tls", "credentialName")
        if name:
            meant = target("Secret", name, namespace=source.namespace)
            yield Reference(source, f"spec.servers[{number}].tls.credentialName", meant)


def from_service_account(obj: Manifest) -> Iterator[Reference]:
    """Yield the pull secrets of a ServiceAccount."""
    source = identity(obj)
    for number, secret in enumerate(entries(obj, "imagePullSecrets")):
        if name := string(secret, "name"):
            meant = target("Secret", name, namespace=source.namespace)
            yield Reference(source, f"imagePullSecrets[{number}]", meant)
