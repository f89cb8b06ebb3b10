"""Start, stop and describe named clusters: a real control plane with simulated nodes.

Clusters live side by side below `<cache>/clusters/<name>/` (kubeconfig, pki, logs, etcd,
volumes, state.json) and on ports of their own. What `up` has started when it is interrupted is
stopped; what a killed `up` left is found by the next command. `down` returns when the processes
are gone.
"""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from argosy.dev import components, ports, state
from argosy.dev.errors import UnknownCluster
from argosy.dev.places import cache_root
from argosy.dev.process import is_alive
from argosy.dev.startup import halt, start
from argosy.dev.state import Settings, State
from argosy.dev.toolchain import ensure
from argosy.errors import UsageError
from argosy.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Cluster", "clusters_folder", "down", "find", "reset", "up"]


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
    executors: Sequence[str] | None = None,
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
        executors: `argo`, `tekton`: build their executors, so that their pods can be run for real
            (None: as before, at first none).
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
    _check_assets(assets)
    binary = ensure("cluster", cache=cache, env=env, progress=progress)
    with _lock(home, name):
        folder = home / name
        old = state.read(folder)
        wanted = Wishes(nodes, webhooks, executors, assets)
        settings = _settings(old.settings if old else Settings(), wanted)
        if old and old.ready and all(map(is_alive, old.processes)):
            if old.settings != settings:
                raise UsageError(
                    f"the cluster {name!r} runs with other settings",
                    hint=f"stop it first: argosy dev down --name {name}",
                )
            return _describe(old, folder)
        task = f"start cluster {name}"
        progress.start(task)
        programs = components.Programs(
            binary,
            Path(settings.assets) if settings.assets else None,
            tuple(_executors(settings, cache, env, progress)),
        )
        current = _claim(home, name, settings, old)
        start(current, folder, programs, env, task, progress)
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
            halt(folder, current)
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
        executors=kept.executors,
        assets=Path(kept.assets) if kept.assets else None,
        env=env,
        cache=cache,
        progress=progress,
    )


class Wishes(NamedTuple):
    """What the caller asked for; None leaves a setting as it was."""

    nodes: int | None
    webhooks: bool | None
    executors: Sequence[str] | None
    assets: Path | None


def _settings(settings: Settings, wanted: Wishes) -> Settings:
    if wanted.nodes is not None and wanted.nodes < 1:
        raise UsageError(f"a cluster has at least one node, not {wanted.nodes}")
    for each in wanted.executors or ():
        if each not in components.EXECUTORS:
            known = ", ".join(components.EXECUTORS)
            raise UsageError(f"there is no executor {each!r} (there are {known})")
    changes = {
        "nodes": wanted.nodes,
        "webhooks": wanted.webhooks,
        "executors": None if wanted.executors is None else tuple(sorted(wanted.executors)),
        "assets": None if wanted.assets is None else str(wanted.assets),
    }
    return msgspec.structs.replace(
        settings, **{key: value for key, value in changes.items() if value is not None}
    )


def _executors(
    settings: Settings, cache: Path | None, env: Mapping[str, str], progress: Progress
) -> Iterator[tuple[str, Path]]:
    for each in settings.executors:
        tool, called = components.EXECUTORS[each]
        yield called, ensure(tool, cache=cache, env=env, progress=progress)


def _check_assets(assets: Path | None) -> None:
    for name in components.FIRST if assets else ():
        if assets and not (assets / name).is_file():
            raise UsageError(f"{assets} has no {name}", hint="KUBEBUILDER_ASSETS holds both")


def _describe(current: State, folder: Path) -> Cluster:
    return Cluster(current.name, folder, folder / "kubeconfig", current.server)


def _claim(home: Path, name: str, settings: Settings, old: State | None) -> State:
    """Write the cluster down with ports of its own, its old ones where they are free."""
    folder = home / name
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    if old:
        halt(folder, old)
    with _lock(home, ""):
        if old and ports.all_free(old.ports):
            chosen = old.ports
        else:
            others = (state.read(home / other) for other in state.names(home) if other != name)
            chosen = ports.choose((o.ports for o in others if o), seed=str(folder))
        current = State(name, chosen, settings)
        state.write(folder, current)
    return current


@contextmanager
def _lock(home: Path, name: str) -> Iterator[None]:
    """Let one command at a time change a cluster; the empty name is for choosing ports."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / f".{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
