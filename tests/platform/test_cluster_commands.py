"""What the commands that talk to a cluster print: one JSON document, and plans worth reading."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from argosy.cli.apply import command as apply_command
from argosy.cli.delete import command as delete_command
from argosy.cli.status import command as status_command
from argosy.platform.config import load_platform
from argosy.platform.render import render
from platforms import DEPLOYMENT, add_app, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    import click

    from devcluster_fixtures import TestCluster

pytestmark = pytest.mark.apiserver
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: cc-json}\n"
CONFIG = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: cc-json}\ndata: {on: yes!}\n"
)


@pytest.fixture
def root(tmp_path: Path, engines_env: dict[str, str]) -> Path:
    """A rendered platform of a namespace, a ConfigMap and a Deployment."""
    made = write_platform(tmp_path / "cc-json", "{name: one, path: apps/one}")
    web = DEPLOYMENT.format(name="web", namespace="cc-json")
    add_app(made, "one", space=SPACE, config=CONFIG, web=web)
    render(load_platform(made), cache=tmp_path / "cache", env=engines_env)
    return made


def test_json_is_one_document_with_what_was_done(root: Path, devcluster: TestCluster) -> None:
    def run(command: click.Command, *arguments: str, code: int = 0) -> Any:
        place = ["-C", str(root), "--kubeconfig", str(devcluster.kubeconfig), "-o", "json"]
        done = CliRunner().invoke(command, [*place, *arguments], catch_exceptions=False)
        assert (done.return_value if done.return_value is not None else done.exit_code) == code
        return json.loads(done.stdout) if done.stdout else done.stderr

    planned = run(apply_command, "--dry-run")
    assert "result" not in planned
    assert "say --yes" in run(apply_command, code=2)
    made = run(apply_command, "--yes", "--replace", "deploy/cc-json/wep")
    assert sorted(made["result"]["applied"]) == [
        "ConfigMap cc-json/a",
        "Deployment.apps cc-json/web",
        "Namespace cc-json",
    ]
    assert made["notes"] == [
        (
            "--replace deploy/cc-json/wep: nothing of this name is rendered; "
            "did you mean 'Deployment/cc-json/web'?"
        )
    ]
    assert run(status_command)["apps"][0]["health"] == "healthy"
    looked = run(delete_command, "--dry-run")
    assert looked["keep"] == ["Namespace cc-json"]
    assert looked["deleted"] == []
    assert "say --yes" in run(delete_command, code=2)
    gone = run(delete_command, "--yes", "--delete", "ns/cc-json")
    assert sorted(gone["deleted"]) == sorted(gone["delete"])
    assert len(gone["deleted"]) == 3
    assert run(delete_command, "--yes")["delete"] == []


def test_a_dry_run_shows_values_as_json_and_the_order_of_what_is_done(
    root: Path, devcluster: TestCluster, tmp_path: Path, engines_env: dict[str, str]
) -> None:
    place = ["-C", str(root), "--kubeconfig", str(devcluster.kubeconfig)]
    CliRunner().invoke(apply_command, [*place, "--yes"], catch_exceptions=False)
    web = DEPLOYMENT.format(name="web", namespace="cc-json") + "      hostNetwork: false\n"
    add_app(root, "one", space=SPACE, config=CONFIG.replace("{on: yes!}", '{on: "3"}'), web=web)
    render(load_platform(root), cache=tmp_path / "cache", env=engines_env)
    shown = CliRunner().invoke(apply_command, [*place, "--dry-run"], catch_exceptions=False).stdout
    assert 'data.on: "yes!" -> "3"' in shown
    assert shown.splitlines()[-1] == "wave 1: 2 objects: 1 ConfigMap, 1 Deployment"
    CliRunner().invoke(delete_command, [*place, "--yes", "--delete-namespaces"])
