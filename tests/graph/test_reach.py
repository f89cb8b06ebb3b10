"""Who may reach whom: NetworkPolicies and the mesh's AuthorizationPolicies."""

from __future__ import annotations

from typing import Any

import pytest

from argosy.graph import Index, PodTemplate, Reach

Manifest = dict[str, Any]


def make(kind: str, name: str, namespace: str = "", **body: Any) -> Manifest:
    version, _, short = kind.rpartition(" ")
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": short, "metadata": meta, **body}


def pods(name: str, namespace: str, **annotations: str) -> Manifest:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "serviceAccountName": name,
            "containers": [{"name": "m", "ports": [{"name": "http", "containerPort": 8080}]}],
        },
    }
    return make("apps/v1 Deployment", name, namespace, spec={"template": template})


def space(name: str, **labels: str) -> Manifest:
    made = make("v1 Namespace", name)
    made["metadata"]["labels"] = labels
    return made


def network(spec: Manifest, namespace: str = "team") -> Manifest:
    return make("networking.k8s.io/v1 NetworkPolicy", "own", namespace, spec=spec)


def mesh(spec: Manifest, namespace: str = "team", name: str = "own") -> Manifest:
    return make("security.istio.io/v1 AuthorizationPolicy", name, namespace, spec=spec)


def world(*more: Manifest, injection: str = "enabled", **annotations: str) -> Any:
    index = Index(
        [
            space("team", **{"istio-injection": injection}),
            space("front", tier="edge"),
            pods("web", "team", **annotations),
            pods("gate", "front"),
            pods("mate", "team"),
            *more,
        ]
    )
    found: dict[str, PodTemplate] = {
        pod.owner.name: pod for group in index.pods.values() for pod in group
    }
    return Reach(index), found


OWN = {"from": [{"podSelector": {}}]}
EDGE = {"from": [{"namespaceSelector": {"matchLabels": {"tier": "edge"}}}]}
OTHER_PODS = {
    "from": [
        {
            "namespaceSelector": {"matchLabels": {"tier": "edge"}},
            "podSelector": {"matchLabels": {"app": "other"}},
        }
    ]
}


@pytest.mark.parametrize(
    ("ingress", "gate", "mate", "server"),
    [
        (None, False, False, False),
        ([OWN], False, True, False),
        ([EDGE], True, False, False),
        ([OTHER_PODS], False, False, False),
        ([{}], True, True, True),
        ([{"ports": [{"port": 8080}]}], True, True, True),
        ([{"ports": [{"port": "http"}]}], True, True, True),
        ([{"ports": [{"port": 8000, "endPort": 9000}]}], True, True, True),
        ([{"ports": [{"port": 9090}]}], False, False, False),
        ([{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}], True, True, True),
        ([OWN, EDGE], True, True, False),
    ],
)
def test_network_policies_let_in_whom_their_rules_name(
    ingress: list[Any] | None, gate: bool, mate: bool, server: bool
) -> None:
    spec: Manifest = {"podSelector": {"matchLabels": {"app": "web"}}}
    reach, by_name = world(network({**spec, **({"ingress": ingress} if ingress else {})}))
    web = by_name["web"]
    assert (reach.network_closed(web, 8080, caller=by_name["gate"]) is None) is gate
    assert (reach.network_closed(web, 8080, caller=by_name["mate"]) is None) is mate
    assert (reach.network_closed(web, 8080) is None) is server


def test_pods_that_no_network_policy_selects_are_open() -> None:
    reach, by_name = world(
        network({"podSelector": {"matchLabels": {"app": "else"}}}),
        network({"podSelector": {}, "policyTypes": ["Egress"]}, "front"),
    )
    assert reach.network_closed(by_name["web"], 8080) is None
    assert reach.network_closed(by_name["gate"], 8080) is None


DENY = mesh({}, "istio-system", "deny")
FROM_GATE = {"from": [{"source": {"principals": ["cluster.local/ns/front/sa/gate"]}}]}


@pytest.mark.parametrize(
    ("rules", "gate", "mate", "server"),
    [
        ([], False, False, False),
        ([{}], True, True, True),
        ([FROM_GATE], True, False, False),
        ([{"from": [{"source": {"principals": ["*/sa/gate"]}}]}], True, False, False),
        ([{"from": [{"source": {"namespaces": ["team"]}}]}], False, True, False),
        ([{"from": [{"source": {"notNamespaces": ["front"]}}]}], False, True, True),
        ([{"to": [{"operation": {"ports": ["9090"]}}]}], False, False, False),
        ([{"to": [{"operation": {"paths": ["/x"]}}]}], True, True, True),
        ([{"when": [{"key": "request.headers[a]", "values": ["b"]}]}], True, True, True),
    ],
)
def test_mesh_policies_let_in_whom_a_rule_may_match(
    rules: list[Any], gate: bool, mate: bool, server: bool
) -> None:
    policy = mesh({"selector": {"matchLabels": {"app": "web"}}, "rules": rules})
    reach, by_name = world(DENY, policy)
    web = by_name["web"]
    assert (reach.mesh_closed(web, 8080, caller=by_name["gate"]) is None) is gate
    assert (reach.mesh_closed(web, 8080, caller=by_name["mate"]) is None) is mate
    assert (reach.mesh_closed(web, 8080) is None) is server


@pytest.mark.parametrize(
    ("injection", "annotations", "closed"),
    [
        ("enabled", {}, True),
        ("disabled", {}, False),
        ("enabled", {"sidecar.istio.io/inject": "false"}, False),
        ("enabled", {"traffic.sidecar.istio.io/excludeInboundPorts": "1, 8080"}, False),
        ("enabled", {"traffic.sidecar.istio.io/excludeInboundPorts": "9443"}, True),
        ("enabled", {"traffic.sidecar.istio.io/includeInboundPorts": "*"}, True),
        ("enabled", {"traffic.sidecar.istio.io/includeInboundPorts": "9090"}, False),
    ],
)
def test_only_ports_behind_a_sidecar_are_the_meshs(
    injection: str, annotations: dict[str, str], closed: bool
) -> None:
    reach, by_name = world(DENY, injection=injection, **annotations)
    assert (reach.mesh_closed(by_name["web"], 8080) is not None) is closed
    assert (reach.sealed(by_name["web"], 8080) is not None) is closed


def test_injection_gives_pods_a_canonical_name_that_policies_can_select() -> None:
    selector = {"matchLabels": {"service.istio.io/canonical-name": "web"}}
    reach, by_name = world(DENY, network({"podSelector": selector}))
    assert reach.network_closed(by_name["web"], 8080) is not None
    reach, by_name = world(network({"podSelector": selector}), injection="disabled")
    assert reach.network_closed(by_name["web"], 8080) is None


def test_who_is_closed_is_told_by_which_policies() -> None:
    reach, by_name = world(DENY)
    closed = reach.mesh_closed(by_name["web"], 8080)
    assert str(closed) == "AuthorizationPolicy.security.istio.io istio-system/deny"
    assert closed is not None
    assert closed.mesh
