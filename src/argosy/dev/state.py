"""What is written down about a cluster, in `state.json` of its folder.

The file is replaced whole, after each process that is started, so that whoever comes next knows
what to end however the last command ended.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import msgspec

from argosy.dev.errors import BadClusterName
from argosy.dev.process import Process

__all__ = ["Ports", "Settings", "State", "check_name", "names", "read", "write"]

FILE = "state.json"
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class Ports(msgspec.Struct, frozen=True):
    """Where the cluster's processes listen, all on loopback."""

    api: int
    etcd: int
    etcd_peer: int
    controller_manager: int
    scheduler: int
    agent: int


class Settings(msgspec.Struct, frozen=True):
    """What the user chose for a cluster."""

    nodes: int = 3
    webhooks: bool = False
    executors: tuple[str, ...] = ()  # argo, tekton: what their pods start with
    assets: str = ""  # folder with etcd and kube-apiserver to use instead of ours


class State(msgspec.Struct):
    """A cluster as it was last left."""

    name: str
    ports: Ports
    settings: Settings = msgspec.field(default_factory=Settings)
    processes: list[Process] = msgspec.field(default_factory=list)
    ready: bool = False  # `up` came to its end

    @property
    def server(self) -> str:
        """Return the URL of the API server."""
        return f"https://127.0.0.1:{self.ports.api}"


def check_name(name: str) -> None:
    """Refuse a name that cannot be a folder, a context and a label.

    Raises:
        BadClusterName: it is not letters, digits and dashes.
    """
    if not NAME.fullmatch(name):
        raise BadClusterName(
            f"{name!r} cannot be a cluster's name",
            hint="use up to 40 small letters, digits and dashes",
        )


def read(folder: Path) -> State | None:
    """Return what is known of the cluster in `folder`, None when there is none."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=State)
    except FileNotFoundError:
        return None


def write(folder: Path, state: State) -> None:
    """Write it down, whole or not at all."""
    replace(folder / FILE, msgspec.json.format(msgspec.json.encode(state), indent=2))


def replace(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(fresh).replace(path)


def names(clusters: Path) -> list[str]:
    """Return the names of all clusters below the folder `clusters`."""
    return sorted(p.parent.name for p in clusters.glob(f"*/{FILE}"))
