"""Client certificates are loaded from memory, and nothing of them is left behind."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import msgspec
import pytest

from argosy.kube import ClusterConfig, KubeApi, KubeconfigError, load_kubeconfig
from argosy.kube.config import Credentials
from argosy.kube.tls import client_context
from argosy.yaml import dump, load

if TYPE_CHECKING:
    from pathlib import Path

    from devcluster_fixtures import TestCluster

HTTPS = "https://127.0.0.1:1"


@pytest.mark.apiserver
@pytest.mark.parametrize("in_memory", [True, False])
def test_no_key_is_left_on_disk(
    devcluster: TestCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_memory: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
    config = load_kubeconfig(devcluster.kubeconfig)
    assert config.credentials.key
    client_context(config)
    assert not list(tmp_path.iterdir())


@pytest.mark.apiserver
async def test_a_plugin_may_give_a_certificate(devcluster: TestCluster, tmp_path: Path) -> None:
    admin = load_kubeconfig(devcluster.kubeconfig).credentials
    version = "client.authentication.k8s.io/v1beta1"
    credential = {
        "kind": "ExecCredential",
        "apiVersion": version,
        "status": {
            "clientCertificateData": admin.certificate.decode(),
            "clientKeyData": admin.key.decode(),
        },
    }
    (tmp_path / "credential").write_bytes(msgspec.json.encode(credential))
    content = load(devcluster.kubeconfig.read_text())
    spec = {"command": "cat", "args": [str(tmp_path / "credential")], "apiVersion": version}
    for user in content["users"]:
        user["user"] = {"exec": spec}
    file = tmp_path / "k"
    file.write_text(dump(content))
    async with KubeApi(load_kubeconfig(file, env={"PATH": os.environ["PATH"]})) as api:
        assert len(await api.resources()) > 50


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ClusterConfig(server=HTTPS, ca=b"no"), "certificate authority is no PEM certificate"),
        (
            ClusterConfig(server=HTTPS, credentials=Credentials(certificate=b"no", key=b"no")),
            "client certificate and key cannot be used",
        ),
    ],
)
def test_what_is_no_certificate_is_refused(config: ClusterConfig, said: str) -> None:
    with pytest.raises(KubeconfigError, match=said):
        client_context(config)


def test_base64_of_something_else_in_a_kubeconfig_is_refused_with_the_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"no certificate").decode()
    file = tmp_path / "k"
    cluster = {"server": HTTPS, "certificate-authority-data": data}
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "current-context": "x",
    }
    file.write_text(dump(content))
    with pytest.raises(KubeconfigError, match=f"^{file}: the certificate authority"):
        KubeApi(load_kubeconfig(file))


def test_reading_a_kubeconfig_loads_no_http_library() -> None:
    code = (
        "import sys, argosy.kube, argosy.kube.config, argosy.kube.errors, argosy.kube.fields\n"
        "argosy.kube.load_kubeconfig, argosy.kube.Conflict\n"
        "print([m for m in ('aiohttp', 'asyncio', 'ssl') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, env=env, text=True).strip() == "[]"
