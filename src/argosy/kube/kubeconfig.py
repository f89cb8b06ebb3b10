"""A kubeconfig file as data: its Structs, and how several files become one.

Unknown keys are ignored as kubectl ignores them. Of clusters, users and contexts with one name,
and of `current-context`, the first file's wins; nothing is merged inside an entry. Paths in a
file are relative to that file. Refuses what is no mapping, or has a value of the wrong type.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from argosy.kube.errors import KubeconfigError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Cluster", "Context", "ExecEnv", "ExecSpec", "Kubeconfig", "Source", "User", "read"]


class Cluster(Struct, frozen=True, rename="kebab"):
    """`clusters[].cluster`."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[dict[str, Any]] = []


class ExecEnv(Struct, frozen=True):
    """One variable for a credential plugin."""

    name: str
    value: str = ""


class ExecSpec(Struct, frozen=True, rename="camel"):
    """`users[].user.exec`: a credential plugin."""

    command: str = ""
    api_version: str = ""
    args: list[str] = []
    env: list[ExecEnv] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(Struct, frozen=True, rename="kebab"):
    """`users[].user`."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    auth_provider: dict[str, Any] | None = None
    exec_: ExecSpec | None = field(default=None, name="exec")


class Context(Struct, frozen=True):
    """`contexts[].context`."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(Struct, frozen=True):
    name: str
    cluster: Cluster | None = None


class _NamedUser(Struct, frozen=True):
    name: str
    user: User | None = None


class _NamedContext(Struct, frozen=True):
    name: str
    context: Context | None = None


class _File(Struct, frozen=True):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = field(default="", name="current-context")


@dataclass(frozen=True)
class Source:
    """The file that an entry came from: for messages, and for its relative paths."""

    file: Path

    def path(self, text: str) -> Path:
        """Return a path of this file as a path from here; relative ones start at the file."""
        return self.file.parent / text

    def read(self, text: str, what: str) -> bytes:
        """Return the content of a file that this file names.

        Raises:
            KubeconfigError: it cannot be read.
        """
        try:
            return self.path(text).read_bytes()
        except OSError as e:
            raise KubeconfigError(
                f"{what} {self.path(text)} cannot be read: {e.strerror}", where=str(self.file)
            ) from e

    def decode(self, text: str, what: str) -> bytes:
        """Return what a `…-data` value holds.

        Raises:
            KubeconfigError: it is not base64.
        """
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError) as e:
            raise KubeconfigError(f"{what} is not base64: {e}", where=str(self.file)) from e


@dataclass
class Kubeconfig:
    """All files merged; each entry with the file that it came from."""

    clusters: dict[str, tuple[Cluster, Source]]
    users: dict[str, tuple[User, Source]]
    contexts: dict[str, tuple[Context, Source]]
    current_context: str
    files: tuple[Path, ...]


def read(files: list[Path], *, required: bool) -> Kubeconfig:
    """Read and merge `files` as kubectl does.

    Args:
        files: the files; where they disagree the first wins.
        required: whether a missing file is an error (one that the user named) or skipped
            (one in a KUBECONFIG list).

    Raises:
        KubeconfigError: a file cannot be read, is not YAML, or has a value of a wrong type.
    """
    merged = Kubeconfig(clusters={}, users={}, contexts={}, current_context="", files=())
    for file in files:
        try:
            text = file.read_bytes()
        except FileNotFoundError as e:
            if required:
                raise KubeconfigError("there is no such kubeconfig", where=str(file)) from e
            continue
        except OSError as e:
            raise KubeconfigError(
                f"the kubeconfig cannot be read: {e.strerror}", where=str(file)
            ) from e
        _merge(merged, _parse(text, file), Source(file))
    return merged


def _merge(merged: Kubeconfig, one: _File, source: Source) -> None:
    merged.files = (*merged.files, source.file)
    for cluster in one.clusters:
        merged.clusters.setdefault(cluster.name, (cluster.cluster or Cluster(), source))
    for user in one.users:
        merged.users.setdefault(user.name, (user.user or User(), source))
    for context in one.contexts:
        merged.contexts.setdefault(context.name, (context.context or Context(), source))
    merged.current_context = merged.current_context or one.current_context


def _parse(text: bytes, file: Path) -> _File:
    from argosy.yaml import YamlError, load

    try:
        value = load(text, file=str(file))
    except YamlError as e:
        raise KubeconfigError(e.message, where=e.where, hint="the kubeconfig is not YAML") from e
    if value is None:
        return _File()
    try:
        return msgspec.convert(_without_nulls(value), _File)
    except msgspec.ValidationError as e:
        raise KubeconfigError(f"this is no kubeconfig: {e}", where=str(file)) from e


def _without_nulls(value: Any) -> Any:
    """Drop what is null: Go reads it as if it were not there."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
