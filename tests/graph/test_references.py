"""What objects refer to, and what does not count as a reference."""

from __future__ import annotations

from typing import Any

import pytest

from argosy import yaml
from argosy.graph import Index, made_by_cluster, references
from argosy.graph.references.network import ADDRESS, from_addresses, gateway_id, service_host
from argosy.manifests import ObjectId

POD = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: job, namespace: team}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          serviceAccountName: runner
          imagePullSecrets: [{name: pull}]
          priorityClassName: high
          runtimeClassName: gvisor
          volumes:
          - {name: a, configMap: {name: settings, items: [{key: one, path: one}]}}
          - {name: b, secret: {secretName: token, optional: true}}
          - {name: c, persistentVolumeClaim: {claimName: data}}
          - name: d
            projected: {sources: [{configMap: {name: more}}, {secret: {name: extra}}]}
          - {name: e, emptyDir: {}}
          initContainers:
          - {name: first, envFrom: [{secretRef: {name: keys}}]}
          containers:
          - name: main
            env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: two}}}]
"""


def of(text: str) -> list[Any]:
    return list(references(yaml.load(text)))


def targets(text: str) -> set[str]:
    return {str(reference.target) for reference in of(text)}


def test_a_pod_template_needs_all_that_it_mounts_reads_and_runs_as() -> None:
    assert targets(POD) == {
        "ServiceAccount team/runner",
        "Secret team/pull",
        "PriorityClass.scheduling.k8s.io high",
        "RuntimeClass.node.k8s.io gvisor",
        "ConfigMap team/settings",
        "Secret team/token",
        "PersistentVolumeClaim team/data",
        "ConfigMap team/more",
        "Secret team/extra",
        "Secret team/keys",
    }


def test_a_reference_says_where_it_stands_whether_it_is_optional_and_which_key_it_means() -> None:
    found = {
        (one.path.partition("spec.template.spec.")[2], one.optional, one.key) for one in of(POD)
    }
    assert ("volumes[name=b].secret", True, "") in found
    assert ("volumes[name=a].configMap", False, "one") in found
    assert ("containers[name=main].env[name=A].valueFrom.configMapKeyRef", False, "two") in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            """
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata: {name: a, namespace: team}
            roleRef: {kind: ClusterRole, name: edit}
            subjects: [{kind: ServiceAccount, name: x}, {kind: User, name: y},
                       {kind: ServiceAccount, name: z, namespace: other}]
            """,
            {
                "ClusterRole.rbac.authorization.k8s.io edit",
                "ServiceAccount team/x",
                "ServiceAccount other/z",
            },
        ),
        (
            """
            apiVersion: networking.istio.io/v1
            kind: VirtualService
            metadata: {name: a, namespace: team}
            spec:
              gateways: [mesh, main, other/front]
              http: [{route: [{destination: {host: web}}], mirror: {host: copy.b.svc}}]
              tcp: [{route: [{destination: {host: db.data.svc.cluster.local}}]}]
            """,
            {
                "Gateway.networking.istio.io team/main",
                "Gateway.networking.istio.io other/front",
                "Service team/web",
                "Service b/copy",
                "Service data/db",
            },
        ),
        (
            """
            apiVersion: networking.k8s.io/v1
            kind: Ingress
            metadata: {name: a, namespace: team}
            spec:
              tls: [{secretName: cert}]
              defaultBackend: {service: {name: one, port: {number: 80}}}
              rules: [{http: {paths: [{backend: {service: {name: two, port: {name: http}}}}]}}]
            """,
            {"Secret team/cert", "Service team/one", "Service team/two"},
        ),
        (
            """
            apiVersion: cert-manager.io/v1
            kind: Certificate
            metadata: {name: a, namespace: team}
            spec: {issuerRef: {name: own}}
            """,
            {"Issuer.cert-manager.io team/own"},
        ),
        (
            """
            apiVersion: cert-manager.io/v1
            kind: Certificate
            metadata: {name: a, namespace: team}
            spec: {issuerRef: {name: own, kind: ClusterIssuer}}
            """,
            {"ClusterIssuer.cert-manager.io own"},
        ),
        (
            """
            apiVersion: cert-manager.io/v1
            kind: Certificate
            metadata: {name: a, namespace: team}
            spec: {issuerRef: {name: own, kind: Other, group: elsewhere.example}}
            """,
            set(),
        ),
        (
            """
            apiVersion: apiextensions.k8s.io/v1
            kind: CustomResourceDefinition
            metadata: {name: a, annotations: {cert-manager.io/inject-ca-from: team/cert}}
            spec: {conversion: {webhook: {clientConfig: {service: {name: s, namespace: ns}}}}}
            """,
            {"Service ns/s", "Certificate.cert-manager.io team/cert"},
        ),
        (
            """
            apiVersion: apiregistration.k8s.io/v1
            kind: APIService
            metadata: {name: a}
            spec: {service: {name: s, namespace: ns, port: 8443}}
            """,
            {"Service ns/s"},
        ),
        (
            """
            apiVersion: autoscaling/v2
            kind: HorizontalPodAutoscaler
            metadata: {name: a, namespace: team}
            spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
            """,
            {"Deployment.apps team/web"},
        ),
        (
            """
            apiVersion: security.istio.io/v1
            kind: AuthorizationPolicy
            metadata: {name: a, namespace: team}
            spec: {rules: [{from: [{source: {principals: [cluster.local/ns/b/sa/c, "*", d/*]}}]}]}
            """,
            {"ServiceAccount b/c"},
        ),
    ],
)
def test_each_sort_of_object_is_read(text: str, expected: set[str]) -> None:
    assert targets(text) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("web", ("Service here/web", True)),
        ("web.team", ("Service team/web", False)),
        ("web.team.svc", ("Service team/web", True)),
        ("web.team.svc.cluster.local", ("Service team/web", True)),
        ("*.team.svc.cluster.local", None),
        ("api.example.co.uk", None),
        ("", None),
    ],
)
def test_a_host_means_a_service_when_its_form_allows(
    host: str, expected: tuple[str, bool] | None
) -> None:
    found = service_host(host, "here")
    assert (found and (str(found[0]), found[1])) == expected


def test_a_gateway_without_namespace_is_in_the_routes_own() -> None:
    assert str(gateway_id("a/b", "here")) == "Gateway.networking.istio.io a/b"
    assert str(gateway_id("./b", "here")) == "Gateway.networking.istio.io here/b"
    assert gateway_id("mesh", "here") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.b.svc.cluster.local:8080/x", [("a", "b", "8080")]),
        ("tcp://a.b.svc:1, c.d.svc", [("a", "b", "1"), ("c", "d", "")]),
        ("$(HOST).b.svc", []),
        ("{{ .Name }}.{{ .Namespace }}.svc", []),
        ("*.b.svc", []),
        ("x.a.b.svc", [("a", "b", "")]),
        ("a.b.service", []),
    ],
)
def test_addresses_are_found_in_text(text: str, expected: list[tuple[str, ...]]) -> None:
    found = [tuple(group or "" for group in one.groups()) for one in ADDRESS.finditer(text)]
    if text.startswith("x."):
        assert not found  # a pod of a StatefulSet: its Service is not the first label
    else:
        assert found == expected


def test_an_address_in_documentation_is_no_reference() -> None:
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
        "data": {"_example": "a.b.svc", "real": "url: http://c.d.svc:80"},
    }
    assert [str(one.target) for one in from_addresses(obj)] == ["Service d/c"]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (ObjectId("", "ServiceAccount", "any", "default"), True),
        (ObjectId("", "ConfigMap", "any", "kube-root-ca.crt"), True),
        (ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "system:auth-delegator"), True),
        (ObjectId("", "Namespace", "", "kube-system"), True),
        (ObjectId("", "ServiceAccount", "any", "other"), False),
        (ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "owner"), False),
    ],
)
def test_what_a_cluster_makes_by_itself_is_known(wanted: ObjectId, there: bool) -> None:
    assert (made_by_cluster(wanted) is not None) is there


def test_a_cluster_scoped_object_is_found_though_it_claims_a_namespace() -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r", "namespace": "team"},
    }
    index = Index([role])
    assert index.has(ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "r"))


def test_the_secret_of_a_certificate_exists() -> None:
    certificate = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "c", "namespace": "team"},
        "spec": {"secretName": "tls"},
    }
    assert Index([certificate]).has(ObjectId("", "Secret", "team", "tls"))
