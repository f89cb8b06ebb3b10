"""What the tests of the API client share: a client of a real cluster, and a server of bytes.

`scripted` answers connections with bytes that a test wrote down, for what a real API server cannot
be made to do: a connection lost in the middle of an answer, a 429 at a chosen moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from argosy.kube import KubeApi, load_kubeconfig
from argosy.kube.config import ClusterConfig
from argosy.kube.transport import Surroundings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devcluster_fixtures import TestCluster


@pytest.fixture
async def api(devcluster: TestCluster, tmp_path: Path) -> AsyncIterator[KubeApi]:
    """A client with all rights, and a discovery cache of its own."""
    async with KubeApi(load_kubeconfig(devcluster.kubeconfig), cache=tmp_path / "cache") as client:
        yield client


def answer(code: int, body: object = None, **headers: str) -> bytes:
    """An HTTP answer as bytes."""
    content = msgspec.json.encode(body if body is not None else {})
    lines = [f"HTTP/1.1 {code} X", "Connection: close", f"Content-Length: {len(content)}"]
    lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
    return "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode() + content


def refusal(code: int, reason: str, message: str = "no", **headers: str) -> bytes:
    """A Status as an HTTP answer."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, status, **headers)


def stream(*events: tuple[str, dict[str, object]]) -> bytes:
    """A watch as a chunked answer that ends well."""
    lines = b"".join(
        msgspec.json.encode({"type": kind, "object": obj}) + b"\n" for kind, obj in events
    )
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(lines), lines)


LOST = b""  # the connection ends without an answer


class Script:
    """A server that gives the next of its answers to each request, and ends each connection.

    `requests` holds the requests' first lines, `heads` all of their headers. `waits` holds what
    the client would have waited between attempts: its sleep returns at once.
    """

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.requests: list[str] = []
        self.heads: list[str] = []
        self.waits: list[float] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            self.requests.append(head.partition(" HTTP/1.1")[0])
            writer.write(self.answers.pop(0))
            await writer.drain()
        writer.close()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def config(self) -> ClusterConfig:
        return ClusterConfig(server=f"http://127.0.0.1:{self.port}")

    def api(self, config: ClusterConfig | None = None) -> KubeApi:
        surroundings = Surroundings(random=lambda: 0.5, sleep=self.sleep)
        return KubeApi(config or self.config(), surroundings=surroundings)


@pytest.fixture
async def scripted() -> AsyncIterator[Script]:
    """A server of bytes on the loopback."""
    script = Script()
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    async with server:
        yield script
