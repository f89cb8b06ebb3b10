"""Send requests to an API server: one session, retries, priorities, counters.

The only module that knows aiohttp. `send` brings a whole answer or a typed error; `stream`
hands out a response as it comes, for watches and logs. Streams do not count against the limit of
requests in flight; everything else does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import argosy
from argosy.kube.auth import Authenticator
from argosy.kube.backoff import Backoff, Sent, retry_after
from argosy.kube.errors import TooManyRequests, Unauthorized, Unreachable, from_status
from argosy.kube.limit import AdaptiveLimit, Priority
from argosy.kube.query import encode
from argosy.kube.stats import Stats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from argosy.kube.config import ClusterConfig
    from argosy.kube.errors import ApiError

__all__ = ["Answer", "Call", "Surroundings", "Transport"]

CONNECT_TIMEOUT = 10.0  # seconds for TCP and TLS; a healthy server takes milliseconds
KEEPALIVE = 30.0  # seconds an idle connection is kept; servers close it after 90, proxies after 60
REQUEST_TIMEOUT = 65.0  # seconds; the server's own limit is 60, webhooks may take 30 of them
FIRST_ATTEMPTS = 2  # attempts while the server never answered: a wrong address should fail soon
LOCAL = ("127.", "localhost", "[::1]")  # compressing on the loopback costs more than it saves


@dataclass(frozen=True)
class Surroundings:
    """Time and chance, as parameters."""

    now: Callable[[], float] = time.time
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True)
class Call:
    """One request, ready to be sent, and what it means to send it twice.

    Args:
        verb: the API verb, for the counters ("apply").
        method: the HTTP method.
        path: the URL's path, quoted.
        where: what a person calls this request, for errors.
        params: the query; values that are "" or False are left out.
        body: the body.
        content_type: its type.
        accept: what we read.
        idempotent: whether doing it twice is doing it once.
        priority: whose turn it is.
        timeout: seconds for one attempt.
    """

    verb: str
    method: str
    path: str
    where: str
    params: Mapping[str, str | bool | int] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    idempotent: bool = True
    priority: Priority = Priority.NORMAL
    timeout: float = REQUEST_TIMEOUT
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Answer:
    """A whole answer below 400. `repeated`: an earlier attempt may have been carried out."""

    code: int
    headers: Mapping[str, str]
    body: bytes
    repeated: bool = False


class Transport:
    """A session with one API server."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        concurrency: int,
        backoff: Backoff,
        interactive: bool,
        surroundings: Surroundings,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self.config = config
        self.stats = Stats()
        self.limit = AdaptiveLimit(concurrency)
        self.surroundings = surroundings
        self._backoff = backoff
        self._on_warning = on_warning
        self._answered = False
        self._auth = Authenticator(config, now=surroundings.now, interactive=interactive)
        self._session: aiohttp.ClientSession | None = None
        self._extra: dict[str, Any] = {}
        if config.proxy:
            self._extra["proxy"] = config.proxy
        if config.tls_server_name:
            self._extra["server_hostname"] = config.tls_server_name
        local = config.server.partition("://")[2].startswith(LOCAL)
        self._headers = (
            ("User-Agent", f"argosy/{argosy.__version__}"),
            ("Accept-Encoding", "gzip" if config.compress and not local else "identity"),
        )

    async def open(self) -> None:
        """Open the session; connections come with the first request."""
        # No limit on connections: the adaptive limit bounds requests, and watches stand beside it
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        # aiohttp would repeat a GET or DELETE without telling: retries are decided and counted here
        self._session._retry_connection = False  # noqa: SLF001

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            for _ in range(2):  # aborted connections close their sockets in the loop's next turns
                await asyncio.sleep(0)

    async def send(self, call: Call) -> Answer:
        """Send a request until it is answered, and return the whole answer.

        Raises:
            ApiError: what the server said, or that it said nothing, after all retries.
            CredentialsError: there are no credentials.
        """
        attempt, repeated, renewed = 1, False, False
        while True:
            epoch = await self.limit.acquire(call.priority)
            try:
                answer, error, sent = await self._attempt(call)
            finally:
                self.limit.release()
            if answer is not None:
                self.limit.speed_up()
                return Answer(answer.code, answer.headers, answer.body, repeated)
            if error is None:
                raise AssertionError("an attempt gives an answer or an error")
            if isinstance(error, TooManyRequests):
                self.limit.slow_down(epoch)
            if isinstance(error, Unauthorized) and not renewed and await self._auth.rejected():
                renewed = True
                continue
            if not self._worth_it(call, attempt, error, sent):
                error.repeated = repeated
                raise error
            repeated = repeated or sent is Sent.MAYBE
            self.stats.retries[call.verb] += 1
            await self.surroundings.sleep(
                self._backoff.delay(attempt, error, self.surroundings.random)
            )
            attempt += 1

    def _worth_it(self, call: Call, attempt: int, error: ApiError, sent: Sent) -> bool:
        if isinstance(error.__cause__, (aiohttp.ClientSSLError, ssl.SSLError)):
            return False
        if isinstance(error, Unreachable) and not self._answered and attempt >= FIRST_ATTEMPTS:
            return False
        return self._backoff.worth_it(attempt, error, idempotent=call.idempotent, sent=sent)

    async def _attempt(self, call: Call) -> tuple[Answer | None, ApiError | None, Sent]:
        try:
            async with await self._request(call, read=None) as response:
                body = await response.read()
                code = response.status
                headers = response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            self.stats.requests[call.verb, 0] += 1
            error = _unreachable(e, call, self.config)
            error.__cause__ = e
            return None, error, _how_far(e)
        self._answered = True
        self.stats.requests[call.verb, code] += 1
        self.stats.bytes_received += len(body)
        if self._on_warning is not None and "Warning" in headers:
            for warning in headers.getall("Warning"):
                self._on_warning(_warning(warning))
        if code < 400:
            return Answer(code, headers, body), None, Sent.ANSWERED
        wait = retry_after(headers.get("Retry-After"))
        return None, from_status(code, body, where=call.where, retry_after=wait), Sent.ANSWERED

    @contextlib.asynccontextmanager
    async def stream(
        self, call: Call, *, idle: float | None
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Send a request once and hand out the body as it comes.

        Args:
            call: the request; its priority and timeout do not count.
            idle: the longest silence in seconds; None waits for ever.

        Raises:
            ApiError: what the server said instead, or that the stream broke.
            CredentialsError: there are no credentials.
        """
        for renewed in (False, True):
            try:
                async with await self._request(call, read=idle, total=False) as response:
                    self._answered = True
                    code = response.status
                    self.stats.requests[call.verb, code] += 1
                    if code < 400:
                        try:
                            yield response.content
                        finally:
                            _abandon(response)
                        return
                    body = await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as e:
                self.stats.requests[call.verb, 0] += 1
                raise _unreachable(e, call, self.config) from e
            if code != 401 or renewed or not await self._auth.rejected():
                wait = retry_after(response.headers.get("Retry-After"))
                raise from_status(code, body, where=call.where, retry_after=wait)

    async def _request(
        self, call: Call, *, read: float | None, total: bool = True
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("use KubeApi as a context manager: `async with KubeApi(...)`")
        headers = CIMultiDict(self._headers)
        headers.extend(await self._auth.headers())
        headers.extend(call.headers)
        headers["Accept"] = call.accept
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        url = self.config.server + call.path
        if query := encode(call.params):
            url = f"{url}?{query}"
        return await self._session.request(
            call.method,
            URL(url, encoded=True),
            data=call.body,
            headers=headers,
            allow_redirects=False,
            ssl=self._auth.ssl or True,
            timeout=aiohttp.ClientTimeout(
                total=call.timeout if total else None,
                sock_connect=CONNECT_TIMEOUT,
                sock_read=read,
            ),
            **self._extra,
        )


def _abandon(response: aiohttp.ClientResponse) -> None:
    """Drop a stream's connection at once: a polite TLS goodbye would outlive the session."""
    connection = response.connection  # None when the stream ended by itself
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _warning(header: str) -> str:
    """Return the text of a Warning header, which is a quoted string behind a code."""
    quoted = re.search(r'"((?:[^"\\]|\\.)*)"', header)
    return re.sub(r"\\(.)", r"\1", quoted.group(1)) if quoted else header


def _how_far(error: Exception) -> Sent:
    nothing = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
    return Sent.NOTHING if isinstance(error, nothing) else Sent.MAYBE


def _unreachable(error: Exception, call: Call, config: ClusterConfig) -> Unreachable:
    server = config.server
    hint = None
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        said = f"TLS with {server} failed: {_reason(error)}"
        hint = "the kubeconfig's certificate-authority is not the one of this server"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        said = f"there is no host {error.host}"
    elif isinstance(error, aiohttp.ClientConnectorError):
        said = f"{server} cannot be reached: {_reason(error)}"
        hint = "is the cluster up?"
    elif isinstance(error, TimeoutError):
        said = f"{server} did not answer in time"
    else:
        said = f"the connection to {server} was lost: {_reason(error)}"
    return Unreachable(said, where=call.where, hint=hint)


def _reason(error: Exception) -> str:
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    if isinstance(inner, ssl.SSLError):
        return (inner.reason or str(inner)).lower().replace("_", " ")
    if isinstance(inner, OSError) and inner.errno and inner.errno > 0:
        return os.strerror(inner.errno).lower()  # asyncio's own text repeats the address
    return str(inner) or type(inner).__name__
