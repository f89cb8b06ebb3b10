"""Where files come from: one small protocol, and the trees that need no other module.

A tree's paths are relative to its root and already `paths.clean`. A tree never follows symbolic
links by itself: `kind` says "link" and `target` where it points; `argosy.sources.closure` follows
them and refuses those that lead out.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Literal, Protocol

from argosy.sources.errors import PathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["DirTree", "IndexTree", "Kind", "MemoryTree", "Tree"]

Kind = Literal["file", "dir", "link", "special", "submodule"]


class Tree(Protocol):
    """Files by path; `label` is how people know the tree ("kubeflow/manifests@26.03")."""

    label: str

    def kind(self, path: str) -> Kind | None:
        """Say what stands at `path`, None when nothing does."""

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""

    def target(self, path: str) -> str:
        """Return where a link points, as written."""

    def sha256(self, path: str) -> str:
        """Return the digest of a file's bytes, in hex."""


class DirTree:
    """A folder on disk.

    Args:
        root: the folder.
        label: how messages call it; the folder's path when left out.
    """

    def __init__(self, root: Path, *, label: str = "") -> None:
        self.root = root
        self.label = label or str(root)
        self._base = os.fspath(root)
        self._folders: dict[str, dict[str, Kind]] = {}

    def kind(self, path: str) -> Kind | None:
        """Say what stands at `path`, None when nothing does."""
        if not path:
            return "dir"
        folder, _, name = path.rpartition("/")
        return self._entries(folder).get(name)

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            PathError: the file cannot be read.
        """
        try:
            with open(f"{self._base}/{path}", "rb") as file:  # noqa: PTH123 (hot path)
                return file.read()
        except OSError as error:
            raise PathError(f"cannot read {self.label}/{path}: {error.strerror}") from error

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        return sorted(self._entries(path))

    def target(self, path: str) -> str:
        """Return where a link points, as written."""
        return os.readlink(self.root / path)  # noqa: PTH115 (Path would tidy "./x")

    def sha256(self, path: str) -> str:
        """Return the digest of a file's bytes, in hex."""
        return hashlib.sha256(self.read(path)).hexdigest()

    def _entries(self, folder: str) -> dict[str, Kind]:
        found = self._folders.get(folder)
        if found is None:
            try:
                with os.scandir(f"{self._base}/{folder}" if folder else self._base) as entries:
                    found = {entry.name: _kind(entry) for entry in entries}
            except (FileNotFoundError, NotADirectoryError):
                found = {}
            self._folders[folder] = found
        return found


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "special"


class IndexTree:
    """The part of a tree that a listing of its paths can answer; the rest is for subclasses.

    Args:
        label: how messages call it.
        entries: what stands at each path; folders follow from the paths.
    """

    def __init__(self, label: str, entries: Mapping[str, Kind]) -> None:
        self.label = label
        self._entries = entries
        self._folders: dict[str, set[str]] | None = None

    def kind(self, path: str) -> Kind | None:
        """Say what stands at `path`, None when nothing does."""
        found = self._entries.get(path)
        if found is not None:
            return found
        return "dir" if not path or path in self._index() else None

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        return sorted(self._index().get(path, ()))

    def _index(self) -> dict[str, set[str]]:
        if self._folders is None:
            self._folders = _folders(self._entries)
        return self._folders


def _folders(paths: Iterable[str]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {}
    for path in paths:
        rest = path
        while rest:
            folder, _, name = rest.rpartition("/")
            names = folders.setdefault(folder, set())
            if name in names:
                break
            names.add(name)
            rest = folder
    return folders


class MemoryTree(IndexTree):
    """Files in memory: one downloaded file, a chart, a test's tree."""

    def __init__(self, files: Mapping[str, bytes], *, label: str = "memory") -> None:
        super().__init__(label, dict.fromkeys(files, "file"))
        self._files = files

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            PathError: there is no such file.
        """
        try:
            return self._files[path]
        except KeyError:
            raise PathError(f"there is no {path} in {self.label}") from None

    def target(self, path: str) -> str:
        """Raise, since there are no links here."""
        raise PathError(f"{path} in {self.label} is not a link")

    def sha256(self, path: str) -> str:
        """Return the digest of a file's bytes, in hex."""
        return hashlib.sha256(self.read(path)).hexdigest()
