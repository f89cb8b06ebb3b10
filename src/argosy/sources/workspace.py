"""Lay the locked files out for an engine: a folder of hard links, remotes made local.

    <dest>/<source>/<path>          each locked file, verified against the lock on the way
    <dest>/<source>/…/kustomization.yaml   rewritten where it names a remote, else the same bytes

A remote folder becomes a relative path to its locked copy in the workspace. A remote file becomes
a folder with a kustomization of its own where kustomize takes folders, and a link beside the
kustomization where it takes files alone, since kustomize reads no file outside its folder.
"""

from __future__ import annotations

import hashlib
import posixpath
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.sources.blobs import write_whole
from argosy.sources.closure import Closure
from argosy.sources.errors import LockError, writing
from argosy.sources.kustomization import FILE_NAMES, Kustomization, Reference
from argosy.sources.lock import LockedTree, start_of
from argosy.sources.paths import clean, join
from argosy.sources.remote import FileRef, is_remote, parse_remote, remote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher
    from argosy.sources.lock import Lock
    from argosy.sources.trees import Tree

    Transform = Callable[[str, str, bytes], bytes | None]

__all__ = ["Workspace", "materialise"]

WRAPPER = "kustomization.yaml"


class Workspace:
    """A folder with sources laid out for an engine.

    Args:
        dest: an empty folder, or one that is not there yet; what several calls name is laid out
            once.
        lock: what remotes are locked to.
        blobs: where the contents are.
        fetcher: for contents that are missing or damaged.
        transform: called with source, path and bytes of each file; other bytes take their place,
            None leaves the file as it is.
    """

    def __init__(
        self,
        dest: Path,
        lock: Lock,
        *,
        blobs: BlobStore,
        fetcher: Fetcher | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.dest = dest
        self._lock = lock
        self._blobs = blobs
        self._fetcher = fetcher
        self._transform = transform
        self._made: set[str] = set()
        self._placed: set[str] = set()

    def path(self, source: str, path: str = "") -> Path:
        """Return where a source's file or folder is in the workspace."""
        return self.dest / source / path if path else self.dest / source

    def add(self, name: str, files: Collection[str] | None = None) -> None:
        """Lay out a locked source: the files named, or all of them.

        Raises:
            LockError: the lock does not have a file, or its content is not what was locked.
            DiskError: the disk is full.
        """
        source = self._lock.get(name)
        tree = LockedTree(source, self._blobs, fetcher=self._fetcher)
        for path in source.files if files is None else files:
            if self._first(f"{name}/{path}"):
                self._place(name, path, tree.read(path), digest=tree.sha256(path))
        self._links(name, source.links)
        if source.kind == "file" and self._first(f"{name}/{WRAPPER}"):
            self._wrap(name)

    def add_tree(self, name: str, tree: Tree, found: Closure) -> None:
        """Lay out a part of a tree that is not locked, such as the user's own overlays.

        Raises:
            PathError: a file cannot be read.
            DiskError: the disk is full.
        """
        for path in found.files:
            if self._first(f"{name}/{path}"):
                self._place(name, path, tree.read(path), digest=None)
        self._links(name, found.links)

    def write(self, path: str, text: str) -> Path:
        """Write a file of the caller's own into the workspace; return where it is.

        Raises:
            PathError: the path leaves the workspace.
            DiskError: the disk is full.
        """
        return self._write(clean(path), text.encode())

    def _first(self, path: str) -> bool:
        """Say whether a path is laid out for the first time, and take note of it."""
        first = path not in self._placed
        self._placed.add(path)
        return first

    def _place(self, name: str, path: str, data: bytes, *, digest: str | None) -> None:
        new = self._transform(name, path, data) if self._transform else None
        if path.rpartition("/")[2] in FILE_NAMES:
            text = data if new is None else new
            rewritten = self._rewrite(name, path, text)
            new = rewritten if rewritten is not None else new
        whole = f"{name}/{path}"
        if new is not None or digest is None:
            self._write(whole, data if new is None else new)
            return
        self._folder(whole)
        self._blobs.link(digest, self.dest / whole, data)

    def _write(self, path: str, data: bytes) -> Path:
        self._folder(path)
        place = self.dest / path
        with writing(place):
            write_whole(place, data, mode=0o644)
        return place

    def _folder(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            with writing(self.dest):
                (self.dest / folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)

    def _links(self, name: str, links: Mapping[str, str]) -> None:
        for path, target in links.items():
            join(path.rpartition("/")[0], target)  # refuses what leads out
            if not self._first(f"{name}/{path}"):
                continue
            self._folder(f"{name}/{path}")
            with writing(self.dest):
                (self.dest / name / path).symlink_to(target)

    def _wrap(self, name: str) -> None:
        """Make the folder of a remote file a kustomization, so that it can be named as one."""
        file = name.rpartition("/")[2]
        if file not in FILE_NAMES:
            self._write(f"{name}/{WRAPPER}", yaml.dump({"resources": [file]}).encode())

    def _rewrite(self, name: str, path: str, text: bytes) -> bytes | None:
        """Return the kustomization with its remotes made local; None when it has none."""
        if b"://" not in text and b"@" not in text and b"github.com" not in text:
            return None
        found = Kustomization(path, text, label=name)
        edits = [
            (one.at, self._local(name, found, one))
            for one in found.references
            if is_remote(one.value)
        ]
        return yaml.splice(text.decode(), edits).encode() if edits else None

    def _local(self, name: str, found: Kustomization, one: Reference) -> str:
        """Return the path, from the kustomization's folder, of a remote's locked copy."""
        ref = parse_remote(one.value, where=found.where(one.at))
        target = remote_name(ref)
        if target not in self._lock.sources:
            raise LockError(
                f"the lock does not have {target}",
                where=found.where(one.at),
                hint="run `argosy lock`",
            )
        here = posixpath.join(name, found.dir)
        if not isinstance(ref, FileRef):
            return _relative(posixpath.join(target, ref.path), here)
        if one.what != "file":
            return _relative(target, here)
        source = self._lock.get(target)
        digest = next(iter(source.files.values()))
        data = LockedTree(source, self._blobs, fetcher=self._fetcher).read(start_of(ref))
        beside = f"remote-{hashlib.sha256(target.encode()).hexdigest()[:8]}-{start_of(ref)}"
        new = self._transform(target, start_of(ref), data) if self._transform else None
        whole = posixpath.join(here, beside)
        if new is not None:
            self._write(whole, new)
        elif self._first(whole):
            self._folder(whole)
            self._blobs.link(digest, self.dest / whole, data)
        return f"{_key(found, one)}./{beside}"


def _key(found: Kustomization, one: Reference) -> str:
    """Return the "key=" that a generator's entry puts before its file."""
    value: Any = found.data
    for step in one.at:
        value = value[step]
    return str(value).removesuffix(one.value)


def _relative(target: str, here: str) -> str:
    path = posixpath.relpath(target, here)
    return path if path.startswith("../") else f"./{path}"


def materialise(
    lock: Lock,
    dest: Path,
    *,
    blobs: BlobStore,
    fetcher: Fetcher | None = None,
    only: Mapping[str, Closure | Collection[str]] | None = None,
    transform: Transform | None = None,
) -> Workspace:
    """Lay out the locked sources under `dest` and return the workspace.

    Args:
        lock: what to lay out.
        dest: an empty folder, or one that is not there yet.
        blobs: where the contents are.
        fetcher: for contents that are missing or damaged.
        only: by source, the closure or files to lay out; everything when left out.
        transform: see `Workspace`.

    Raises:
        LockError: content is missing, or is not what was locked.
        DiskError: the disk is full.
    """
    space = Workspace(dest, lock, blobs=blobs, fetcher=fetcher, transform=transform)
    wanted: Iterable[tuple[str, Closure | Collection[str] | None]]
    wanted = only.items() if only is not None else ((name, None) for name in lock.sources)
    for name, files in wanted:
        space.add(name, files.files if isinstance(files, Closure) else files)
    return space
