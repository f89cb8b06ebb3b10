"""The stable order of kinds in plans and waves: what others stand on comes first.

Only an order of display and of equals: what must wait for what is decided by
`argosy.platform.dependencies`. Deletion goes the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.manifests import ObjectId

__all__ = ["rank"]

KINDS = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "Pod",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "NetworkPolicy",
    "Ingress",
)
LAST = ("APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_RANKS = {kind: number for number, kind in enumerate(KINDS)}
_OTHER = len(KINDS)
_RANKS.update({kind: _OTHER + 1 + number for number, kind in enumerate(LAST)})


def rank(id_: ObjectId) -> int:
    """Return the place of an object's kind; kinds that are not listed stand before webhooks."""
    return _RANKS.get(id_.kind, _OTHER)
