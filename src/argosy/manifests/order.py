"""Two stable orders of objects: for output and for apply.

Output follows kustomize's legacy order, so that a diff against `kustomize build` is quiet. Apply
puts first what others need to be accepted, and last what may refuse others: a webhook that comes
before the Deployment behind it fails everything that it matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from argosy.manifests.identity import Manifest, ObjectId, identity

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_key", "apply_rank", "output_key", "sort_for_apply", "sort_for_output"]

# kustomize, api/internal/builtins/SortOrderTransformer.go
_OUTPUT_FIRST = (
    "Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount",
    "PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap",
    "Secret", "Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume",
    "PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
)  # fmt: skip
_OUTPUT_LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

# Each line needs the lines above it. What is on no line (custom resources) comes behind workloads,
# since a controller or a webhook of theirs may have to run first.
_APPLY: tuple[tuple[tuple[str, str], ...], ...] = (
    (("", "Namespace"),),  # everything else lives in one
    (("scheduling.k8s.io", "PriorityClass"), ("node.k8s.io", "RuntimeClass")),  # named by pods
    (("apiextensions.k8s.io", "CustomResourceDefinition"),),  # before the first custom resource
    (("storage.k8s.io", "StorageClass"), ("storage.k8s.io", "CSIDriver")),
    (("", "ResourceQuota"), ("", "LimitRange")),  # defaults and limits of the pods to come
    (("policy", "PodSecurityPolicy"), ("policy", "PodDisruptionBudget"),
     ("networking.k8s.io", "NetworkPolicy")),
    (("", "ServiceAccount"),),
    (("rbac.authorization.k8s.io", "ClusterRole"), ("rbac.authorization.k8s.io", "Role")),
    (("rbac.authorization.k8s.io", "ClusterRoleBinding"),
     ("rbac.authorization.k8s.io", "RoleBinding")),
    (("", "Secret"), ("", "ConfigMap")),  # mounted by pods
    (("", "PersistentVolume"),),
    (("", "PersistentVolumeClaim"),),
    (("", "Service"), ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")),
    (("apps", "DaemonSet"),),
    (("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "Pod"),
     ("", "ReplicationController")),
    (("autoscaling", "HorizontalPodAutoscaler"),),
    (("batch", "Job"), ("batch", "CronJob")),
    (("networking.k8s.io", "IngressClass"), ("networking.k8s.io", "Ingress")),
    (("", "*"),),  # custom resources
    (("apiregistration.k8s.io", "APIService"),),  # answers only when its Service does
    (("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
     ("admissionregistration.k8s.io", "MutatingAdmissionPolicy")),
    (("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
     ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding")),
    (("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
     ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration")),
)  # fmt: skip
_APPLY_RANK = {kind: rank for rank, line in enumerate(_APPLY) for kind in line}
_CUSTOM_RANK = _APPLY_RANK["", "*"]
_OUTPUT_RANK = {
    **{kind: rank - len(_OUTPUT_FIRST) for rank, kind in enumerate(_OUTPUT_FIRST)},
    **{kind: rank + 1 for rank, kind in enumerate(_OUTPUT_LAST)},
}

Key = tuple[int, str, str, str, str]
T = TypeVar("T")


def apply_rank(oid: ObjectId) -> int:
    """Return the line of the apply order that an object is on; lower lines go first."""
    return _APPLY_RANK.get((oid.group, oid.kind), _CUSTOM_RANK)


def apply_key(oid: ObjectId) -> Key:
    """Return what `sort_for_apply` sorts by."""
    return (apply_rank(oid), oid.group, oid.kind, oid.namespace, oid.name)


def output_key(oid: ObjectId) -> Key:
    """Return what `sort_for_output` sorts by."""
    return (_OUTPUT_RANK.get(oid.kind, 0), oid.group, oid.kind, oid.namespace, oid.name)


def sort_for_output(objects: Iterable[Manifest]) -> list[Manifest]:
    """Return objects in the order in which they are written and shown.

    Raises:
        ManifestError: when one has no identity.
    """
    return sorted(objects, key=lambda obj: output_key(identity(obj)))


def sort_for_apply(objects: Iterable[Manifest]) -> list[Manifest]:
    """Return objects in the order in which an API server can take them.

    Raises:
        ManifestError: when one has no identity.
    """
    return sorted(objects, key=lambda obj: apply_key(identity(obj)))
