"""Describe clusters: which of their processes run, whether they are well, what they weigh."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import msgspec

from argosy.dev import components, state
from argosy.dev.cluster import clusters_folder, find
from argosy.dev.health import Health
from argosy.dev.process import is_alive, memory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from argosy.dev.process import Process
    from argosy.dev.state import State

__all__ = ["ClusterStatus", "ComponentStatus", "status"]


class ComponentStatus(msgspec.Struct, frozen=True):
    """One process of a cluster."""

    name: str
    pid: int
    alive: bool
    ready: bool
    memory: int  # resident bytes


class ClusterStatus(msgspec.Struct, frozen=True):
    """One cluster."""

    name: str
    running: bool  # every process runs, and the nodes take pods
    server: str
    kubeconfig: str
    nodes: int
    webhooks: bool
    components: list[ComponentStatus]


def status(
    name: str | None = None, *, env: Mapping[str, str], cache: Path | None = None
) -> list[ClusterStatus]:
    """Return the status of the cluster `name`, or of all.

    Raises:
        UnknownCluster: there is none of that name.
    """
    if name is not None:
        return [_describe(*find(name, env=env, cache=cache))]
    home = clusters_folder(env, cache)
    known = ((home / found, state.read(home / found)) for found in state.names(home))
    return [_describe(folder, current) for folder, current in known if current]


def _describe(folder: Path, current: State) -> ClusterStatus:
    health = _health(folder)
    found = [_component(process, current, health) for process in current.processes]
    return ClusterStatus(
        name=current.name,
        running=current.ready and bool(found) and all(c.ready for c in found),
        server=current.server,
        kubeconfig=str(folder / "kubeconfig"),
        nodes=current.settings.nodes,
        webhooks=current.settings.webhooks,
        components=found,
    )


def _component(process: Process, current: State, health: Health | None) -> ComponentStatus:
    alive = is_alive(process)
    probe = components.probe(process.name, current.ports)
    ready = alive and health is not None
    if ready and health:
        if probe:
            ready = health.is_well(probe)
        elif process.name == "kwok":
            ready = health.nodes_ready(current.ports.api, current.settings.nodes)
    return ComponentStatus(process.name, process.pid, alive, ready, memory(process))


def _health(folder: Path) -> Health | None:
    try:
        return Health(folder)
    except (FileNotFoundError, ssl.SSLError):
        return None  # the cluster's start did not get as far as certificates
