"""Ask a cluster's processes whether they are well, and wait until they are.

Plain `http.client`: what is asked here is a handful of GETs, before and without any of argosy's
own client.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from typing import TYPE_CHECKING, Any

from argosy.dev.components import HOST, Probe
from argosy.dev.errors import ClusterFailed
from argosy.dev.process import Process, is_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["Health", "last_words"]

PAUSE = 0.05  # seconds between two questions; each costs the server a TLS handshake
NOT_YET = (ConnectionError, TimeoutError, ssl.SSLError, http.client.HTTPException)
PATIENCE = 2.0  # seconds for one answer


class Health:
    """The questions one can ask a cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        pki = folder / "pki"
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def is_well(self, probe: Probe) -> bool:
        """Say whether a component answers 200 to its probe."""
        try:
            return self._get(probe.port, probe.path)[0] == http.HTTPStatus.OK
        except NOT_YET:
            return False

    def answers(self, port: int) -> bool:
        """Say whether a server answers at all, ready or not."""
        try:
            return self._get(port, "/livez/ping")[0] == http.HTTPStatus.OK
        except NOT_YET:
            return False

    def nodes_ready(self, port: int, count: int) -> bool:
        """Say whether `count` nodes take pods and the first ServiceAccount is there."""
        try:
            status, body = self._get(port, "/api/v1/nodes")
            account, _ = self._get(port, "/api/v1/namespaces/default/serviceaccounts/default")
        except NOT_YET:
            return False
        if status != http.HTTPStatus.OK or account != http.HTTPStatus.OK:
            return False
        return sum(_takes_pods(node) for node in json.loads(body)["items"]) >= count

    def wait(
        self,
        what: str,
        good: Callable[[], bool],
        *,
        processes: Sequence[Process],
        deadline: float,
    ) -> None:
        """Return when `good` says so.

        Raises:
            ClusterFailed: a process ended meanwhile, or `deadline` (monotonic) has passed.
        """
        while not good():
            for process in processes:
                if not is_alive(process):
                    said = last_words(self._folder, process.name)
                    raise ClusterFailed(
                        f"{process.name} ended at its start: {said}",
                        where=str(self._folder / "logs" / f"{process.name}.log"),
                    )
            if time.monotonic() > deadline:
                raise ClusterFailed(
                    f"{what} did not get ready in time",
                    hint=f"see the logs in {self._folder / 'logs'}",
                )
            time.sleep(PAUSE)

    def _get(self, port: int, path: str) -> tuple[int, bytes]:
        link = http.client.HTTPSConnection(HOST, port, timeout=PATIENCE, context=self._tls)
        try:
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()


def last_words(folder: Path, name: str) -> str:
    """Return the last line of a component's log that says something."""
    try:
        lines = (folder / "logs" / f"{name}.log").read_text(errors="replace").split("\n")
    except FileNotFoundError:
        return "it wrote no log"
    return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote no log")


def _takes_pods(node: dict[str, Any]) -> bool:
    if node["spec"].get("taints"):
        return False
    conditions = node["status"].get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
