"""Start a part of argosy from the checkout beside a cluster, for people who develop on it.

A part that can be started is a package of argosy with a `__main__`. It is given the cluster's
kubeconfig in KUBECONFIG and runs until it is interrupted. The debugger port needs the library
debugpy: Python's own debugger has no remote side.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING

from argosy.dev.errors import UnknownPart
from argosy.dev.places import PACKAGE
from argosy.errors import UsageError
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["command", "find_parts", "run"]


def find_parts(package: Path = PACKAGE) -> list[str]:
    """Return the names of all parts that can be started."""
    return sorted(main.parent.name for main in package.glob("*/__main__.py"))


def command(part: str, *, debug_port: int | None = None, package: Path = PACKAGE) -> list[str]:
    """Return the command line that starts `part`, listening for a debugger on `debug_port`.

    Raises:
        UnknownPart: argosy has no such part.
        UsageError: a debugger is asked for, and debugpy is not installed.
    """
    known = find_parts(package)
    if part not in known:
        listed = f"parts that can be started: {', '.join(known)}" if known else "no part has one"
        hint = " ".join([listed, did_you_mean(part, known)]).strip()
        raise UnknownPart(f"argosy has no part {part!r} with a program of its own", hint=hint)
    start = ["-m", f"argosy.{part}"]
    if debug_port is None:
        return [sys.executable, *start]
    if importlib.util.find_spec("debugpy") is None:
        raise UsageError(
            "a debugger port needs debugpy, which is not installed",
            hint="pip install debugpy, or leave ARGOSY_DEBUG_PORT unset",
        )
    return [sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{debug_port}", *start]


def run(argv: list[str], *, kubeconfig: Path, env: Mapping[str, str]) -> int:
    """Run a part in the foreground and return its exit code."""
    variables = {**env, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run(argv, env=variables, check=False).returncode
