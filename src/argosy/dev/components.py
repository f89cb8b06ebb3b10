"""Decide what each process of a cluster is started with. Pure: paths and ports in, argv out.

What differs from a production cluster, and why, stands beside the flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.dev.state import Ports, Settings

__all__ = [
    "AFTER_API",
    "EARLY",
    "EXECUTORS",
    "FIRST",
    "TUNING",
    "Probe",
    "Programs",
    "command",
    "probe",
]

FIRST = ("etcd", "kube-apiserver")
EARLY = ("agent", "kwok")  # administrators: they need no role, only a server that answers
AFTER_API = ("kube-controller-manager", "kube-scheduler")

HOST = "127.0.0.1"
QPS = ("--kube-api-qps=500", "--kube-api-burst=1000")  # the default of 20 makes rollouts wait

# A good part of an API server's work, while it takes up Kubeflow's definitions, is collecting
# garbage: 12 to 16 s of CPU, against 10.5 s with room to grow within what a laptop can spare.
TUNING = {"kube-apiserver": {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}}

EXECUTORS = {
    "argo": ("argoexec", "argoexec"),
    "tekton": ("tekton-entrypoint", "entrypoint"),
}  # name -> (tool, what the pods of Argo Workflows and Tekton call it)


class Programs(NamedTuple):
    """The binaries: ours for everything, unless the user brought etcd and kube-apiserver."""

    cluster: Path
    assets: Path | None = None
    executors: tuple[tuple[str, Path], ...] = ()  # name in the pods, binary

    def start(self, name: str) -> list[str]:
        """Return the beginning of the command line of the component `name`."""
        if self.assets and name in FIRST:
            return [str(self.assets / name)]
        return [str(self.cluster), name]


class Probe(NamedTuple):
    """Where a component says that it is healthy; an empty path means that it cannot."""

    port: int
    path: str


def probe(name: str, ports: Ports) -> Probe | None:
    """Return how to ask a component for its health, None for those that have no port."""
    return {
        "kube-apiserver": Probe(ports.api, "/readyz"),
        "kube-controller-manager": Probe(ports.controller_manager, "/healthz"),
        "kube-scheduler": Probe(ports.scheduler, "/healthz"),
        "agent": Probe(ports.agent, "/healthz"),
    }.get(name)


def command(
    name: str, *, cluster: str, folder: Path, ports: Ports, settings: Settings, programs: Programs
) -> list[str]:
    """Return the command line of the component `name`."""
    pki = folder / "pki"
    match name:
        case "etcd":
            flags = _etcd(folder, ports)
        case "kube-apiserver":
            flags = _api(folder, ports, settings)
        case "kube-controller-manager":
            flags = _controllers(pki, ports)
        case "kube-scheduler":
            flags = _scheduler(pki, ports)
        case "kwok":
            flags = [f"--kubeconfig={pki}/kwok.kubeconfig", f"--config={folder}/kwok.yaml"]
        case _:
            flags = _agent(cluster, folder, ports, settings)
    return [*programs.start(name), *flags]


def _agent(cluster: str, folder: Path, ports: Ports, settings: Settings) -> list[str]:
    return [
        f"--dir={folder}",
        f"--name={cluster}",
        f"--nodes={settings.nodes}",
        f"--listen={HOST}:{ports.agent}",
    ]


def _etcd(folder: Path, ports: Ports) -> list[str]:
    pki, peer = folder / "pki", f"https://{HOST}:{ports.etcd_peer}"
    client = f"https://{HOST}:{ports.etcd}"
    return [
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--client-cert-auth",  # loopback is shared with every user of the machine
        f"--trusted-ca-file={pki}/etcd-ca.crt",
        f"--cert-file={pki}/etcd.crt",
        f"--key-file={pki}/etcd.key",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={pki}/etcd-ca.crt",
        f"--peer-cert-file={pki}/etcd.crt",
        f"--peer-key-file={pki}/etcd.key",
        "--unsafe-no-fsync",  # a power cut may cost the data: `reset` gives an empty cluster
        "--log-level=warn",
        "--quota-backend-bytes=4294967296",
    ]


def _api(folder: Path, ports: Ports, settings: Settings) -> list[str]:
    pki = folder / "pki"
    return [
        f"--bind-address={HOST}",
        f"--secure-port={ports.api}",
        "--endpoint-reconciler-type=none",  # an Endpoints object may not name loopback
        f"--etcd-servers=https://{HOST}:{ports.etcd}",
        f"--etcd-cafile={pki}/etcd-ca.crt",
        f"--etcd-certfile={pki}/etcd-client.crt",
        f"--etcd-keyfile={pki}/etcd-client.key",
        "--authorization-mode=Node,RBAC",
        f"--client-ca-file={pki}/ca.crt",
        f"--token-auth-file={pki}/tokens.csv",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki}/service-accounts.pub",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
        f"--proxy-client-key-file={pki}/front-proxy-client.key",
        "--enable-aggregator-routing",  # there is no kube-proxy: pods are asked, not Services
        "--allow-privileged",
        "--max-requests-inflight=2000",  # tests and tools on one machine share this server
        "--max-mutating-requests-inflight=1000",
        "--profiling=false",
        *_admission(settings),
    ]


def _admission(settings: Settings) -> list[str]:
    if settings.webhooks:
        return []
    # simulated pods serve nothing: a webhook that fails closed would refuse what it is asked about
    return ["--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook"]


def _controllers(pki: Path, ports: Ports) -> list[str]:
    syncs = ("deployment", "replicaset", "statefulset", "endpoint", "service-endpoint", "namespace")
    return [
        f"--kubeconfig={pki}/controller-manager.kubeconfig",
        f"--bind-address={HOST}",
        f"--secure-port={ports.controller_manager}",
        f"--tls-cert-file={pki}/components.crt",
        f"--tls-private-key-file={pki}/components.key",
        "--leader-elect=false",
        "--controllers=*",
        "--use-service-account-credentials",
        f"--root-ca-file={pki}/ca.crt",
        f"--service-account-private-key-file={pki}/service-accounts.key",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        "--node-monitor-period=1s",
        "--profiling=false",
        *QPS,
        *(f"--concurrent-{kind}-syncs=20" for kind in syncs),
        "--concurrent-job-syncs=20",
        "--concurrent-serviceaccount-token-syncs=20",
        "--concurrent-gc-syncs=20",
        "--concurrent-resource-quota-syncs=10",
    ]


def _scheduler(pki: Path, ports: Ports) -> list[str]:
    return [
        f"--kubeconfig={pki}/scheduler.kubeconfig",
        f"--bind-address={HOST}",
        f"--secure-port={ports.scheduler}",
        f"--tls-cert-file={pki}/components.crt",
        f"--tls-private-key-file={pki}/components.key",
        "--leader-elect=false",
        "--profiling=false",
        *QPS,
    ]
