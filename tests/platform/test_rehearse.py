"""Rehearsing an upgrade on a fresh cluster: what passes, what is replaced, what stops."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from argosy.dev import state
from argosy.dev.cluster import clusters_folder
from argosy.dev.places import cache_root
from argosy.platform.config import load_platform
from argosy.platform.rehearse import RehearsalError, rehearse, report_lines
from argosy.platform.render import render
from platforms import DEPLOYMENT, add_app, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.rehearse import Rehearsal

Env = dict[str, str]
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: apps}\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: apps}\ndata: {a: b}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: apps}\nstringData: {k: v}\n"


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def build(root: Path, env: Env) -> None:
    render(load_platform(root), cache=root.parent / "cache", env=env)


@pytest.fixture
def committed(tmp_path: Path, engines_env: Env) -> Path:
    """A platform whose first state is rendered and committed."""
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    deployment = DEPLOYMENT.format(name="a", namespace="apps")
    add_app(root, "one", ns=NAMESPACE, a=deployment, c=CONFIG, s=SECRET)
    (root / ".gitignore").write_text("/.argosy/\n")
    build(root, engines_env)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    return root


def play(root: Path, rev: str = "HEAD") -> Rehearsal:
    cache = cache_root(os.environ)
    return rehearse(root, "default", rev=rev, cache=cache, environ=os.environ)


@pytest.mark.apiserver
def test_an_upgrade_that_passes_says_what_it_changes_and_leaves_no_cluster(
    committed: Path, engines_env: Env
) -> None:
    deployment = DEPLOYMENT.format(name="a", namespace="apps").replace(":1.0", ":2.0")
    add_app(committed, "one", ns=NAMESPACE, a=deployment, s=SECRET)
    build(committed, engines_env)
    found = play(committed)
    assert found.passed
    assert found.before == "HEAD (1 apps, 4 objects)"
    assert [str(a.id) for a in found.plan.of("update")] == ["Deployment.apps apps/a"]
    assert [str(a.id) for a in found.plan.of("prune")] == ["ConfigMap apps/c"]
    report = "\n".join(report_lines(found))
    assert "the upgrade passes" in report
    assert "example.com/a:1.0" in report
    assert "example.com/a:2.0" in report
    assert found.cluster
    assert found.cluster not in state.names(clusters_folder(os.environ))


@pytest.mark.apiserver
def test_what_cannot_be_patched_is_replaced_and_named(committed: Path, engines_env: Env) -> None:
    deployment = DEPLOYMENT.format(name="a", namespace="apps").replace("{app: a}", "{app: b}")
    add_app(committed, "one", ns=NAMESPACE, a=deployment, c=CONFIG, s=SECRET)
    build(committed, engines_env)
    found = play(committed)
    assert found.passed
    assert found.replaced == ("Deployment/apps/a",)
    assert "`--replace Deployment/apps/a`" in "\n".join(report_lines(found))


@pytest.mark.apiserver
def test_what_the_api_server_refuses_is_found_before_anybody_merges_it(
    committed: Path, engines_env: Env
) -> None:
    deployment = DEPLOYMENT.format(name="a", namespace="apps")
    broken = deployment.replace("replicas: 1", "replicas: -1")
    add_app(committed, "one", ns=NAMESPACE, a=broken, c=CONFIG, s=SECRET)
    build(committed, engines_env)
    found = play(committed)
    assert not found.passed
    assert "Deployment.apps apps/a" in found.refusals[0]
    assert "**does not pass**" in "\n".join(report_lines(found))


@pytest.mark.apiserver
def test_a_commit_without_a_tree_is_a_first_installation(committed: Path, engines_env: Env) -> None:
    git(committed, "rm", "-rq", "--cached", "rendered")
    git(committed, "commit", "-qm", "without")
    build(committed, engines_env)
    found = play(committed)
    assert found.passed
    assert found.before == ""
    assert len(found.plan.of("create")) == 4


def test_a_commit_that_is_not_there_is_one_sentence(committed: Path) -> None:
    with pytest.raises(RehearsalError, match="there is no commit 'v9'; name one with --from"):
        play(committed, "v9")
