"""The command line: each command helps with an example, and mistakes get one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from argosy.cli.main import COMMANDS, cli

if TYPE_CHECKING:
    from pathlib import Path


def argosy(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "argosy.cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_helps_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0
    assert "Example" in shown.output
    assert f"  argosy {name}" in shown.output
    assert "\\b" not in shown.output


def test_help_lists_every_command_and_loads_none() -> None:
    script = (
        "import sys; from argosy.cli.main import cli; "
        "cli.main(['--help'], standalone_mode=False); "
        "print([m for m in sys.modules if m.startswith('argosy.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    listing, _, modules = done.stdout.rpartition("[")
    assert all(f"  {name} " in listing for name in COMMANDS)
    assert "argosy.platform" not in modules
    assert "argosy.kube" not in modules


def test_an_unknown_command_is_answered_with_the_one_that_was_meant() -> None:
    done = argosy("rendr")
    assert done.returncode == 2
    assert "there is no command 'rendr'; did you mean 'render'?" in done.stderr


def test_a_users_mistake_is_one_line_on_stderr_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "platform.yaml").write_text("apiVersion: argosy.dev/v1\nkind: Platfrom\n")
    done = argosy("render", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("argosy: platform.yaml:2:")
    assert done.stderr.count("\n") == 1


def test_init_writes_a_platform_that_lock_understands(tmp_path: Path) -> None:
    assert argosy("init", "acme", "--preset", "example", cwd=tmp_path).returncode == 0
    folder = tmp_path / "acme"
    assert "name: acme" in (folder / "platform.yaml").read_text()
    again = argosy("init", "acme", "--preset", "example", cwd=tmp_path)
    assert again.returncode == 2
    assert "is already there" in again.stderr
    assert argosy("lock", cwd=folder).returncode == 0
    checked = argosy("lock", "--check", "-o", "json", cwd=folder)
    assert (checked.returncode, json.loads(checked.stdout)) == (0, {"problems": []})


def test_init_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = argosy("init", "acme", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "would write acme/platform.yaml" in done.stdout
    assert not (tmp_path / "acme").exists()


def test_the_schema_is_json() -> None:
    schema = json.loads(argosy("schema").stdout)
    assert schema["title"] == "argosy platform"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m argosy.cli.main schema | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "{\n0\n"
    assert done.stderr == ""
