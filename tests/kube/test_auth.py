"""Saying who we are: token files that rotate, plugins that expire, headers of all forms."""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from argosy.kube import ClusterConfig, CredentialsError, ExecPlugin, Unauthorized
from argosy.kube.auth import Authenticator
from argosy.kube.config import Credentials, Impersonation

from .conftest import answer, refusal

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Script

V1 = "client.authentication.k8s.io/v1"


def authenticator(credentials: Credentials, now: list[float] | None = None) -> Authenticator:
    clock = now or [1000.0]
    config = ClusterConfig(server="http://127.0.0.1:1", credentials=credentials)
    return Authenticator(config, now=lambda: clock[0], interactive=False)


def plugin(tmp_path: Path, body: str, **more: object) -> Credentials:
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    env = {"PATH": "/usr/bin:/bin"}
    return Credentials(exec=ExecPlugin(str(script), V1, base_env=env, **more))  # type: ignore[arg-type]


def credential(status: str, version: str = V1) -> str:
    return f"""echo '{{"kind":"ExecCredential","apiVersion":"{version}","status":{status}}}'"""


async def test_a_password_is_sent_as_basic_authorization() -> None:
    headers = await authenticator(Credentials(username="jane", password="pw")).headers()
    assert headers == (("Authorization", "Basic amFuZTpwdw=="),)


async def test_impersonation_goes_into_headers() -> None:
    who = Impersonation("jane", ("dev", "ops"), "42", (("reason/x", ("drill",)),))
    headers = await authenticator(Credentials(token="t", impersonate=who)).headers()
    assert headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-reason%2Fx", "drill"),
        ("Authorization", "Bearer t"),
    )


async def test_a_rotated_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file, now = tmp_path / "token", [1000.0]
    file.write_text("one\n")
    auth = authenticator(Credentials(token_file=file), now)
    assert await auth.headers() == (("Authorization", "Bearer one"),)
    file.write_text("two\n")
    assert await auth.headers() == (("Authorization", "Bearer one"),)
    now[0] += 61
    assert await auth.headers() == (("Authorization", "Bearer two"),)
    file.unlink()
    now[0] += 61
    assert await auth.headers() == (("Authorization", "Bearer two"),)


async def test_a_401_reads_a_rotated_token_file_at_once(scripted: Script, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    config = replace(scripted.config(), credentials=Credentials(token_file=file))
    scripted.answers = [answer(200), refusal(401, "Unauthorized"), answer(200)]
    async with scripted.api(config) as api:
        await api.version()
        file.write_text("new")
        await api.version()
    assert ["Bearer old" in h for h in scripted.heads] == [True, True, False]


async def test_a_401_with_nothing_new_to_try_is_raised(scripted: Script) -> None:
    config = replace(scripted.config(), credentials=Credentials(token="t"))
    scripted.answers = [refusal(401, "Unauthorized")]
    async with scripted.api(config) as api:
        with pytest.raises(Unauthorized, match="credentials of the kubeconfig's user"):
            await api.version()


async def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="absent: the token file cannot be read"):
        await authenticator(Credentials(token_file=tmp_path / "absent")).headers()


async def test_a_plugin_is_run_once_until_its_token_expires(tmp_path: Path) -> None:
    body = f'echo run >> "{tmp_path}/runs"\n' + credential(
        '{"token":"t","expirationTimestamp":"1970-01-01T01:00:00Z"}'
    )
    now = [0.0]
    auth = authenticator(plugin(tmp_path, body), now)
    for _ in range(3):
        assert await auth.headers() == (("Authorization", "Bearer t"),)
    assert (tmp_path / "runs").read_text() == "run\n"
    now[0] = 3600.0
    await auth.headers()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


async def test_a_401_runs_the_plugin_again(scripted: Script, tmp_path: Path) -> None:
    body = f'echo run >> "{tmp_path}/runs"\n' + credential('{"token":"t"}')
    config = replace(scripted.config(), credentials=plugin(tmp_path, body))
    scripted.answers = [refusal(401, "Unauthorized"), answer(200)]
    async with scripted.api(config) as api:
        await api.version()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


async def test_a_plugin_gets_its_variables_and_is_told_of_the_cluster(tmp_path: Path) -> None:
    body = (
        f'echo "$REGION $KUBERNETES_EXEC_INFO" > "{tmp_path}/told"\n{credential("{" + TOKEN + "}")}'
    )
    found = plugin(
        tmp_path, body, env=(("REGION", "eu"),), cluster_info={"server": "https://a", "config": 1}
    )
    await authenticator(found).headers()
    told = (tmp_path / "told").read_text()
    assert told.startswith('eu {"kind":"ExecCredential"')
    assert '"interactive":false,"cluster":{"server":"https://a","config":1}' in told


TOKEN = '"token":"t"'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo no token for you >&2; exit 7", "failed with exit code 7: no token for you"),
        ("echo hello", "printed no ExecCredential"),
        (credential("{" + TOKEN + "}", "client.authentication.k8s.io/v1beta1"), "was asked for"),
        (credential("{}"), "printed neither a token nor a certificate"),
        (credential('{"clientCertificateData":"x"}'), "a certificate without its key"),
    ],
)
async def test_a_plugin_that_fails_is_quoted(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        await authenticator(plugin(tmp_path, body)).headers()
    assert said in str(caught.value)
    assert str(tmp_path / "plugin") in str(caught.value)


async def test_a_plugin_that_is_not_there_says_how_to_get_it() -> None:
    found = ExecPlugin("no-such-login", V1, install_hint="apt install login")
    with pytest.raises(CredentialsError, match="no-such-login; apt install login"):
        await authenticator(Credentials(exec=found)).headers()


async def test_a_plugin_that_needs_a_terminal_is_not_run_without_one(tmp_path: Path) -> None:
    found = plugin(tmp_path, credential("{}"), interactive_mode="Always")
    with pytest.raises(CredentialsError, match="needs a terminal"):
        await authenticator(found).headers()


async def test_a_static_token_wins_over_a_plugin(tmp_path: Path) -> None:
    found = plugin(tmp_path, "exit 1")
    headers = await authenticator(replace(found, token="static")).headers()
    assert headers == (("Authorization", "Bearer static"),)
