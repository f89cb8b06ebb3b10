"""The demo: from nothing to a platform on a local cluster, and what it does without a network."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from argosy.dev import cluster, toolchain
from argosy.dev.errors import UnknownCluster
from argosy.dev.places import cache_root
from argosy.platform.board import Board
from argosy.platform.catalogue import CatalogueError
from argosy.platform.demo import Demo
from argosy.progress import NO_PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from argosy.platform.demo import DemoReport
    from devcluster_fixtures import TestCluster

NAME = "test-demo"
# a proxy that nobody serves: every way out of the machine is closed
CLOSED = dict.fromkeys(("https_proxy", "http_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9")


@contextmanager
def silent(_title: str) -> Iterator[Board]:
    yield Board()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A cache whose tools are those that are built already, and nothing else."""
    (tmp_path / "bin").symlink_to(cache_root(os.environ) / "bin")
    yield tmp_path
    with suppress(UnknownCluster):
        cluster.down(NAME, delete=True, env=os.environ, cache=tmp_path)


def play(home: Path, mirror: Path | None, env: dict[str, str], **options: Any) -> DemoReport:
    demo = Demo(
        None, name=NAME, mirror=mirror, cache=home, env=env, progress=NO_PROGRESS, **options
    )
    demo.prepare()
    return demo.apply(silent)


@pytest.mark.apiserver
@pytest.mark.xdist_group("demo")
def test_without_a_network_or_a_mirror_the_example_comes_up_and_says_why(home: Path) -> None:
    toolchain.ensure("cluster", env=os.environ)
    toolchain.ensure("kustomize", env=os.environ)
    report = play(home, None, {**os.environ, **CLOSED})
    assert report.preset == "example"
    assert report.why
    assert report.steps[-1].result.startswith("11 objects applied")
    assert report.running["Deployments"] == (1, 1)
    assert report.running["StatefulSets"] == (1, 1)
    assert report.running["nodes"] == (3, 3)
    assert "name: demo" in (report.folder / "platform.yaml").read_text()


@pytest.mark.apiserver
@pytest.mark.xdist_group("demo")
def test_a_cluster_that_is_there_is_used_when_it_is_named(
    home: Path, devcluster: TestCluster
) -> None:
    toolchain.ensure("kustomize", env=os.environ)
    env = {**os.environ, **CLOSED}
    report = play(home, None, env, kubeconfig=devcluster.kubeconfig)
    assert report.kubeconfig == devcluster.kubeconfig
    assert report.steps[-1].result.startswith("11 objects applied")
    assert [step.name for step in report.steps] == ["lock", "kustomize", "render", "check", "apply"]
    assert not (home / "clusters").exists()


def test_a_release_that_nobody_catalogued_is_refused_before_anything_is_built(
    tmp_path: Path,
) -> None:
    with pytest.raises(CatalogueError, match=r"did you mean '26\.03'"):
        play(tmp_path, None, {}, release="26.3")
    assert not list(tmp_path.iterdir())


@pytest.mark.integration
@pytest.mark.upstream
@pytest.mark.apiserver
@pytest.mark.xdist_group("demo")
def test_with_a_mirror_the_whole_of_kubeflow_comes_up_also_after_the_example(
    home: Path, upstream: Path
) -> None:
    toolchain.ensure("cluster", env=os.environ)
    toolchain.ensure("kustomize", env=os.environ)
    assert play(home, None, {**os.environ, **CLOSED}).preset == "example"
    cluster.down(NAME, delete=True, env=os.environ, cache=home)
    report = play(home, upstream, dict(os.environ))
    assert report.preset == "kubeflow"
    assert report.steps[-1].result.startswith("675 objects applied")
    assert [step.name for step in report.steps][:4] == ["lock", "kustomize", "render", "check"]
    up, deployments = report.running["Deployments"]
    assert up == deployments > 40
