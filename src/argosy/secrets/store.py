"""The folder where secret values are kept: `.argosy/secrets/<env>/`, private and ignored by git.

One Secret a file, `<namespace>_<name>.yaml`, as an object that can be applied; beside them
`credentials.yaml`, what people type to get in. Folders are 0700 and files 0600, writes are atomic
and one process at a time. Nothing is ever deleted here, since a value that is lost may be the only
key to a database.

Refuses a folder that is a link or that belongs to somebody else, and names that are not
Kubernetes' (they come from rendered objects and become file names).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING, Any

import msgspec

from argosy import yaml
from argosy.secrets.errors import SecretError, StoreError
from argosy.secrets.values import Credential, SecretName, Values, name_of, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["SecretStore", "store_for"]

Manifest = dict[str, Any]

FOLDER = (".argosy", "secrets")
CREDENTIALS = "credentials.yaml"  # no underscore, so no Secret's file has this name
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # a DNS subdomain, Kubernetes' rule
HEADER = "# Kept by argosy, not for git. The values under `data` are base64.\n"
CREDENTIALS_HEADER = "# Kept by argosy, not for git: what people type to get in.\n"


def store_for(root: Path, env: str) -> SecretStore:
    """Return the store of an environment of the platform in `root`."""
    return SecretStore(root.joinpath(*FOLDER, env))


class SecretStore:
    """The Secrets of one environment, on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, secret: SecretName) -> Path:
        """Return the file of a Secret, whether it exists or not.

        Raises:
            SecretError: namespace or name is not one that Kubernetes takes.
        """
        for part in secret:
            if not NAME.fullmatch(part):
                raise SecretError(f"Secret '{secret}' has a namespace or name that is no DNS name")
        return self.folder / f"{secret.namespace}_{secret.name}.yaml"

    @property
    def credentials_path(self) -> Path:
        """The file of what people type to get in."""
        return self.folder / CREDENTIALS

    def holds(self, names: Iterable[str]) -> bool:
        """Say whether there is a file for each of these Secrets, given as `namespace/name`."""
        return all(self.path(SecretName(*name.split("/", 1))).is_file() for name in names)

    def objects(self) -> list[Manifest]:
        """Return all Secrets, ready to be applied, ordered by namespace and name.

        Raises:
            StoreError: the folder cannot be read, or a file in it is not a Secret.
        """
        self._trust()
        files = sorted(self.folder.glob("*_*.yaml")) if self.folder.is_dir() else []
        return [self._read(file) for file in files]

    def values(self) -> dict[SecretName, Values]:
        """Return the values of all Secrets.

        Raises:
            StoreError: as `objects`.
        """
        return {name_of(secret): values_of(secret) for secret in self.objects()}

    def credentials(self) -> dict[str, Credential]:
        """Return what people type to get in, by name.

        Raises:
            StoreError: the file cannot be read.
        """
        self._trust()
        text = self._text(self.credentials_path)
        if text is None:
            return {}
        try:
            found = msgspec.convert(yaml.load(text, file=CREDENTIALS) or [], list[Credential])
        except (msgspec.ValidationError, yaml.YamlError):
            raise StoreError(
                "is not a list of credentials", where=str(self.credentials_path)
            ) from None  # the cause may quote a password
        return {credential.name: credential for credential in found}

    def write(self, secret: Manifest, values: Values) -> Path:
        """Write a Secret with these values and return its file; an equal file is not touched.

        Raises:
            StoreError: the folder or the file cannot be written.
        """
        file = self.path(name_of(secret))
        self._put(file, HEADER + yaml.dump(_applicable(secret, values)))
        return file

    def write_credentials(self, credentials: Mapping[str, Credential]) -> None:
        """Write what people type to get in.

        Raises:
            StoreError: the folder or the file cannot be written.
        """
        found = [msgspec.to_builtins(credential) for credential in credentials.values()]
        if found:
            self._put(self.credentials_path, CREDENTIALS_HEADER + yaml.dump(found))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing; two runs would give both ends different values.

        Raises:
            StoreError: the folder cannot be made or locked.
        """
        with self._told("lock"):
            self._prepare()
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough while a child has a copy
            os.close(handle)

    def _prepare(self) -> None:
        """Make the folders, private, and keep git away from all of them."""
        self._trust()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.folder.parent, self.folder):
            folder.chmod(0o700)
        self._trust()
        ignore = self.folder.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")

    def _trust(self) -> None:
        for folder in (self.folder.parent.parent, self.folder.parent, self.folder):
            try:
                found = folder.lstat()
            except FileNotFoundError:
                return
            if not stat.S_ISDIR(found.st_mode):
                raise StoreError("is not a folder, so no secret goes there", where=str(folder))
            if found.st_uid != os.geteuid():
                raise StoreError("belongs to somebody else", where=str(folder))

    def _read(self, file: Path) -> Manifest:
        text = self._text(file)
        try:
            found = yaml.load(text or "", file=file.name)
        except yaml.YamlError as error:
            line = f"{file}:{getattr(error.where, 'line', 0)}"
            raise StoreError("is not YAML", where=line) from None  # the cause may quote a value
        if not isinstance(found, dict) or found.get("kind") != "Secret":
            raise StoreError("is not a Secret", where=str(file))
        if self.path(name_of(found)) != file:
            raise StoreError(
                f"holds Secret {name_of(found)}, not what its name says", where=str(file)
            )
        return _applicable(found, values_of(found))

    def _text(self, file: Path) -> str | None:
        with self._told("read", file):
            try:
                handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            with os.fdopen(handle, "rb") as stream:
                if os.fstat(handle).st_mode & 0o077:
                    os.fchmod(handle, 0o600)  # a checkout, a copy or an editor made it readable
                return stream.read().decode()

    def _put(self, file: Path, text: str) -> None:
        with self._told("write", file):
            self._prepare()
            if self._text(file) == text:
                return
            temporary = file.with_name(f".{secrets.token_hex(8)}")
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
                    stream.write(text.encode())
                    stream.flush()
                    os.fsync(stream.fileno())  # the database keeps what this file may lose
                temporary.replace(file)
            finally:
                temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _told(self, what: str, file: Path | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot {what} secrets: {error.strerror}", where=str(file or self.folder)
            ) from error


def _applicable(secret: Manifest, values: Values) -> Manifest:
    """Return a Secret with its values under `data` alone.

    `stringData` is never read back from the API server, so applying it anew would not compare.
    """
    fields = {key: value for key, value in secret.items() if key not in {"data", "stringData"}}
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    return {**fields, "data": data}
