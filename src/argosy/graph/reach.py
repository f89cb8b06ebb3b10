"""Who may reach which pods, as NetworkPolicies and the mesh's AuthorizationPolicies decide it.

Answers are about what is certain: a rule whose outcome depends on the request (headers, tokens,
paths) counts as letting it through, so that "closed" is only said of what is closed whatever is
sent. Not modelled: egress policies, ipBlock arithmetic, ambient mode, and CUSTOM policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from argosy.graph.selectors import is_subset, matches
from argosy.graph.shape import entries, mapping, string, strings
from argosy.manifests import ObjectId, identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.graph.index import Index
    from argosy.graph.pods import PodTemplate
    from argosy.manifests import Manifest

__all__ = ["ClosedBy", "Reach"]

SECURITY = "security.istio.io"
CANONICAL = "service.istio.io/canonical-name"
INJECT = "sidecar.istio.io/inject"
EXCLUDED = "traffic.sidecar.istio.io/excludeInboundPorts"
INCLUDED = "traffic.sidecar.istio.io/includeInboundPorts"
API_SERVER = None  # as a caller: not a pod, no mesh identity, not matched by pod selectors


@dataclass(frozen=True)
class ClosedBy:
    """Why a caller cannot reach pods: the policies that select them and do not let it in."""

    policies: tuple[ObjectId, ...]
    mesh: bool

    def __str__(self) -> str:
        """Return the policies' names as people write them."""
        return ", ".join(str(policy) for policy in self.policies)


class Reach:
    """Questions about who reaches whom, over the objects of one platform."""

    def __init__(self, index: Index, *, root_namespace: str = "istio-system") -> None:
        self._index = index
        self.root_namespace = root_namespace
        self._network = index.of("NetworkPolicy", group="networking.k8s.io")
        self._mesh = [
            obj
            for obj in index.of("AuthorizationPolicy", group=SECURITY)
            if (string(obj, "spec", "action") or "ALLOW") == "ALLOW"
        ]

    @cached_property
    def has_injector(self) -> bool:
        """Whether the tree installs a mesh that injects sidecars, or at least uses one."""
        return bool(self._mesh) or any(
            labels.get("istio-injection") for labels in self._index.namespaces.values()
        )

    def injected(self, pod: PodTemplate) -> bool:
        """Say whether the mesh puts a sidecar into these pods."""
        if pod.spec.get("hostNetwork"):
            return False
        wish = pod.labels.get(INJECT, pod.annotations.get(INJECT, ""))
        space = self._index.namespaces.get(pod.namespace, {})
        enabled = space.get("istio-injection") == "enabled" or "istio.io/rev" in space
        if space.get("istio-injection") == "disabled" or wish == "false":
            return False
        return self.has_injector and (enabled or pod.labels.get(INJECT) == "true")

    def labels(self, pod: PodTemplate) -> Mapping[str, str]:
        """Return the labels that the pods have when they run: injection adds a canonical name."""
        if CANONICAL in pod.labels or not self.injected(pod):
            return pod.labels
        name = pod.labels.get("app.kubernetes.io/name") or pod.labels.get("app") or pod.owner.name
        return {**pod.labels, CANONICAL: name}

    def network_closed(
        self, pod: PodTemplate, port: int | None, *, caller: PodTemplate | None = API_SERVER
    ) -> ClosedBy | None:
        """Say which NetworkPolicies keep a caller (the API server, or pods) from a port."""
        labels = self.labels(pod)
        selecting = [
            policy
            for policy in self._network
            if identity(policy).namespace == pod.namespace
            and "Ingress" in (strings(policy, "spec", "policyTypes") or ["Ingress"])
            and matches(mapping(policy, "spec", "podSelector"), labels)
        ]
        if not selecting:
            return None
        for policy in selecting:
            for rule in entries(policy, "spec", "ingress"):
                if self._port_open(rule, pod, port) and self._lets_in(rule, policy, caller):
                    return None
        return ClosedBy(tuple(identity(policy) for policy in selecting), mesh=False)

    @staticmethod
    def _port_open(rule: Mapping[str, Any], pod: PodTemplate, port: int | None) -> bool:
        ports = entries(rule, "ports")
        if not ports or port is None:
            return True
        for entry in ports:
            first = entry.get("port")
            if isinstance(first, str):
                first = pod.ports().get(first, 0)
            last = entry.get("endPort") or first
            if not isinstance(first, int) or not isinstance(last, int) or first <= port <= last:
                return True
        return False

    def _lets_in(
        self, rule: Mapping[str, Any], policy: Manifest, caller: PodTemplate | None
    ) -> bool:
        peers = entries(rule, "from")
        return not peers or any(self._peer(peer, policy, caller) for peer in peers)

    def _peer(self, peer: Mapping[str, Any], policy: Manifest, caller: PodTemplate | None) -> bool:
        if "ipBlock" in peer:
            return True
        if caller is None:
            return False
        if "namespaceSelector" in peer:
            space = self._index.namespaces.get(
                caller.namespace, {"kubernetes.io/metadata.name": caller.namespace}
            )
            if not matches(mapping(peer, "namespaceSelector"), space):
                return False
        elif caller.namespace != identity(policy).namespace:
            return False
        return matches(mapping(peer, "podSelector"), self.labels(caller))

    def mesh_closed(
        self, pod: PodTemplate, port: int | None, *, caller: PodTemplate | None = API_SERVER
    ) -> ClosedBy | None:
        """Say which AuthorizationPolicies keep a caller from a port of injected pods."""
        if not self.injected(pod) or self._excluded(pod, port):
            return None
        policies = [policy for policy in self._mesh if self._applies(policy, pod)]
        if not policies:
            return None
        identity_ = None if caller is None else self.principal(caller)
        for policy in policies:
            for rule in entries(policy, "spec", "rules"):
                if self._may_pass(rule, port, identity_, caller):
                    return None
        return ClosedBy(tuple(identity(policy) for policy in policies), mesh=True)

    def sealed(self, pod: PodTemplate, port: int | None) -> ClosedBy | None:
        """Say which AuthorizationPolicies let nobody at all reach a port of injected pods."""
        if not self.injected(pod) or self._excluded(pod, port):
            return None
        policies = [policy for policy in self._mesh if self._applies(policy, pod)]
        if not policies or any(entries(policy, "spec", "rules") for policy in policies):
            return None
        return ClosedBy(tuple(identity(policy) for policy in policies), mesh=True)

    @staticmethod
    def principal(pod: PodTemplate) -> str:
        """Return the mesh identity of pods, in the default trust domain."""
        return f"cluster.local/ns/{pod.namespace}/sa/{pod.service_account}"

    @staticmethod
    def _excluded(pod: PodTemplate, port: int | None) -> bool:
        ports = str(pod.annotations.get(EXCLUDED, "")).replace(" ", "").split(",")
        if str(port) in ports:
            return True
        included = pod.annotations.get(INCLUDED)
        chosen = str(included).replace(" ", "").split(",")
        return included is not None and "*" not in chosen and str(port) not in chosen

    def _applies(self, policy: Manifest, pod: PodTemplate) -> bool:
        space = identity(policy).namespace
        if space not in {pod.namespace, self.root_namespace}:
            return False
        spec = mapping(policy, "spec")
        if "selector" not in spec:
            return "targetRefs" not in spec and "targetRef" not in spec
        return is_subset(mapping(spec, "selector", "matchLabels"), self.labels(pod))

    def _may_pass(
        self,
        rule: Mapping[str, Any],
        port: int | None,
        principal: str | None,
        caller: PodTemplate | None,
    ) -> bool:
        origins = [mapping(origin, "source") for origin in entries(rule, "from")]
        if origins and not any(_is_source(origin, principal, caller) for origin in origins):
            return False
        operations = [mapping(entry, "operation") for entry in entries(rule, "to")]
        return not operations or any(
            not operation.get("ports") or port is None or str(port) in strings(operation, "ports")
            for operation in operations
        )


def _is_source(
    source: Mapping[str, Any], principal: str | None, caller: PodTemplate | None
) -> bool:
    space = caller.namespace if caller else None
    for name, key in ((principal, "principals"), (space, "namespaces")):
        refused = f"not{key.capitalize()}"
        if not _named(strings(source, key), name):
            return False
        if source.get(refused) and _named(strings(source, refused), name):
            return False
    return True


def _named(patterns: Iterable[str], name: str | None) -> bool:
    if not patterns:
        return True
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)
