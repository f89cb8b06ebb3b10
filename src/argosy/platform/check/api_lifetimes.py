"""When Kubernetes dropped API versions, and which of those that it serves are deprecated.

From https://kubernetes.io/docs/reference/using-api/deprecation-guide/ and the release notes of
1.33 (Endpoints). Kinds that the target's OpenAPI has are served whatever stands here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEPRECATED", "REMOVED", "Lifetime"]


class Lifetime(NamedTuple):
    """What became of an API version: since which release, and what to write instead."""

    since: str
    instead: str


# (apiVersion, kind or "*") -> the release without it
REMOVED: dict[tuple[str, str], Lifetime] = {
    ("admissionregistration.k8s.io/v1beta1", "*"): Lifetime(
        "1.22", "admissionregistration.k8s.io/v1"
    ),
    ("apiextensions.k8s.io/v1beta1", "*"): Lifetime("1.22", "apiextensions.k8s.io/v1"),
    ("apiregistration.k8s.io/v1beta1", "*"): Lifetime("1.22", "apiregistration.k8s.io/v1"),
    ("apps/v1beta1", "*"): Lifetime("1.16", "apps/v1"),
    ("apps/v1beta2", "*"): Lifetime("1.16", "apps/v1"),
    ("authentication.k8s.io/v1beta1", "TokenReview"): Lifetime("1.22", "authentication.k8s.io/v1"),
    ("authorization.k8s.io/v1beta1", "*"): Lifetime("1.22", "authorization.k8s.io/v1"),
    ("autoscaling/v2beta1", "*"): Lifetime("1.25", "autoscaling/v2"),
    ("autoscaling/v2beta2", "*"): Lifetime("1.26", "autoscaling/v2"),
    ("batch/v1beta1", "CronJob"): Lifetime("1.25", "batch/v1"),
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest"): Lifetime(
        "1.22", "certificates.k8s.io/v1"
    ),
    ("coordination.k8s.io/v1beta1", "Lease"): Lifetime("1.22", "coordination.k8s.io/v1"),
    ("discovery.k8s.io/v1beta1", "*"): Lifetime("1.25", "discovery.k8s.io/v1"),
    ("events.k8s.io/v1beta1", "*"): Lifetime("1.25", "events.k8s.io/v1"),
    ("extensions/v1beta1", "Ingress"): Lifetime("1.22", "networking.k8s.io/v1"),
    ("extensions/v1beta1", "NetworkPolicy"): Lifetime("1.16", "networking.k8s.io/v1"),
    ("extensions/v1beta1", "PodSecurityPolicy"): Lifetime("1.16", "Pod Security Admission"),
    ("extensions/v1beta1", "*"): Lifetime("1.16", "apps/v1"),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "*"): Lifetime(
        "1.26", "flowcontrol.apiserver.k8s.io/v1"
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "*"): Lifetime(
        "1.29", "flowcontrol.apiserver.k8s.io/v1"
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "*"): Lifetime(
        "1.32", "flowcontrol.apiserver.k8s.io/v1"
    ),
    ("networking.k8s.io/v1beta1", "Ingress"): Lifetime("1.22", "networking.k8s.io/v1"),
    ("networking.k8s.io/v1beta1", "IngressClass"): Lifetime("1.22", "networking.k8s.io/v1"),
    ("node.k8s.io/v1beta1", "*"): Lifetime("1.25", "node.k8s.io/v1"),
    ("policy/v1beta1", "PodDisruptionBudget"): Lifetime("1.25", "policy/v1"),
    ("policy/v1beta1", "PodSecurityPolicy"): Lifetime("1.25", "Pod Security Admission"),
    ("rbac.authorization.k8s.io/v1alpha1", "*"): Lifetime("1.22", "rbac.authorization.k8s.io/v1"),
    ("rbac.authorization.k8s.io/v1beta1", "*"): Lifetime("1.22", "rbac.authorization.k8s.io/v1"),
    ("scheduling.k8s.io/v1beta1", "*"): Lifetime("1.22", "scheduling.k8s.io/v1"),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity"): Lifetime("1.27", "storage.k8s.io/v1"),
    ("storage.k8s.io/v1beta1", "*"): Lifetime("1.22", "storage.k8s.io/v1"),
}
# (apiVersion, kind) -> the release that deprecated it, still served
DEPRECATED: dict[tuple[str, str], Lifetime] = {
    ("v1", "ComponentStatus"): Lifetime("1.19", "the health endpoints of the components"),
    ("v1", "Endpoints"): Lifetime("1.33", "discovery.k8s.io/v1 EndpointSlice"),
}
