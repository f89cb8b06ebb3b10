"""The lock: what every source is, to the byte, so that a render needs no network.

`argosy.lock` is YAML with sorted keys and stable bytes. A source stands in it under its name from
platform.yaml, or, when a kustomization met it, under its `remote_name`. Only the files that the
locked apps read are listed; `digest` is the Merkle digest over them, the same whether the network
or a mirror gave them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec

from argosy import yaml
from argosy.errors import UsageError
from argosy.sources.blobs import write_whole
from argosy.sources.closure import Closure, closure, merkle
from argosy.sources.errors import LockError, PathError, writing
from argosy.sources.paths import clean
from argosy.sources.remote import ChartRef, FileRef, GitRef, remote_name
from argosy.sources.trees import IndexTree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher
    from argosy.sources.remote import Remote
    from argosy.sources.trees import Tree

__all__ = [
    "Lock",
    "LockedSource",
    "LockedTree",
    "app_closure",
    "app_digest",
    "dump_lock",
    "read_lock",
    "start_of",
    "tree_closure",
    "write_lock",
]

VERSION = "argosy.dev/lock/v1"
# not `argosy lock` alone: what is pinned would be lost without a word
RESTORE = "restore it from git, or remove it and run `argosy lock` to pin everything anew"
HEADER = "# Written by `argosy lock`. Commit it; do not edit it.\n"


class LockedSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source, pinned.

    `url` and `ref` are as asked; for a chart, `url` is its repository and `ref` its version.
    `commit` is None only for what is not git, or came from a mirror without record of it. `paths`
    are the places that apps and kustomizations start from; `files` is all that these need.
    """

    name: str
    kind: Literal["git", "file", "helm", "oci"]
    url: str
    digest: str
    ref: str | None = None
    chart: str | None = None
    commit: str | None = None
    paths: tuple[str, ...] = ()
    files: dict[str, str] = {}
    links: dict[str, str] = {}

    @property
    def remote(self) -> Remote:
        """Return the reference to fetch it by."""
        if self.kind == "git":
            return GitRef(self.url, "", self.ref)
        if self.kind == "file":
            return FileRef(self.url)
        return ChartRef(self.url, self.chart or "", self.ref or "")


class Lock(msgspec.Struct, frozen=True):
    """All sources by name."""

    sources: dict[str, LockedSource] = {}

    @property
    def digest(self) -> str:
        """Return one digest over all sources' names and digests."""
        text = "".join(f"{name} {one.digest}\n" for name, one in sorted(self.sources.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, name: str) -> LockedSource:
        """Return a source by name.

        Raises:
            LockError: the lock does not have it.
        """
        try:
            return self.sources[name]
        except KeyError:
            raise LockError(
                f"the lock has no source {name}", hint="run `argosy lock` to take it up"
            ) from None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The lock file's own shape; a source's name is its key."""

    version: str
    sources: dict[str, dict[str, object]]


def read_lock(path: Path) -> Lock:
    """Return the lock in a file.

    Raises:
        LockError: there is none, or it is damaged: wrong shape, bad paths, digests that do not
            add up.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise LockError(f"there is no {path}", hint="run `argosy lock` first") from None
    try:
        whole = msgspec.convert(yaml.load(text, file=str(path)), _File)
        if whole.version != VERSION:
            raise LockError(
                f"the lock's version is {whole.version}, this argosy reads {VERSION}",
                where=str(path),
            )
        sources = {
            name: msgspec.convert({"name": name, **entry}, LockedSource)
            for name, entry in whole.sources.items()
        }
    except yaml.YamlError as error:
        raise LockError(
            f"the lock is damaged: {error.message}", where=error.where, hint=RESTORE
        ) from error
    except (msgspec.ValidationError, TypeError) as error:
        raise LockError(f"the lock is damaged: {error}", where=str(path), hint=RESTORE) from error
    for source in sources.values():
        _verify(source, path)
    return Lock(sources)


def _verify(source: LockedSource, path: Path) -> None:
    hint = f"a merge or an edit changed it; {RESTORE}"
    for name in (*source.files, *source.links):
        try:
            sound = clean(name) == name
        except PathError as error:
            raise LockError(f"{source.name}: {error.message}", where=str(path), hint=hint) from None
        if not sound:
            raise LockError(f"{source.name}: bad path {name!r}", where=str(path), hint=hint)
    for name in (*source.files, *source.links):
        if any(folder in source.links for folder in _ancestors(name)):
            raise LockError(f"{source.name}: {name} is behind a link", where=str(path), hint=hint)
    if merkle(source.files, source.links) != source.digest:
        raise LockError(
            f"the files of {source.name} do not add up to its digest", where=str(path), hint=hint
        )


def _ancestors(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def dump_lock(lock: Lock) -> str:
    """Return the lock as text, the same bytes for the same lock."""
    sources = {}
    for name, source in sorted(lock.sources.items()):
        entry = {key: value for key, value in msgspec.to_builtins(source).items() if value}
        del entry["name"]
        entry["paths"] = list(source.paths)
        for key in ("files", "links"):
            if key in entry:
                entry[key] = dict(sorted(entry[key].items()))
        sources[name] = entry
    return HEADER + yaml.dump({"version": VERSION, "sources": sources})


def write_lock(lock: Lock, path: Path) -> None:
    """Write the lock; the old file stays whole until the new one is.

    Raises:
        DiskError: the disk is full, or the folder cannot be written.
    """
    with writing(path):
        write_whole(path, dump_lock(lock).encode(), mode=0o644)


class LockedTree(IndexTree):
    """The files of a locked source, from the blob store, verified on every read.

    Args:
        source: what the lock says.
        blobs: where the contents are.
        fetcher: asked when a blob is missing or damaged; without one that is an error.
    """

    def __init__(
        self, source: LockedSource, blobs: BlobStore, *, fetcher: Fetcher | None = None
    ) -> None:
        entries = dict.fromkeys(source.files, "file") | dict.fromkeys(source.links, "link")
        super().__init__(source.name, entries)  # type: ignore[arg-type]  # literals widen to str
        self.source = source
        self._blobs = blobs
        self._fetcher = fetcher
        self._fetched: Tree | None = None

    def read(self, path: str) -> bytes:
        """Return a file's bytes, as locked.

        Raises:
            LockError: the lock does not have it, or the source's content is not what was locked.
            FetchError: it had to be fetched again, and could not.
        """
        digest = self.sha256(path)
        data = self._blobs.get(digest)
        return self._again(path, digest) if data is None else data

    def target(self, path: str) -> str:
        """Return where a link points."""
        return self.source.links[path]

    def sha256(self, path: str) -> str:
        """Return a file's digest, without reading it.

        Raises:
            LockError: the lock does not have the file.
        """
        try:
            return self.source.files[path]
        except KeyError:
            raise LockError(
                f"the lock has no {path} of {self.label}", hint="run `argosy lock` to take it up"
            ) from None

    def _again(self, path: str, digest: str) -> bytes:
        if self._fetcher is None:
            raise LockError(
                f"{self.label}/{path} is locked but not in the cache",
                hint="run `argosy lock` to fetch it, or name a mirror with --mirror DIR",
            )
        if self._fetched is None:
            self._fetched = self._fetcher.tree(self.source.remote, commit=self.source.commit)
        data = self._fetched.read(path) if self._fetched.kind(path) == "file" else b""
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            raise LockError(
                f"{self.label}/{path} is not what was locked: sha256 {found[:12]}…, "
                f"the lock says {digest[:12]}…",
                hint=f"see what moved with `argosy lock --update {self.label}`",
            )
        self._blobs.put(data)
        return data


def app_closure(
    lock: Lock, name: str, path: str, *, blobs: BlobStore, fetcher: Fetcher | None = None
) -> dict[str, Closure]:
    """Return what building one app reads, by source, remotes followed into their sources.

    Args:
        lock: the lock.
        name: the app's source.
        path: the app's place in it.
        blobs: where the contents are.
        fetcher: for contents that are missing.

    Raises:
        LockError: the lock does not cover the app.
        argosy.errors.UsageError: as for `closure`.
    """
    return tree_closure(
        lock, name, LockedTree(lock.get(name), blobs, fetcher=fetcher), path, blobs, fetcher
    )


def tree_closure(
    lock: Lock, name: str, tree: Tree, path: str, blobs: BlobStore, fetcher: Fetcher | None = None
) -> dict[str, Closure]:
    """Return what building a folder of any tree reads, remotes followed into the lock.

    Raises:
        argosy.errors.UsageError: as for `app_closure`.
    """
    starts: dict[str, set[str]] = {name: {path}}
    trees: dict[str, Tree] = {name: tree}
    found: dict[str, Closure] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in trees:
            trees[one] = LockedTree(lock.get(one), blobs, fetcher=fetcher)
        found[one] = closure(trees[one], sorted(starts[one]))
        for met in found[one].remotes:
            into, start = remote_name(met.ref), start_of(met.ref)
            if into not in lock.sources:
                raise LockError(
                    f"the lock does not have {into}", where=met.where, hint="run `argosy lock`"
                )
            if start not in starts.setdefault(into, set()):
                starts[into].add(start)
                waiting.append(into)
    return dict(sorted(found.items()))


def start_of(ref: Remote) -> str:
    """Return where a remote reference starts inside its own tree."""
    return ref.path if isinstance(ref, GitRef) else remote_name(ref).rpartition("/")[2]


def app_digest(lock: Lock, found: Mapping[str, Closure]) -> str:
    """Return one digest over everything that the closures hold, by the lock alone.

    Raises:
        UsageError: a closure names a source that the lock does not have.
    """
    digest = hashlib.sha256()
    for name, one in sorted(found.items()):
        source = lock.get(name)
        try:
            files = {path: source.files[path] for path in one.files}
        except KeyError as error:
            raise UsageError(f"the lock has no {error.args[0]} of {name}") from error
        digest.update(f"{name} {merkle(files, one.links)}\n".encode())
    return digest.hexdigest()
