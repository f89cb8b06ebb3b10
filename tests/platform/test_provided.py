"""Apps that are left out although others need them: the cluster has them, and checks know it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from argosy.platform.check import find
from argosy.platform.config import load_platform
from argosy.platform.locking import lock_platform
from argosy.platform.render import render
from argosy.platform.tree import load_rendered
from argosy.sources.blobs import BlobStore
from argosy.sources.fetch import Mirror
from rendered_texts import NAMESPACE, rendered

if TYPE_CHECKING:
    from pathlib import Path

CERTIFICATE = """\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: team}
spec: {secretName: web, dnsNames: [a.team.svc], issuerRef: {name: own, kind: ClusterIssuer}}
"""
ELSEWHERE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: cert-manager}
"""
NOBODYS = CERTIFICATE.replace("Certificate\n", "Certificat\n")


def codes(text: str, *provided: str) -> set[str]:
    platform = replace(rendered(NAMESPACE + text, release="26.03"), provided=provided)
    return {finding.code for finding in find(platform)}


@pytest.mark.parametrize(
    ("text", "lacking"), [(CERTIFICATE, {"ARG011", "ARG037"}), (ELSEWHERE, {"ARG017"})]
)
def test_what_a_provided_app_would_bring_is_not_missed(text: str, lacking: set[str]) -> None:
    assert lacking <= codes(text)
    assert not lacking & codes(text, "cert-manager")


def test_what_no_provided_app_would_bring_is_still_missed() -> None:
    assert "ARG011" in codes(NOBODYS, "cert-manager")
    assert "ARG011" in codes(CERTIFICATE, "dex")


def test_a_rendered_tree_says_which_apps_the_cluster_has(
    tmp_path: Path, upstream: Path, engines_env: dict[str, str]
) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / "platform.yaml").write_text(
        'apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: t}\nkubeflow: "26.03"\n'
        "apps: {include: [katib], exclude: [cert-manager]}\n"
    )
    mirror, cache = Mirror(upstream), tmp_path / "cache"
    lock_platform(root, fetcher=mirror, blobs=BlobStore(cache))
    render(load_platform(root), cache=cache, env=engines_env, fetcher=mirror)
    platform = load_rendered(root, "default")
    assert platform.provided == ("cert-manager",)
    assert platform.only(frozenset({"katib"})).provided == ("cert-manager",)
    assert not [f for f in find(platform) if f.code in {"ARG011", "ARG037"}]
