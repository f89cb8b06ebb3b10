"""An API server that behaves badly on request, for tests of what talks to it.

The proxy stands in front of a cluster's API server. It can refuse what a `Fail` webhook would be
asked about while nothing serves that webhook, so that apply order is a test that can fail; and it
injects faults: dropped connections, lost answers, delays, 429 with Retry-After, expired watches.
It counts requests by verb, resource and code, which says whether a run made calls it need not.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.dev import state
from argosy.dev.components import HOST
from argosy.dev.errors import ClusterFailed
from argosy.dev.health import last_words
from argosy.dev.process import is_alive, spawn, stop
from argosy.dev.toolchain import ensure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from argosy.dev.cluster import Cluster
    from argosy.dev.process import Process

__all__ = ["Fault", "Proxy", "run"]

START_SECONDS = 60.0
GRACE = 2.0


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What goes wrong with requests; conditions that are not given match all.

    Attributes:
        do: `delay` (delay_ms, jitter_ms), `drop` (the connection, before the server hears of the
            request), `lose` (the answer, after the server has acted), `status` (code,
            retry_after), `expire` (a watch that says 410 in its stream), or `cut` (the answer
            ends after delay_ms, wherever it is).
        verb: get, list, watch, create, update, patch, delete or deletecollection.
        resource: plural name of the resource.
        namespace: the request's namespace.
        name: the object's name.
        path: a regular expression to be found in the path and query (Go's syntax).
        after: how many matching requests go well first.
        times: how many go wrong then; 0 is all.
        delay_ms: milliseconds.
        jitter_ms: up to so many milliseconds more, by chance: requests overtake each other.
        code: HTTP status, 400 to 599.
        retry_after: seconds, for 429 and 503.
    """

    do: str
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    after: int = 0
    times: int = 0
    delay_ms: int = msgspec.field(default=0, name="delayMs")
    jitter_ms: int = msgspec.field(default=0, name="jitterMs")
    code: int = 0
    retry_after: int = msgspec.field(default=0, name="retryAfter")


class Proxy:
    """A proxy that runs."""

    def __init__(self, cluster: Cluster, port: int, process: Process) -> None:
        self.server = f"https://{HOST}:{port}"
        self.kubeconfig = cluster.dir / f"proxy-{port}.kubeconfig"
        self._port, self._process, self._folder = port, process, cluster.dir
        pki = cluster.dir / "pki"
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        text = cluster.kubeconfig.read_text().replace(cluster.server, self.server)
        state.replace(self.kubeconfig, text.encode())

    def set_faults(self, *faults: Fault) -> None:
        """Put these faults in force, and no others."""
        self._ask("PUT", "faults", msgspec.json.encode(faults))

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults in force with `seen` and `hits`, the requests they matched and met."""
        found: list[dict[str, Any]] = self._ask("GET", "faults")
        return found

    def requests(self) -> dict[str, int]:
        """Return how many requests there were, by `verb resource code`; code 0 is a dropped one."""
        found: dict[str, int] = self._ask("GET", "requests")
        return found

    def forget_requests(self) -> None:
        """Count from nothing again."""
        self._ask("DELETE", "requests")

    def wait(self) -> None:
        """Return when the proxy listens.

        Raises:
            ClusterFailed: it does not.
        """
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.requests()
            except ConnectionError:
                if not is_alive(self._process) or time.monotonic() > deadline:
                    said = last_words(self._folder, self._process.name)
                    raise ClusterFailed(f"the proxy did not start: {said}") from None
                time.sleep(0.02)  # a start takes half a second
            else:
                return

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        link = http.client.HTTPSConnection(HOST, self._port, timeout=10, context=self._tls)
        try:
            link.request(method, f"/.argosy/{path}", body=body)
            answer = link.getresponse()
            text = answer.read()
        finally:
            link.close()
        if answer.status != http.HTTPStatus.OK:
            raise ClusterFailed(f"the proxy answers {answer.status}: {text.decode().strip()}")
        return json.loads(text)


@contextmanager
def run(
    cluster: Cluster,
    *,
    webhooks: bool = False,
    port: int = 0,
    env: Mapping[str, str],
    cache: Path | None = None,
) -> Iterator[Proxy]:
    """Run a proxy in front of `cluster` for the time of a `with`.

    Args:
        cluster: what is behind it.
        webhooks: whether to refuse what a webhook that nobody serves would be asked about.
        port: where it listens; 0 is any.
        env: the environment; decides the cache.
        cache: the cache to use instead.

    Raises:
        ClusterFailed: it did not start.
    """
    binary = ensure("cluster", cache=cache, env=env)
    port = port or _free_port()
    name = f"proxy-{port}"
    argv = [
        *(str(binary), "proxy", f"--dir={cluster.dir}", f"--server={cluster.server}"),
        *(f"--listen={HOST}:{port}", f"--webhooks={'true' if webhooks else 'false'}"),
    ]
    process = spawn(name, argv, log=cluster.dir / "logs" / f"{name}.log", env={})
    try:
        proxy = Proxy(cluster, port, process)
        proxy.wait()
        yield proxy
    finally:
        stop([process], grace=GRACE)
        (cluster.dir / f"{name}.kubeconfig").unlink(missing_ok=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
