"""Decide which server to talk to and as whom: from kubeconfig files, or from inside a pod.

Refuses, each with one sentence and the file: no configuration at all, a context, cluster or user
that is not there, two forms of one thing that kubectl refuses too (a file and its data, a token
and a password, a CA and no verification), `auth-provider` (removed from kubectl in 1.26), and
proxies that are not HTTP.
Reads files and the environment that it is given; opens no connection and runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from argosy.kube import kubeconfig as files
from argosy.kube.errors import KubeconfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "SERVICE_ACCOUNT",
    "ClusterConfig",
    "Credentials",
    "ExecPlugin",
    "Impersonation",
    "load_in_cluster",
    "load_kubeconfig",
]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"  # the cluster extension that plugins are told


@dataclass(frozen=True)
class ExecPlugin:
    """A credential plugin: what to run, and what to tell it."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster_info: dict[str, Any] | None = field(default=None, repr=False)
    base_env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Impersonation:
    """Whom we act for (`as`, `as-groups`, `as-uid`, `as-user-extra`)."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Credentials:
    """How we say who we are. A static token wins over a plugin's, a token file over both."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    exec: ExecPlugin | None = None
    impersonate: Impersonation | None = None


@dataclass(frozen=True)
class ClusterConfig:
    """A server, how to trust it, and who we are there."""

    server: str
    ca: bytes = field(default=b"", repr=False)
    insecure: bool = False
    tls_server_name: str = ""
    proxy: str = ""
    compress: bool = True
    credentials: Credentials = field(default_factory=Credentials)
    namespace: str = "default"
    context: str = ""
    cluster: str = ""
    user: str = ""
    origin: str = ""
    cache: Path | None = None

    @property
    def title(self) -> str:
        """Return what a person calls this: the context's name, else the server."""
        return self.context or self.server


def load_kubeconfig(
    path: str | Path | None = None,
    context: str | None = None,
    env: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """Return the configuration that kubectl would use.

    Args:
        path: the kubeconfig that the user named; None takes KUBECONFIG's list, then
            ~/.kube/config, then the pod that we run in.
        context: the context's name; None takes `current-context`.
        env: the environment (KUBECONFIG, HOME, proxies, and what credential plugins inherit).

    Raises:
        KubeconfigError: there is none, or it cannot be used; says which file and why.
    """
    env = env or {}
    names = _files(path, env)
    config = files.read(names, required=path is not None)
    if not config.files or not (config.contexts or config.clusters or config.users):
        if path is None and not context and "KUBERNETES_SERVICE_HOST" in env:
            return load_in_cluster(env)
        where = ", ".join(str(n) for n in names)
        raise KubeconfigError(
            "there is no kubeconfig, or it is empty",
            where=where,
            hint="name one with --kubeconfig or KUBECONFIG",
        )
    return _choose(config, context, env)


def load_in_cluster(env: Mapping[str, str], *, directory: Path = SERVICE_ACCOUNT) -> ClusterConfig:
    """Return the configuration of a pod: its service account, read again as it is rotated.

    Raises:
        KubeconfigError: this is no pod, or it has no service account token.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "")
    token, ca = directory / "token", directory / "ca.crt"
    if not host or not port:
        raise KubeconfigError("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")
    if not token.is_file():
        raise KubeconfigError(
            "the pod has no service account token",
            where=str(token),
            hint="set automountServiceAccountToken, or name a kubeconfig",
        )
    namespace = directory / "namespace"
    return ClusterConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=ca.read_bytes() if ca.is_file() else b"",
        credentials=Credentials(token_file=token),
        namespace=(namespace.read_text().strip() if namespace.is_file() else "") or "default",
        context="in-cluster",
        origin=str(directory),
        cache=_cache(env),
    )


def _files(path: str | Path | None, env: Mapping[str, str]) -> list[Path]:
    if path is not None:
        return [Path(path).expanduser()]
    listed = [Path(p) for p in env.get("KUBECONFIG", "").split(":") if p]
    if listed:
        return list(dict.fromkeys(listed))
    return [Path(env["HOME"], ".kube", "config")] if env.get("HOME") else []


def _choose(config: files.Kubeconfig, wanted: str | None, env: Mapping[str, str]) -> ClusterConfig:
    where = ", ".join(str(f) for f in config.files)
    name = wanted or config.current_context
    if not name:
        raise KubeconfigError(
            "the kubeconfig sets no current-context",
            where=where,
            hint=f"name one with --context: {_names(config.contexts)}",
        )
    if name not in config.contexts:
        said = "there is no context" if wanted else "current-context names no context:"
        raise KubeconfigError(
            f'{said} "{name}"', where=where, hint=f"there are: {_names(config.contexts)}"
        )
    context, source = config.contexts[name]
    for what, key, there in (
        ("cluster", context.cluster, config.clusters),
        ("user", context.user, config.users),
    ):
        if key not in there and (key or what == "cluster"):
            raise KubeconfigError(
                f'context "{name}" names {what} "{key}", which is not there',
                where=str(source.file),
                hint=f"there are: {_names(there)}",
            )
    return _build(config, name, env)


def _build(config: files.Kubeconfig, name: str, env: Mapping[str, str]) -> ClusterConfig:
    context, origin = config.contexts[name]
    cluster, source = config.clusters[context.cluster]
    user, user_source = config.users.get(context.user, (files.User(), origin))
    server = cluster.server.rstrip("/") or "http://localhost:8080"
    if urlsplit(server).scheme not in {"http", "https"}:
        server = f"https://{server}" if ":443" in server else f"http://{server}"
    ca = _one_of(
        source, f'cluster "{context.cluster}"', "certificate-authority",
        cluster.certificate_authority, cluster.certificate_authority_data,
    )  # fmt: skip
    if ca and cluster.insecure_skip_tls_verify:
        raise KubeconfigError(
            f'cluster "{context.cluster}" has a certificate authority and insecure-skip-tls-verify',
            where=str(source.file),
            hint="leave one of them out",
        )
    return ClusterConfig(
        server=server,
        ca=ca,
        insecure=cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name,
        proxy=_proxy(cluster.proxy_url, server, env, str(source.file)),
        compress=not cluster.disable_compression,
        credentials=_credentials(user, context.user, user_source, cluster, ca, env),
        namespace=context.namespace or "default",
        context=name,
        cluster=context.cluster,
        user=context.user,
        origin=str(origin.file),
        cache=_cache(env),
    )


def _credentials(
    user: files.User,
    name: str,
    source: files.Source,
    cluster: files.Cluster,
    ca: bytes,
    env: Mapping[str, str],
) -> Credentials:
    who = f'user "{name}"'
    where = str(source.file)
    if user.auth_provider is not None:
        provider = user.auth_provider.get("name", "")
        raise KubeconfigError(
            f'{who} uses auth-provider "{provider}", which Kubernetes removed in 1.26',
            where=where,
            hint="use the provider's credential plugin (exec)",
        )
    if (user.username or user.password) and (user.token or user.token_file):
        raise KubeconfigError(f"{who} has a token and a password", where=where)
    certificate = _one_of(
        source, who, "client-certificate", user.client_certificate, user.client_certificate_data
    )
    key = _one_of(source, who, "client-key", user.client_key, user.client_key_data)
    if bool(certificate) != bool(key):
        there, missing = ("certificate", "key") if certificate else ("key", "certificate")
        raise KubeconfigError(f"{who} has a client {there} and no client {missing}", where=where)
    if not user.as_ and (user.as_groups or user.as_uid or user.as_user_extra):
        raise KubeconfigError(f"{who} impersonates groups without a user (as)", where=where)
    return Credentials(
        token=user.token,
        token_file=source.path(user.token_file) if user.token_file else None,
        username=user.username,
        password=user.password,
        certificate=certificate,
        key=key,
        exec=_exec(user.exec_, who, source, cluster, ca, env) if user.exec_ else None,
        impersonate=_impersonation(user) if user.as_ else None,
    )


def _impersonation(user: files.User) -> Impersonation:
    extra = user.as_user_extra.items()
    return Impersonation(
        user.as_, tuple(user.as_groups), user.as_uid, tuple((k, tuple(v)) for k, v in extra)
    )


def _exec(
    spec: files.ExecSpec,
    who: str,
    source: files.Source,
    cluster: files.Cluster,
    ca: bytes,
    env: Mapping[str, str],
) -> ExecPlugin:
    where = str(source.file)
    if not spec.command:
        raise KubeconfigError(f"the credential plugin of {who} has no command", where=where)
    if spec.api_version not in EXEC_VERSIONS:
        raise KubeconfigError(
            f'the credential plugin of {who} has apiVersion "{spec.api_version}"',
            where=where,
            hint=f"kubectl knows {' and '.join(EXEC_VERSIONS)}",
        )
    modes = ("Never", "IfAvailable", "Always")
    mode = spec.interactive_mode or ("" if spec.api_version == EXEC_VERSIONS[0] else "IfAvailable")
    if mode not in modes:
        raise KubeconfigError(
            f'the credential plugin of {who} has interactiveMode "{mode}"',
            where=where,
            hint=f"it is one of {', '.join(modes)}",
        )
    command = str(source.path(spec.command)) if "/" in spec.command else spec.command
    return ExecPlugin(
        command=command,
        api_version=spec.api_version,
        args=tuple(spec.args),
        env=tuple((e.name, e.value) for e in spec.env),
        install_hint=spec.install_hint,
        interactive_mode=mode,
        cluster_info=_cluster_info(cluster, ca) if spec.provide_cluster_info else None,
        base_env=env,
    )


def _cluster_info(cluster: files.Cluster, ca: bytes) -> dict[str, Any]:
    import base64

    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if ca:
        info["certificate-authority-data"] = base64.b64encode(ca).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    told = [e for e in cluster.extensions if e.get("name") == EXEC_EXTENSION]
    info["config"] = told[0].get("extension") if told else None
    return info


def _one_of(source: files.Source, who: str, key: str, path: str, data: str) -> bytes:
    if path and data:
        raise KubeconfigError(
            f"{who} has both {key} and {key}-data", where=str(source.file), hint="leave one out"
        )
    if data:
        return source.decode(data, f"{key}-data of {who}")
    return source.read(path, f"{key} of {who}:") if path else b""


def _proxy(named: str, server: str, env: Mapping[str, str], where: str) -> str:
    from argosy.kube.proxy import from_environment

    proxy = named or from_environment(server, env)
    if proxy and urlsplit(proxy).scheme not in {"http", "https"}:
        raise KubeconfigError(
            f"proxy {proxy} is not an HTTP proxy", where=where, hint="argosy knows http and https"
        )
    return proxy


def _cache(env: Mapping[str, str]) -> Path | None:
    if env.get("ARGOSY_CACHE"):
        return Path(env["ARGOSY_CACHE"], "discovery")
    if env.get("XDG_CACHE_HOME"):
        return Path(env["XDG_CACHE_HOME"], "argosy", "discovery")
    return Path(env["HOME"], ".cache", "argosy", "discovery") if env.get("HOME") else None


def _names(there: Mapping[str, Any]) -> str:
    return ", ".join(sorted(there)) or "none"
