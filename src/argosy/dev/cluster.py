"""Start, stop and describe named clusters: a real control plane with simulated nodes.

Clusters live side by side below `<cache>/clusters/<name>/` (kubeconfig, pki, logs, etcd,
volumes, state.json) and on ports of their own. What `up` has started when it is interrupted is
stopped; what a killed `up` left is found by the next command. `down` returns when the processes
are gone.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from argosy.dev import components, ports, state
from argosy.dev.errors import ClusterFailed, UnknownCluster
from argosy.dev.health import Health
from argosy.dev.places import cache_root
from argosy.dev.process import find_marked, is_alive, spawn, stop, uninterrupted
from argosy.dev.state import Settings, State
from argosy.dev.toolchain import ensure
from argosy.errors import UsageError
from argosy.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Cluster", "clusters_folder", "down", "find", "reset", "up"]

START_SECONDS = 120.0  # a start takes 2; on a machine that compiles it may take 60
GRACE = 3.0  # seconds to end by itself; the store is then closed with nobody writing to it
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG")


class Cluster(NamedTuple):
    """A cluster that runs."""

    name: str
    dir: Path
    kubeconfig: Path
    server: str


def clusters_folder(env: Mapping[str, str], cache: Path | None = None) -> Path:
    """Return the folder that holds the clusters' folders."""
    return (cache or cache_root(env)) / "clusters"


def find(name: str, *, env: Mapping[str, str], cache: Path | None = None) -> tuple[Path, State]:
    """Return the folder and the state of a cluster.

    Raises:
        UnknownCluster: there is none of that name.
    """
    state.check_name(name)
    home = clusters_folder(env, cache)
    found = state.read(home / name)
    if found is None:
        known = ", ".join(state.names(home)) or "none yet"
        raise UnknownCluster(f"there is no cluster {name!r} (clusters: {known})")
    return home / name, found


def up(
    name: str = "default",
    *,
    nodes: int | None = None,
    webhooks: bool | None = None,
    assets: Path | None = None,
    env: Mapping[str, str],
    cache: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Cluster:
    """Start the cluster `name` and return when its API server and its nodes are ready.

    A cluster that runs is returned as it is; one that was stopped goes on with its data.

    Args:
        name: what the cluster is called.
        nodes: how many simulated nodes (None: as before, at first 3).
        webhooks: whether admission webhooks are called (None: as before, at first not).
        assets: a folder with `etcd` and `kube-apiserver` to use instead of argosy's own.
        env: the environment; decides the cache and is asked for Go.
        cache: the cache to use instead.
        progress: told what is being waited for.

    Raises:
        UsageError: the cluster runs already with other settings, or the name is impossible.
        ClusterFailed: a process did not start.
        BuildFailed: the cluster's binary could not be built.
    """
    state.check_name(name)
    home = clusters_folder(env, cache)
    binary = ensure("cluster", cache=cache, env=env, progress=progress)
    programs = components.Programs(binary, _check_assets(assets))
    with _lock(home, name):
        folder = home / name
        old = state.read(folder)
        settings = _settings(old, nodes=nodes, webhooks=webhooks, assets=assets)
        if old and old.ready and all(map(is_alive, old.processes)):
            if old.settings != settings:
                raise UsageError(
                    f"the cluster {name!r} runs with other settings",
                    hint=f"stop it first: argosy dev down --name {name}",
                )
            return _describe(old, folder)
        task = f"start cluster {name}"
        progress.start(task)
        current = _claim(home, name, settings, old)
        _start(current, folder, programs, env, task, progress)
        progress.finish(task, current.server)
        return _describe(current, folder)


def down(
    name: str = "default",
    *,
    delete: bool = False,
    env: Mapping[str, str],
    cache: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> bool:
    """Stop the cluster `name`; return whether anything ran.

    Args:
        name: what the cluster is called.
        delete: whether to delete its data as well.
        env: the environment; decides the cache.
        cache: the cache to use instead.
        progress: told what is being waited for.

    Raises:
        UnknownCluster: there is none of that name.
    """
    find(name, env=env, cache=cache)
    home = clusters_folder(env, cache)
    with _lock(home, name):
        folder, current = find(name, env=env, cache=cache)
        ran = any(map(is_alive, current.processes))
        if ran:
            progress.start(f"stop cluster {name}")
            _stop(folder, current)
            progress.finish(f"stop cluster {name}")
        if delete:
            shutil.rmtree(folder)
    return ran


def reset(
    name: str = "default",
    *,
    env: Mapping[str, str],
    cache: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Cluster:
    """Delete all data of the cluster `name` and start it again with the same settings.

    Raises:
        UnknownCluster: there is none of that name.
        ClusterFailed: a process did not start.
    """
    _, current = find(name, env=env, cache=cache)
    kept = current.settings
    down(name, delete=True, env=env, cache=cache, progress=progress)
    return up(
        name,
        nodes=kept.nodes,
        webhooks=kept.webhooks,
        assets=Path(kept.assets) if kept.assets else None,
        env=env,
        cache=cache,
        progress=progress,
    )


def _settings(
    old: State | None, *, nodes: int | None, webhooks: bool | None, assets: Path | None
) -> Settings:
    settings = old.settings if old else Settings()
    if nodes is not None:
        if nodes < 1:
            raise UsageError(f"a cluster has at least one node, not {nodes}")
        settings = msgspec.structs.replace(settings, nodes=nodes)
    if webhooks is not None:
        settings = msgspec.structs.replace(settings, webhooks=webhooks)
    if assets is not None:
        settings = msgspec.structs.replace(settings, assets=str(assets))
    return settings


def _check_assets(assets: Path | None) -> Path | None:
    for name in components.FIRST if assets else ():
        if assets and not (assets / name).is_file():
            raise UsageError(f"{assets} has no {name}", hint="KUBEBUILDER_ASSETS holds both")
    return assets


def _describe(current: State, folder: Path) -> Cluster:
    return Cluster(current.name, folder, folder / "kubeconfig", current.server)


def _claim(home: Path, name: str, settings: Settings, old: State | None) -> State:
    """Write the cluster down with ports of its own, its old ones where they are free."""
    folder = home / name
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    if old:
        _stop(folder, old)
    with _lock(home, ""):
        if old and ports.all_free(old.ports):
            chosen = old.ports
        else:
            others = (state.read(home / other) for other in state.names(home) if other != name)
            chosen = ports.choose((o.ports for o in others if o), seed=str(folder))
        current = State(name, chosen, settings)
        state.write(folder, current)
    return current


def _start(
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
        _stop(folder, current)
        raise


def _prepare(current: State, folder: Path, programs: components.Programs) -> None:
    command = [
        *(str(programs.cluster), "prepare", f"--dir={folder}", f"--name={current.name}"),
        *(f"--server={current.server}", f"--agent-port={current.ports.agent}"),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    if answer.returncode:
        raise ClusterFailed(f"the cluster's certificates: {answer.stderr.strip()}")


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
            current.processes.append(spawn(name, argv, log=log, env=passed_on))
            state.write(folder, current)


def _stop(folder: Path, current: State) -> None:
    """End all processes, the store last, and write down that there are none."""
    stop([p for p in current.processes if p.name != "etcd"], grace=GRACE)
    stop([p for p in current.processes if p.name == "etcd"], grace=GRACE)
    # what pods run for real ends with the agent, unless the agent was killed: then its children's
    # children are left, and known by their PATH
    stop(find_marked(f"{folder}/tools:"), grace=0)
    current.processes, current.ready = [], False
    state.write(folder, current)


@contextmanager
def _lock(home: Path, name: str) -> Iterator[None]:
    """Let one command at a time change a cluster; the empty name is for choosing ports."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / f".{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
