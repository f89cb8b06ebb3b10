"""Say who we are on each request: tokens, token files, passwords, certificates, plugins.

A token file is read again once a minute, as the kubelet rotates it; when it cannot be read, the
last token stands. A plugin's credentials are kept until they expire or the server answers 401.
Refuses a plugin that is missing, fails, or prints something other than an ExecCredential.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from argosy.kube.errors import CredentialsError
from argosy.kube.tls import client_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from argosy.kube.config import ClusterConfig, Impersonation
    from argosy.kube.execplugin import ExecCredential

__all__ = ["Authenticator", "Headers"]

Headers: TypeAlias = "tuple[tuple[str, str], ...]"

TOKEN_FILE_PERIOD = 60.0  # seconds; kubectl's and client-go's period


class Authenticator:
    """The credentials of one cluster, kept fresh.

    Args:
        config: whose credentials.
        now: seconds since the epoch, as `time.time` gives them.
        interactive: whether a plugin may talk to the user on the terminal.
    """

    def __init__(
        self, config: ClusterConfig, *, now: Callable[[], float], interactive: bool
    ) -> None:
        self._config = config
        self._now = now
        self._interactive = interactive
        self._lock = asyncio.Lock()
        self._token = config.credentials.token
        self._read_at = float("-inf")
        self._plugin: ExecCredential | None = None
        self._base = _static_headers(config)
        self._context = client_context(config) if config.server.startswith("https:") else None

    @property
    def ssl(self) -> ssl.SSLContext | None:
        """Return the TLS context to use now; None for plain HTTP."""
        return self._context

    async def headers(self) -> Headers:
        """Return the headers that say who we are.

        Raises:
            CredentialsError: the plugin or the token file gives nothing.
        """
        credentials = self._config.credentials
        if credentials.token_file is not None:
            self._read_token_file()
        token = self._token
        if not token and credentials.exec is not None and not credentials.username:
            token = (await self._from_plugin()).token
        return (*self._base, ("Authorization", f"Bearer {token}")) if token else self._base

    async def rejected(self) -> bool:
        """Take note that the server said 401; return whether there is something new to try."""
        credentials = self._config.credentials
        if credentials.token_file is not None:
            before, self._read_at = self._token, float("-inf")
            self._read_token_file()
            return self._token != before
        if credentials.exec is None or self._plugin is None:
            return False
        self._plugin = None
        return True

    def _read_token_file(self) -> None:
        path = self._config.credentials.token_file
        if path is None or self._now() - self._read_at < TOKEN_FILE_PERIOD:
            return
        try:
            token = path.read_text().strip()
        except OSError as e:
            if self._token:
                return
            raise CredentialsError(
                f"the token file cannot be read: {e.strerror}", where=str(path)
            ) from e
        if not token and not self._token:
            raise CredentialsError("the token file is empty", where=str(path))
        self._token = token or self._token
        self._read_at = self._now()

    async def _from_plugin(self) -> ExecCredential:
        from argosy.kube import execplugin

        plugin = self._config.credentials.exec
        if plugin is None:
            raise CredentialsError("there is no credential plugin")
        async with self._lock:
            kept = self._plugin
            if kept is None or kept.expires <= self._now():
                kept = self._plugin = await execplugin.run(plugin, interactive=self._interactive)
                if kept.certificate:
                    self._context = client_context(
                        self._config, certificate=kept.certificate, key=kept.key
                    )
            return kept


def _static_headers(config: ClusterConfig) -> Headers:
    credentials = config.credentials
    headers: Headers = ()
    if credentials.username or credentials.password:
        pair = f"{credentials.username}:{credentials.password}".encode()
        headers = (("Authorization", f"Basic {base64.b64encode(pair).decode()}"),)
    return headers + _impersonation(credentials.impersonate)


def _impersonation(who: Impersonation | None) -> Headers:
    if who is None:
        return ()
    return (
        ("Impersonate-User", who.user),
        *(("Impersonate-Uid", uid) for uid in (who.uid,) if uid),
        *(("Impersonate-Group", group) for group in who.groups),
        *((f"Impersonate-Extra-{quote(k, safe='')}", v) for k, vs in who.extra for v in vs),
    )
