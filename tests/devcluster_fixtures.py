"""A running cluster for the tests of a session, and a namespace of its own for each test.

tests/conftest.py makes them available to all tests, once: a second import would be a second
fixture. Tests that use them carry the marker `apiserver`. One cluster serves a whole session (a
worker of pytest-xdist is a session); it is deleted at the end, and what a killed session left is
deleted by the next one.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from argosy.dev import cluster, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Api", "TestCluster", "devcluster", "namespace", "start_cluster"]

PATIENCE = 60.0  # seconds for a controller to do what takes it one


class Api:
    """A few plain requests to the API server, independent of the client under test."""

    def __init__(self, found: cluster.Cluster) -> None:
        self.server = found.server
        pki = found.dir / "pki"
        self._host, self._port = found.server.removeprefix("https://").split(":")
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def request(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json"
    ) -> tuple[int, bytes]:
        """Return the status and the body of one answer."""
        link = self._connect(PATIENCE)
        try:
            data = None if body is None else json.dumps(body).encode()
            link.request(method, path, body=data, headers={"Content-Type": kind})
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()

    def get(self, path: str) -> Any:
        """Return the object at `path`."""
        return self._good("GET", path)

    def create(self, path: str, body: Any) -> Any:
        """Create an object in the collection at `path`."""
        return self._good("POST", path, body)

    def merge(self, path: str, body: Any) -> Any:
        """Change an object by a merge patch."""
        return self._good("PATCH", path, body, kind="application/merge-patch+json")

    def delete(self, path: str) -> Any:
        """Delete an object."""
        return self._good("DELETE", path)

    def wait(self, path: str, name: str, good: Callable[[Any], bool]) -> Any:
        """Return the object `name` in the collection `path` as soon as `good` says so.

        `good` is given None when the object is not there.
        """
        deadline = time.monotonic() + PATIENCE
        seen: Any = None
        while time.monotonic() < deadline:
            listed = self.get(f"{path}?fieldSelector=metadata.name={name}")
            seen = next(iter(listed["items"]), None)
            if good(seen):
                return seen
            for seen in self._watch(path, name, listed["metadata"]["resourceVersion"], deadline):
                if good(seen):
                    return seen
        raise AssertionError(f"{path}/{name} did not get there; last seen: {json.dumps(seen)}")

    def _watch(self, path: str, name: str, version: str, deadline: float) -> Iterator[Any]:
        link = self._connect(max(0.1, deadline - time.monotonic()))
        query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={version}"
        try:
            link.request("GET", f"{path}?{query}")
            for line in link.getresponse():
                event = json.loads(line)
                yield None if event["type"] == "DELETED" else event["object"]
        except TimeoutError:
            return
        finally:
            link.close()

    def _good(self, *args: Any, **options: Any) -> Any:
        status, body = self.request(*args, **options)
        assert status < 300, f"{args[:2]}: {status} {body.decode(errors='replace')}"
        return json.loads(body)

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, int(self._port), timeout=timeout, context=self._tls
        )


class TestCluster(NamedTuple):
    """A cluster that runs while the test does."""

    __test__ = False

    name: str
    dir: Path
    kubeconfig: Path
    server: str
    api: Api


def start_cluster(label: str = "", **options: Any) -> TestCluster:
    """Start a cluster for tests; its name says which process it belongs to."""
    name = f"test-{os.getpid()}{label and '-' + label}"
    found = cluster.up(name, env=os.environ, **options)
    return TestCluster(*found, Api(found))


@pytest.fixture(scope="session")
def devcluster() -> Iterator[TestCluster]:
    """Return a running cluster that all tests of the session share."""
    _forget_dead_sessions()
    found = start_cluster()
    yield found
    cluster.down(found.name, delete=True, env=os.environ)


@pytest.fixture
def namespace(devcluster: TestCluster) -> Iterator[str]:
    """Return a fresh namespace with its ServiceAccount; it is deleted behind the test's back."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    devcluster.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    devcluster.api.wait(f"/api/v1/namespaces/{name}/serviceaccounts", "default", bool)
    yield name
    devcluster.api.delete(f"/api/v1/namespaces/{name}")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _forget_dead_sessions() -> None:
    for name in state.names(cluster.clusters_folder(os.environ)):
        owner = re.match(r"test-(\d+)(-|$)", name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            cluster.down(name, delete=True, env=os.environ)
