"""What each check finds in a small platform, and what it leaves alone."""

from __future__ import annotations

import pytest

from argosy.platform.check import SPECS
from rendered_texts import NAMESPACE, codes, findings

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: example.com/web:1.0
        ports: [{containerPort: 8080, name: http}]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size, mode]
            properties:
              size: {type: integer, minimum: 1}
              mode: {type: string, default: quick}
              port: {x-kubernetes-int-or-string: true}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
              maybe: {type: string}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
"""
THING = """\
apiVersion: example.com/v1
kind: Thing
metadata: {name: one, namespace: team}
spec: {size: 1}
"""
MESH = """\
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny-all, namespace: istio-system}
spec: {}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gateway, namespace: istio-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: istio-system}
spec:
  selector: {matchLabels: {istio: gateway}}
  template:
    metadata: {labels: {istio: gateway, sidecar.istio.io/inject: "false"}}
    spec:
      serviceAccountName: gateway
      containers: [{name: proxy, image: "example.com/proxy:1"}]
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: main, namespace: team}
spec:
  selector: {istio: gateway}
  servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*"]}]
---
"""
ROUTE = """\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: NAME, namespace: team}
spec:
  hosts: ["*"]
  gateways: [main]
  http:
  - match: [{uri: {prefix: /web/}}]
    route: [{destination: {host: web.team.svc.cluster.local, port: {number: 80}}}]
"""
WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: web
  annotations: {cert-manager.io/inject-ca-from: team/cert}
webhooks:
- name: web.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: web, namespace: team, port: 80}}
"""
VIEW = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n"
CERTIFICATE = """\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: cert, namespace: team}
spec:
  secretName: cert
  dnsNames: [DNS]
  issuerRef: {name: own, kind: Issuer}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own, namespace: team}
spec: {selfSigned: {}}
"""


def document(*texts: str) -> str:
    return "---\n".join(texts)


def obj(kind: str, body: str = "", *, name: str = "a", namespace: str = "team") -> str:
    """Return an object; `kind` is written as `apps/v1 Deployment`."""
    version, _, short = kind.rpartition(" ")
    where = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: {version}\nkind: {short}\nmetadata: {{name: {name}{where}}}\n{body}\n"


def with_env(name: str, value: str) -> str:
    return NAMESPACE + POD + f"        env: [{{name: {name}, value: '{value}'}}]\n"


def config(data: str) -> str:
    return NAMESPACE + obj("v1 ConfigMap", f"data: {data}", name="c")


def policy(kind: str, selector: str) -> str:
    group = "networking.k8s.io" if kind == "NetworkPolicy" else "security.istio.io"
    return obj(f"{group}/v1 {kind}", f"spec: {selector}", name="p")


def test_a_sound_platform_has_no_findings() -> None:
    assert codes(NAMESPACE + document(POD, SERVICE, CRD, THING)) == set()


WRONG = {
    "ARG001": with_env("A", "<<__domain__>>"),
    "ARG002": with_env("A", "x-$(NOT_DEFINED)"),
    "ARG003": with_env("COLLECT_METRICS", "CD_COLLECT_METRICS"),
    "ARG012": obj("policy/v1beta1 PodDisruptionBudget", namespace="default"),
    "ARG013": obj("v1 Endpoints", namespace="default"),
    "ARG014": obj(
        "coordination.k8s.io/v1beta1 LeaseCandidate",
        "spec: {leaseName: a, binaryVersion: '1', emulationVersion: '1', strategy: x}",
        namespace="default",
    ),
    "ARG015": obj("rbac.authorization.k8s.io/v1 ClusterRole", namespace="default"),
    "ARG016": obj("v1 ConfigMap", namespace=""),
    "ARG017": obj("v1 ConfigMap", namespace="nowhere"),
    "ARG030": NAMESPACE + POD + "        envFrom: [{configMapRef: {name: gone}}]\n",
    "ARG031": document(
        config("{a: b}"),
        POD + "        env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: z}}}]\n",
    ),
    "ARG032": NAMESPACE
    + obj(
        "rbac.authorization.k8s.io/v1 RoleBinding",
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: gone}",
    ),
    "ARG033": NAMESPACE
    + obj(
        "rbac.authorization.k8s.io/v1 RoleBinding",
        VIEW + "subjects: [{kind: ServiceAccount, name: gone}]",
    ),
    "ARG034": NAMESPACE + ROUTE,
    "ARG035": NAMESPACE
    + obj("networking.istio.io/v1 DestinationRule", "spec: {host: gone.team.svc.cluster.local}"),
    "ARG036": NAMESPACE + WEBHOOK,
    "ARG037": NAMESPACE + CERTIFICATE.split("---", maxsplit=1)[0],
    "ARG038": NAMESPACE
    + obj(
        "autoscaling/v2 HorizontalPodAutoscaler",
        "spec: {maxReplicas: 2, scaleTargetRef:"
        " {apiVersion: apps/v1, kind: Deployment, name: gone}}",
    ),
    "ARG040": with_env("URL", "http://gone.team.svc.cluster.local:80/x"),
    "ARG041": NAMESPACE + SERVICE,
    "ARG042": NAMESPACE + document(SERVICE, WEBHOOK),
    "ARG043": NAMESPACE + policy("NetworkPolicy", "{podSelector: {matchLabels: {app: gone}}}"),
    "ARG044": NAMESPACE + document(POD, SERVICE.replace("http", "https")),
    "ARG022": NAMESPACE + POD + "        volumeMounts: [{name: gone, mountPath: /x}]\n",
    "ARG045": NAMESPACE
    + document(
        policy("NetworkPolicy", "{podSelector: {}}"),
        policy("NetworkPolicy", "{podSelector: {}}").replace("name: p", "name: q"),
    ),
    "ARG046": NAMESPACE
    + policy("AuthorizationPolicy", "{rules: [{from: [{source: {namespaces: [a]}}]}, {}]}"),
    "ARG050": NAMESPACE
    + document(POD, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "other.team.svc")),
    "ARG051": MESH + document(POD, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "web.team.svc")),
    "ARG052": MESH,
    "ARG053": MESH + document(POD, SERVICE, ROUTE),
    "ARG054": MESH
    + document(POD, SERVICE, ROUTE.replace("NAME", "one"), ROUTE.replace("NAME", "two")),
    "ARG055": config('{v: "pvc: $NAME\\npodSpec: {}\\nnetworking:\\n  timeout: 30s\\n"}'),
    "ARG056": MESH
    + document(
        obj(
            "v1 Service",
            "spec: {selector: {istio: gateway},"
            " ports: [{name: http2, port: 80, targetPort: 8080}]}",
            name="gateway",
            namespace="istio-system",
        ),
        obj(
            "networking.k8s.io/v1 NetworkPolicy",
            "spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}",
            name="own",
            namespace="istio-system",
        ),
    ),
    "ARG057": NAMESPACE
    + document(
        obj("v1 Namespace", name="istio-system", namespace=""),
        obj(
            "v1 ConfigMap",
            "data: {mesh: 'extensionProviders: [{name: known}]'}",
            name="istio",
            namespace="istio-system",
        ),
        policy("AuthorizationPolicy", "{action: CUSTOM, provider: {name: other}}"),
    ),
    "ARG058": MESH + document(POD, SERVICE),
    "ARG059": NAMESPACE
    + document(
        POD,
        SERVICE,
        obj(
            "networking.istio.io/v1 DestinationRule",
            "spec: {host: web, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}",
        ),
    ),
    "ARG060": NAMESPACE + POD.replace(":1.0", ":latest"),
    "ARG070": NAMESPACE + obj("v1 Secret", "stringData: {password: hunter2}"),
    "ARG072": NAMESPACE + POD.replace("example.com/web:1.0", "ghcr.io/kubeflow/katib/katib-ui:v1"),
}


@pytest.mark.parametrize("code", WRONG)
def test_each_check_finds_what_it_is_for(code: str) -> None:
    found = findings(WRONG[code], code=code)
    assert len(found) >= 1
    assert all(finding.message.endswith(".") and finding.file for finding in found)


def test_every_check_has_an_example() -> None:
    elsewhere = {"ARG010", "ARG011", "ARG020", "ARG021", "ARG071", "ARG090"}
    assert {spec.code for spec in SPECS} == set(WRONG) | elsewhere


def test_values_of_secrets_are_never_shown() -> None:
    shown = repr(findings(WRONG["ARG070"]))
    assert "password" in shown
    assert "hunter2" not in shown


def test_an_object_that_two_apps_render_is_reported_with_the_other_file() -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    (found,) = findings(text, text)
    assert (found.code, found.app) == ("ARG010", "app1")
    assert "rendered/default/app0/a.yaml" in found.message


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("example.com/v1\n", "example.org/v1\n"), "No CustomResourceDefinition"),
        (("kind: Thing", "kind: Thign"), "did you mean 'Thing'?"),
        (("example.com/v1\n", "example.com/v1alpha1\n"), "write example.com/v1"),
        (("example.com/v1\n", "example.com/v2\n"), "write example.com/v1"),
    ],
)
def test_a_kind_that_nobody_defines_is_reported_with_what_is_meant(
    change: tuple[str, str], part: str
) -> None:
    (found,) = findings(NAMESPACE + document(CRD, THING.replace(*change)), code="ARG011")
    assert part in found.message


@pytest.mark.parametrize(
    ("spec", "code", "path"),
    [
        ("{size: 0}", "ARG020", "spec.size"),
        ("{size: many}", "ARG020", "spec.size"),
        ("{}", "ARG020", "spec"),
        ("{size: 1, port: 1.5}", "ARG020", "spec.port"),
        ("{size: 1, colour: red}", "ARG021", "spec.colour"),
        ("{size: 1, port: http}", "", ""),
        ("{size: 1, extra: {anything: goes}}", "", ""),
        ("{size: 1, maybe: null}", "", ""),
    ],
)
def test_custom_resources_are_held_against_their_definition(
    spec: str, code: str, path: str
) -> None:
    found = findings(NAMESPACE + document(CRD, THING.replace("{size: 1}", spec)))
    assert [(one.code, one.path) for one in found] == ([(code, path)] if code else [])


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        (("containerPort: 8080", "containerPort: web"), "ARG020", "containerPort"),
        (("image: example", "imgae: example"), "ARG021", "imgae"),
        (("image: example", "resources: {limits: {cpu: 1}}\n        image: example"), "", ""),
    ],
)
def test_built_in_kinds_are_held_against_the_target_version(
    change: tuple[str, str], code: str, path: str
) -> None:
    found = findings(NAMESPACE + POD.replace(*change))
    assert [one.code for one in found] == ([code] if code else [])
    assert all(one.path.endswith(path) for one in found)


def test_an_optional_reference_may_lead_nowhere() -> None:
    text = POD + "        envFrom: [{secretRef: {name: gone, optional: true}}]\n"
    assert codes(NAMESPACE + text) == set()


def test_what_kubernetes_and_certificates_make_need_not_be_in_the_tree() -> None:
    volumes = """\
      serviceAccountName: default
      priorityClassName: system-cluster-critical
      volumes:
      - {name: a, configMap: {name: kube-root-ca.crt}}
      - {name: b, secret: {secretName: cert}}
"""
    text = document(POD + volumes, CERTIFICATE.replace("DNS", "web.team.svc"))
    assert not findings(NAMESPACE + text, code="ARG030")


def test_a_containers_own_variables_are_replaced_by_kubernetes() -> None:
    text = (
        POD + "        env: [{name: A, value: x}, {name: B, value: $(A)}]\n        args: [$(B)]\n"
    )
    assert codes(NAMESPACE + text) == set()


@pytest.mark.parametrize(
    "opening",
    [
        'annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "8080"}',
        "annotations: {sidecar.istio.io/inject: 'false'}",
    ],
)
def test_a_webhook_outside_the_mesh_is_open(opening: str) -> None:
    pod = POD.replace(
        "metadata: {labels: {app: web}}", f"metadata: {{labels: {{app: web}}, {opening}}}"
    )
    assert "annotations" in pod
    text = document(pod, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "web.team.svc"))
    assert not findings(MESH + text, code="ARG051")


def test_an_allow_policy_for_the_gateway_makes_a_route_live() -> None:
    allow = policy(
        "AuthorizationPolicy",
        "{rules: [{from: [{source: {principals: [cluster.local/ns/istio-system/sa/gateway]}}]}]}",
    )
    text = document(POD, SERVICE, ROUTE, allow)
    assert not findings(MESH + text, code="ARG053")
    other = text.replace("sa/gateway", "sa/default")
    assert len(findings(MESH + other, code="ARG053")) == 1


def test_a_network_policy_counts_only_when_it_selects_the_pods_and_the_caller_is_left_out() -> None:
    closed = policy("NetworkPolicy", "{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}")
    open_ = closed.replace("name: p", "name: q").replace(
        "ingress: [{from: [{podSelector: {}}]}]", "ingress: [{ports: [{port: 8080}]}]"
    )
    text = document(POD, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "web.team.svc"), closed)
    assert len(findings(NAMESPACE + text, code="ARG051")) == 1
    assert not findings(NAMESPACE + document(text, open_), code="ARG051")


def test_addresses_elsewhere_say_nothing() -> None:
    for url in ("http://web.elsewhere.svc:80", "https://example.com", "web.team.svc.example"):
        assert not findings(with_env("URL", url) + "---\n" + SERVICE, code="ARG040")
