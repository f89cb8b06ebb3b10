"""Start a cluster's processes in order, and end them.

What has been started is written down process by process; when the start is interrupted, it is
ended again. The store ends last, when nobody writes to it any more.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from argosy.dev import components, state
from argosy.dev.errors import ClusterFailed
from argosy.dev.health import Health
from argosy.dev.process import find_marked, spawn, stop, uninterrupted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from argosy.dev.state import State
    from argosy.progress import Progress

__all__ = ["halt", "start"]

PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "GOGC")
GRACE = 3.0  # seconds to end by itself; the store is then closed with nobody writing to it
START_SECONDS = 120.0  # a start takes 2; on a machine that compiles it may take 60


def start(
    current: State,
    folder: Path,
    programs: components.Programs,
    env: Mapping[str, str],
    task: str,
    progress: Progress,
) -> None:
    """Start all processes in order; stop them again when that is interrupted."""
    deadline = time.monotonic() + START_SECONDS
    _prepare(current, folder, programs)
    health = Health(folder)
    try:
        _launch(components.FIRST, current, folder, programs, env)
        progress.message(task, "waiting for the API server")
        api = components.Probe(current.ports.api, "/readyz")
        # while the server makes its first roles, the nodes can be made already
        health.wait(
            "the API server",
            lambda: health.answers(current.ports.api),
            processes=current.processes,
            deadline=deadline,
        )
        _launch(components.EARLY, current, folder, programs, env)
        health.wait(
            "the API server",
            lambda: health.is_well(api),
            processes=current.processes,
            deadline=deadline,
        )
        _launch(components.AFTER_API, current, folder, programs, env)
        progress.message(task, "waiting for the nodes")
        health.wait(
            "the nodes",
            lambda: health.nodes_ready(current.ports.api, current.settings.nodes),
            processes=current.processes,
            deadline=deadline,
        )
        current.ready = True
        state.write(folder, current)
    except BaseException:
        halt(folder, current)
        raise


def _prepare(current: State, folder: Path, programs: components.Programs) -> None:
    command = [
        *(str(programs.cluster), "prepare", f"--dir={folder}", f"--name={current.name}"),
        *(f"--server={current.server}", f"--agent-port={current.ports.agent}"),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    if answer.returncode:
        raise ClusterFailed(f"the cluster's certificates: {answer.stderr.strip()}")
    tools = folder / "tools"
    shutil.rmtree(tools, ignore_errors=True)
    tools.mkdir()
    for name, binary in programs.executors:
        (tools / name).symlink_to(binary.resolve())


def _launch(
    names: tuple[str, ...],
    current: State,
    folder: Path,
    programs: components.Programs,
    env: Mapping[str, str],
) -> None:
    passed_on = {key: env[key] for key in PASSED_ON if key in env}
    for name in names:
        argv = components.command(
            name,
            cluster=current.name,
            folder=folder,
            ports=current.ports,
            settings=current.settings,
            programs=programs,
        )
        with uninterrupted():
            log = folder / "logs" / f"{name}.log"
            own = components.TUNING.get(name, {}) | passed_on
            current.processes.append(spawn(name, argv, log=log, env=own))
            state.write(folder, current)


def halt(folder: Path, current: State) -> None:
    """End all processes, the store last, and write down that there are none."""
    stop([p for p in current.processes if p.name != "etcd"], grace=GRACE)
    stop([p for p in current.processes if p.name == "etcd"], grace=GRACE)
    # what pods run for real ends with the agent, unless the agent was killed: then its children's
    # children are left, and known by their PATH
    stop(find_marked(f"{folder}/tools:"), grace=0)
    current.processes, current.ready = [], False
    state.write(folder, current)
