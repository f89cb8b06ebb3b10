"""The demo: from nothing to a platform on a local cluster, and what it does without a network."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from argosy.dev import cluster
from argosy.dev.places import cache_root
from argosy.platform.board import Board
from argosy.platform.demo import Demo
from argosy.progress import NO_PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from argosy.platform.demo import DemoReport

NAME = "test-demo"
# a proxy that nobody serves: every way out of the machine is closed
CLOSED = dict.fromkeys(("https_proxy", "http_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9")


@contextmanager
def silent(_title: str) -> Iterator[Board]:
    yield Board()


def play(folder: Path, mirror: Path | None, env: dict[str, str]) -> DemoReport:
    try:
        demo = Demo(
            folder,
            name=NAME,
            mirror=mirror,
            cache=cache_root(os.environ),
            env=env,
            progress=NO_PROGRESS,
        )
        demo.prepare()
        return demo.apply(silent)
    finally:
        cluster.down(NAME, delete=True, env=os.environ)


@pytest.mark.apiserver
@pytest.mark.xdist_group("demo")
def test_without_a_network_or_a_mirror_the_example_comes_up_and_says_why(tmp_path: Path) -> None:
    report = play(tmp_path / "demo", None, {**os.environ, **CLOSED})
    assert report.preset == "example"
    assert report.why
    assert report.steps[-1].result.startswith("11 objects applied")
    assert "name: demo" in (tmp_path / "demo" / "platform.yaml").read_text()


@pytest.mark.integration
@pytest.mark.upstream
@pytest.mark.apiserver
@pytest.mark.xdist_group("demo")
def test_with_a_mirror_the_whole_of_kubeflow_comes_up(tmp_path: Path, upstream: Path) -> None:
    report = play(tmp_path / "demo", upstream, dict(os.environ))
    assert report.preset == "kubeflow"
    assert report.steps[-1].result.startswith("675 objects applied")
    assert [step.name for step in report.steps][:4] == ["lock", "kustomize", "render", "check"]
