"""Run a credential plugin (`client.authentication.k8s.io` v1 and v1beta1) and read its answer.

The plugin gets what kubectl gives it: the environment with its own variables on top, and
KUBERNETES_EXEC_INFO. On a terminal it may talk to the user, unless its interactiveMode is Never.
Refuses an answer of another kind or version, and one with neither a token nor a certificate.
"""

from __future__ import annotations

import asyncio
import shutil
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from argosy.kube.errors import CredentialsError

if TYPE_CHECKING:
    from argosy.kube.config import ExecPlugin

__all__ = ["ExecCredential", "run"]

PATIENCE = 300.0  # seconds; somebody may be typing a second factor
LAST_WORDS = 400  # characters of a failing plugin's own message that we repeat


class ExecCredential(Struct, frozen=True):
    """What a plugin gave: a token, a certificate with its key, or both."""

    token: str
    certificate: bytes
    key: bytes
    expires: float  # seconds since the epoch; infinity when the plugin does not say


class _Status(Struct):
    token: str = ""
    certificate: str = field(default="", name="clientCertificateData")
    key: str = field(default="", name="clientKeyData")
    expires: datetime | None = field(default=None, name="expirationTimestamp")


class _Answer(Struct):
    kind: str = ""
    api_version: str = field(default="", name="apiVersion")
    status: _Status | None = None


async def run(plugin: ExecPlugin, *, interactive: bool) -> ExecCredential:
    """Run `plugin` once.

    Raises:
        CredentialsError: it is not there, failed, took too long, or printed something else.
    """
    if plugin.interactive_mode == "Always" and not interactive:
        raise CredentialsError(
            f"credential plugin {plugin.command} needs a terminal and there is none"
        )
    talks = interactive and plugin.interactive_mode != "Never"
    info = _info(plugin, interactive=talks)
    env = {**plugin.base_env, **dict(plugin.env), "KUBERNETES_EXEC_INFO": info}
    output = await _output(plugin, env, talks=talks)
    return _read(plugin, output)


def _info(plugin: ExecPlugin, *, interactive: bool) -> str:
    spec: dict[str, object] = {"interactive": interactive}
    if plugin.cluster_info is not None:
        spec["cluster"] = plugin.cluster_info
    told = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return msgspec.json.encode(told).decode()


async def _output(plugin: ExecPlugin, env: dict[str, str], *, talks: bool) -> bytes:
    command = plugin.command
    found = shutil.which(command, path=env.get("PATH"))
    hint = plugin.install_hint or None
    if found is None:
        raise CredentialsError(f"there is no credential plugin {command}", hint=hint)
    try:
        process = await asyncio.create_subprocess_exec(
            found,
            *plugin.args,
            env=env,
            stdin=None if talks else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if talks else asyncio.subprocess.PIPE,
        )
    except OSError as e:
        raise CredentialsError(
            f"credential plugin {command} cannot be run: {e.strerror}", hint=hint
        ) from e
    try:
        async with asyncio.timeout(PATIENCE):
            output, words = await process.communicate()
    except TimeoutError as e:
        raise CredentialsError(
            f"credential plugin {command} did not finish in {PATIENCE:.0f} s"
        ) from e
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        said = " ".join((words or b"").decode("utf-8", "replace").split())[-LAST_WORDS:]
        raise CredentialsError(
            f"credential plugin {command} failed with exit code {process.returncode}"
            + (f": {said}" if said else ""),
            hint=hint,
        )
    return output


def _read(plugin: ExecPlugin, output: bytes) -> ExecCredential:
    def refuse(why: str) -> CredentialsError:
        return CredentialsError(f"credential plugin {plugin.command} printed {why}")

    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise refuse(f"no ExecCredential: {e}") from e
    if answer.kind != "ExecCredential":
        raise refuse(f'kind "{answer.kind}", not ExecCredential')
    if answer.api_version != plugin.api_version:
        raise refuse(f"apiVersion {answer.api_version}, and was asked for {plugin.api_version}")
    status = answer.status
    if status is None or not (status.token or status.certificate):
        raise refuse("neither a token nor a certificate")
    if bool(status.certificate) != bool(status.key):
        raise refuse("a certificate without its key, or a key without its certificate")
    expires = status.expires.timestamp() if status.expires else float("inf")
    return ExecCredential(status.token, status.certificate.encode(), status.key.encode(), expires)
