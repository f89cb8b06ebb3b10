"""Which fields name an item of a list, by field and place.

Kubernetes lists that are maps in disguise are compared by these keys instead of by position. The
table follows `x-kubernetes-list-map-keys` (else `x-kubernetes-patch-merge-key`) of the API. A CR
may use the same field name for something else: a key is used only when every item of both
lists has it and no two items share it. Otherwise the list is compared by position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.manifests.paths import Match, field_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LIST_KEYS", "ListKey", "find_keys", "matches"]


class ListKey(NamedTuple):
    """A list whose items have names.

    Attributes:
        field: the name of the list.
        keys: the fields that name an item, together.
        source: where that is said.
        under: the list's parent field must be one of these; empty: any.
        kinds: the object's kind must be one of these; empty: any.
    """

    field: str
    keys: tuple[str, ...]
    source: str
    under: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


_CORE = "core/v1"
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
_ISTIO = frozenset({"VirtualService"})
_CRD = frozenset({"CustomResourceDefinition"})
_WEBHOOK = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_POLICY = frozenset({"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"})
_BINDING = frozenset({"RoleBinding", "ClusterRoleBinding"})
_SERVICE = frozenset({"Service"})

# More special lines stand first: the first line whose place and keys fit is used.
LIST_KEYS: tuple[ListKey, ...] = (
    ListKey("containers", ("name",), f"{_CORE} PodSpec"),
    ListKey("initContainers", ("name",), f"{_CORE} PodSpec"),
    ListKey("ephemeralContainers", ("name",), f"{_CORE} PodSpec"),
    ListKey("volumes", ("name",), f"{_CORE} PodSpec"),
    ListKey("imagePullSecrets", ("name",), f"{_CORE} PodSpec, ServiceAccount"),
    ListKey("secrets", ("name",), f"{_CORE} ServiceAccount", kinds=frozenset({"ServiceAccount"})),
    ListKey("hostAliases", ("ip",), f"{_CORE} PodSpec"),
    ListKey("topologySpreadConstraints", ("topologyKey", "whenUnsatisfiable"), f"{_CORE} PodSpec"),
    ListKey("resourceClaims", ("name",), f"{_CORE} PodSpec"),
    ListKey("schedulingGates", ("name",), f"{_CORE} PodSpec"),
    ListKey("readinessGates", ("conditionType",), f"{_CORE} PodSpec: atomic, unique by meaning"),
    ListKey("env", ("name",), f"{_CORE} Container"),
    ListKey("volumeMounts", ("mountPath",), f"{_CORE} Container"),
    ListKey("volumeDevices", ("devicePath",), f"{_CORE} Container"),
    ListKey("resizePolicy", ("resourceName",), f"{_CORE} Container"),
    ListKey("ports", ("containerPort", "protocol"), f"{_CORE} Container"),
    ListKey("ports", ("port", "protocol"), f"{_CORE} ServiceSpec", kinds=_SERVICE),
    ListKey("ports", ("name",), "networking.istio.io ServiceEntry",
            kinds=frozenset({"ServiceEntry"})),
    ListKey("volumeClaimTemplates", ("metadata.name",), "apps/v1 StatefulSetSpec: by meaning"),
    ListKey("items", ("key",), f"{_CORE} ConfigMapVolumeSource: by meaning",
            under=frozenset({"configMap", "secret"})),
    ListKey("conditions", ("type",), "meta/v1 Condition"),
    ListKey("ownerReferences", ("uid",), "meta/v1 ObjectMeta"),
    ListKey("managedFields", ("manager", "operation", "subresource"), "meta/v1 ObjectMeta"),
    ListKey("subjects", ("kind", "namespace", "name"), "rbac/v1: atomic, unique by meaning",
            kinds=_BINDING),
    ListKey("webhooks", ("name",), "admissionregistration/v1", kinds=_WEBHOOK),
    ListKey("matchConditions", ("name",), "admissionregistration/v1", kinds=_WEBHOOK | _POLICY),
    ListKey("variables", ("name",), "admissionregistration/v1", kinds=_POLICY),
    ListKey("versions", ("name",), "apiextensions/v1: unique by meaning", kinds=_CRD),
    ListKey("additionalPrinterColumns", ("name",), "apiextensions/v1: by meaning", kinds=_CRD),
    ListKey("http", ("name",), "networking.istio.io VirtualService", kinds=_ISTIO),
    ListKey("servers", ("port.name",), "networking.istio.io Gateway: by meaning",
            kinds=frozenset({"Gateway"})),
    ListKey("subsets", ("name",), "networking.istio.io DestinationRule",
            kinds=frozenset({"DestinationRule"})),
    ListKey("listeners", ("name",), "gateway.networking.k8s.io Gateway",
            kinds=frozenset({"Gateway"})),
    ListKey("templates", ("name",), "argoproj.io Workflow", kinds=frozenset(
        {"Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow"})),
    ListKey("parameters", ("name",), "argoproj.io Workflow, tekton.dev"),
    ListKey("params", ("name",), "tekton.dev: list-map by name"),
    ListKey("tasks", ("name",), "tekton.dev, argoproj.io DAG"),
    ListKey("steps", ("name",), "tekton.dev"),
    ListKey("workspaces", ("name",), "tekton.dev"),
    ListKey("plugins", ("kind",), "kubeflow.org Profile", kinds=frozenset({"Profile"})),
)  # fmt: skip
_BY_FIELD: dict[str, list[ListKey]] = {}
for _line in LIST_KEYS:
    _BY_FIELD.setdefault(_line.field, []).append(_line)


def find_keys(
    path: Sequence[object], kind: str, old: list[Any], new: list[Any]
) -> tuple[str, ...] | None:
    """Return the fields that name the items of two versions of a list, or None.

    Args:
        path: where the list stands; its last string is the list's own field.
        kind: the kind of the object.
        old: the items before; `new` those after. Both must bear the keys without doubles.
        new: see `old`.
    """
    fields = [segment for segment in path if isinstance(segment, str)]
    if not fields:
        return None
    parent = fields[-2] if len(fields) > 1 else ""
    for line in _BY_FIELD.get(fields[-1], ()):
        fits = (not line.under or parent in line.under) and (not line.kinds or kind in line.kinds)
        if fits and _named(old, line.keys) and _named(new, line.keys):
            return line.keys
    return None


def matches(items: list[Any], keys: tuple[str, ...]) -> list[Match]:
    """Return what names each item of a list."""
    return [Match(tuple((key, field_of(item, key)) for key in keys)) for item in items]


def _named(items: list[Any], keys: tuple[str, ...]) -> bool:
    seen = set()
    for item in items:
        if not isinstance(item, dict):
            return False
        name = tuple(field_of(item, key) for key in keys)
        if any(isinstance(part, bool) or not isinstance(part, str | int) for part in name):
            return False
        seen.add(name)
    return len(seen) == len(items)
