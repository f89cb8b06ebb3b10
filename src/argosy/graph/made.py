"""What exists in a cluster although no manifest says so, and who makes it.

A table, not code: each row has its reason, so that a reader can judge it. A reference to one of
these leads somewhere. Patterns are shell-like (`*`), matched on kind, namespace and name.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argosy.manifests import ObjectId

__all__ = ["MADE", "Made", "made_by_cluster"]


class Made(NamedTuple):
    """One row: objects that somebody makes at run time, and why we may rely on it."""

    kind: str
    namespace: str
    name: str
    reason: str


API_SERVER = "every API server makes it when it starts"
MADE: tuple[Made, ...] = (
    Made("ServiceAccount", "*", "default", "Kubernetes makes one in each namespace"),
    Made("ServiceAccount", "kube-system", "*", "the controller manager makes its own accounts"),
    Made("ConfigMap", "*", "kube-root-ca.crt", "Kubernetes publishes its CA in each namespace"),
    Made(
        "ConfigMap",
        "kube-system",
        "extension-apiserver-authentication",
        "the API server publishes the CA of its clients for aggregated APIs",
    ),
    Made("Role", "kube-system", "extension-apiserver-authentication-reader", API_SERVER),
    Made("Role", "kube-system", "system:*", API_SERVER),
    Made("ClusterRole", "", "cluster-admin", API_SERVER),
    Made("ClusterRole", "", "admin", API_SERVER),
    Made("ClusterRole", "", "edit", API_SERVER),
    Made("ClusterRole", "", "view", API_SERVER),
    Made("ClusterRole", "", "system:*", API_SERVER),
    Made("PriorityClass", "", "system-*", API_SERVER),
    Made("Namespace", "", "default", API_SERVER),
    Made("Namespace", "", "kube-*", API_SERVER),
    Made("Service", "default", "kubernetes", API_SERVER),
    Made("Service", "kube-system", "kube-dns", "each distribution installs a DNS service"),
    Made(
        "ConfigMap",
        "*",
        "istio-ca-root-cert",
        "istiod publishes its CA in each namespace",
    ),
    Made(
        "Secret",
        "istio-system",
        "cacerts",
        "only there when the mesh is given a CA of its own; istiod makes one otherwise",
    ),
    Made(
        "Secret",
        "cert-manager",
        "cert-manager-webhook-ca",
        "cert-manager's webhook makes its own CA and renews it",
    ),
)


def made_by_cluster(wanted: ObjectId) -> Made | None:
    """Return the row that says why `wanted` exists although no manifest makes it."""
    for row in MADE:
        if (
            row.kind == wanted.kind
            and fnmatchcase(wanted.namespace, row.namespace)
            and fnmatchcase(wanted.name, row.name)
        ):
            return row
    return None
