"""Small platforms of which each has one thing wrong, by the code that says so."""

from __future__ import annotations

from rendered_texts import NAMESPACE

__all__ = [
    "CERTIFICATE",
    "CRD",
    "MESH",
    "NAMESPACE",
    "POD",
    "ROUTE",
    "SERVICE",
    "THING",
    "WEBHOOK",
    "WRONG",
    "document",
    "obj",
    "policy",
    "with_env",
]

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
