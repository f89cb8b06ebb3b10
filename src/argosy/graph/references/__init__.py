"""What an object refers to, one module for each sort of object.

Pure: an object goes in, references come out; whether they lead anywhere is for the caller to see
(`argosy.graph.Index`). A reference that Kubernetes may ignore says that it is optional; a text
that only may be a reference says that it is not certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.references import admission, network, others, pods, rbac
from argosy.graph.references.model import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from argosy.manifests import Manifest

__all__ = ["Reference", "references"]

ISTIO = "networking.istio.io"
ADMISSION = "admissionregistration.k8s.io"
RBAC = "rbac.authorization.k8s.io"
# (group, kind) -> who reads its references; workloads and annotations are read for every object
READERS: dict[tuple[str, str], Callable[[Manifest], Iterator[Reference]]] = {
    ("", "PersistentVolumeClaim"): others.from_claim,
    ("", "ServiceAccount"): others.from_service_account,
    (ADMISSION, "MutatingWebhookConfiguration"): admission.from_webhooks,
    (ADMISSION, "ValidatingWebhookConfiguration"): admission.from_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): admission.from_crd,
    ("apiregistration.k8s.io", "APIService"): admission.from_api_service,
    ("apps", "StatefulSet"): others.from_stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): others.from_scaler,
    ("cert-manager.io", "Certificate"): others.from_certificate,
    ("cert-manager.io", "ClusterIssuer"): others.from_issuer,
    ("cert-manager.io", "Issuer"): others.from_issuer,
    ("networking.k8s.io", "Ingress"): network.from_ingress,
    (ISTIO, "DestinationRule"): network.from_destination_rule,
    (ISTIO, "Gateway"): others.from_gateway,
    (ISTIO, "VirtualService"): network.from_virtual_service,
    (RBAC, "ClusterRoleBinding"): rbac.from_binding,
    (RBAC, "RoleBinding"): rbac.from_binding,
    ("security.istio.io", "AuthorizationPolicy"): rbac.from_principals,
}


def references(obj: Manifest) -> Iterator[Reference]:
    """Yield what an object refers to; addresses in its texts are `from_addresses`' business."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    reader = READERS.get((group, str(obj.get("kind", ""))))
    if reader is not None:
        yield from reader(obj)
    yield from pods.from_pods(obj)
    yield from admission.from_annotations(obj)
