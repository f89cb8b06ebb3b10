"""Choose ports for a cluster.

They are taken below the range that Linux gives to outgoing connections, so that none is taken
away between choosing and listening, and never from another cluster that may be started again.
"""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

from argosy.dev.state import Ports
from argosy.errors import OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["all_free", "choose"]

RANGE = range(21000, 32000)  # net.ipv4.ip_local_port_range starts at 32768


def choose(taken: Iterable[Ports], *, seed: str) -> Ports:
    """Return ports that are free and belong to no other cluster.

    Raises:
        OutsideError: the range is full.
    """
    used = {port for ports in taken for port in _numbers(ports)}
    order = list(RANGE)
    random.Random(seed).shuffle(order)  # noqa: S311  # no secret: a cluster keeps to its place
    found: list[int] = []
    for port in order:
        if port not in used and _free(port):
            found.append(port)
            if len(found) == len(Ports.__struct_fields__):
                return Ports(*found)
    raise OutsideError(f"there are no free ports between {RANGE.start} and {RANGE.stop}")


def all_free(ports: Ports) -> bool:
    """Say whether the cluster can have its old ports back."""
    return all(_free(port) for port in _numbers(ports))


def _numbers(ports: Ports) -> list[int]:
    return [getattr(ports, field) for field in ports.__struct_fields__]


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
