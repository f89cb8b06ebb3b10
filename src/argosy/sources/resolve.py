"""Make a lock: follow every reference to its end, refuse what moves, take the files' digests.

Refused unless waived with a reason: branches, HEAD, `latest`, a missing ref, version ranges of
charts. The refusal names the file and line where the reference stands. `update` resolves one
source anew and says what moves; `check` compares a lock with what is asked, without a network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import structs

from argosy.progress import NO_PROGRESS
from argosy.sources.closure import Closure, closure, merkle
from argosy.sources.errors import LockError
from argosy.sources.fetch import COMMIT, Resolved, label_of
from argosy.sources.lock import Lock, LockedSource, LockedTree, start_of
from argosy.sources.remote import ChartRef, FileRef, GitRef, LocalRef, remote_name
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from argosy.errors import Location
    from argosy.progress import Progress
    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher
    from argosy.sources.remote import Remote
    from argosy.sources.trees import Tree

__all__ = ["Move", "Request", "Waiver", "check", "resolve", "update"]

TASK = "lock"
MOVING = {"head", "latest", "main", "master", "develop", "trunk"}
_RANGE = re.compile(r"[\^~*<>=|,\s]|(^|\.)[xX](\.|$)")
_HOW = "pin a tag or a commit, or waive it with a reason"


class Request(NamedTuple):
    """What the platform needs of a source: its name, what it is, and the places that apps use."""

    name: str
    ref: Remote | LocalRef
    paths: tuple[str, ...]
    where: Location | None = None


class Waiver(NamedTuple):
    """A source (its name in the lock, or its URL) that may move, and why."""

    source: str
    reason: str


class Move(NamedTuple):
    """What an update changes in one source."""

    name: str
    old_ref: str | None
    new_ref: str | None
    old_commit: str | None
    new_commit: str | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Say whether anything is different."""
        return bool(
            self.added
            or self.removed
            or self.changed
            or (self.old_ref, self.old_commit) != (self.new_ref, self.new_commit)
        )


class _Source:
    """A source on its way into the lock."""

    def __init__(self, name: str, ref: Remote | LocalRef, tree: Tree, commit: str | None) -> None:
        self.name = name
        self.ref = ref
        self.tree = tree
        self.commit = commit
        self.starts: set[str] = set()
        self.found: Closure | None = None


def resolve(
    requests: Iterable[Request],
    *,
    fetcher: Fetcher,
    blobs: BlobStore,
    waivers: Sequence[Waiver] = (),
    progress: Progress = NO_PROGRESS,
) -> Lock:
    """Return the lock for what is asked; every file that it names is in `blobs` afterwards.

    Raises:
        LockError: a reference moves or is missing, and is not waived.
        FetchError: a source cannot be reached, or does not have what is asked.
        argosy.errors.UsageError: a kustomization or a path in a source is wrong.
        DiskError: the cache cannot be written.
    """
    progress.start(TASK)
    sources: dict[str, _Source] = {}
    waiting: list[Request] = list(requests)
    while waiting:
        request = waiting.pop(0)
        source = sources.get(request.name)
        if source is None:
            progress.message(TASK, request.name)
            source = sources[request.name] = _open(request, fetcher, waivers)
        new = set(request.paths) - source.starts
        if not new:
            continue
        source.starts |= new
        source.found = closure(source.tree, sorted(source.starts))
        waiting += [
            Request(remote_name(met.ref), met.ref, (start_of(met.ref),), met.where)
            for met in source.found.remotes
        ]
    locked = {
        name: _take(source, source.ref, blobs)
        for name, source in sorted(sources.items())
        if not isinstance(source.ref, LocalRef)
    }
    progress.finish(TASK, f"{len(locked)} sources")
    return Lock(locked)


def _open(request: Request, fetcher: Fetcher, waivers: Sequence[Waiver]) -> _Source:
    ref = request.ref
    if isinstance(ref, LocalRef):
        return _Source(request.name, ref, DirTree(ref.dir), None)
    waived = _waived(request.name, ref, waivers)
    if not waived:
        _refuse_moving(ref, request.where)
    resolved = fetcher.resolve(ref, where=request.where)
    if not waived:
        _refuse_branch(ref, resolved, request.where)
    tree = fetcher.tree(ref, commit=resolved.commit, where=request.where)
    return _Source(request.name, ref, tree, resolved.commit)


def _waived(name: str, ref: Remote, waivers: Sequence[Waiver]) -> bool:
    url = ref.url if isinstance(ref, FileRef) else ref.repo
    return any(waiver.source in {name, url, remote_name(ref)} for waiver in waivers)


def _refuse_moving(ref: Remote, where: Location | None) -> None:
    """Refuse what can be seen to move without asking anybody."""
    match ref:
        case GitRef(ref=None | ""):
            raise LockError(
                f"{label_of(ref)} names no ref, so it follows the default branch",
                where=where,
                hint=_HOW,
            )
        case GitRef(ref=str(text)) if text.lower() in MOVING or text.startswith("refs/heads/"):
            raise LockError(f"{label_of(ref)} moves", where=where, hint=_HOW)
        case FileRef():
            parts = urlsplit(ref.url).path.split("/")
            moving = "latest" in parts[:-1]
            if urlsplit(ref.url).hostname == "raw.githubusercontent.com" and len(parts) > 3:
                moving = moving or parts[3].lower() in MOVING
            if moving:
                raise LockError(f"{ref.url} moves", where=where, hint="pin a release or a commit")
        case ChartRef() if not ref.version or ref.version == "latest" or _RANGE.search(ref.version):
            raise LockError(
                f"the chart {ref.chart} asks for version {ref.version or '(none)'}, which moves",
                where=where,
                hint="pin one version, or waive it with a reason",
            )
        case _:
            pass


def _refuse_branch(ref: Remote, resolved: Resolved, where: Location | None) -> None:
    if resolved.kind == "branch":
        raise LockError(f"{label_of(ref)} is a branch, which moves", where=where, hint=_HOW)


def _take(source: _Source, ref: Remote, blobs: BlobStore) -> LockedSource:
    found = source.found or Closure((), {}, (), ())
    files = {path: blobs.put(source.tree.read(path)) for path in found.files}
    digest = merkle(files, found.links)
    match ref:
        case FileRef():
            return LockedSource(source.name, "file", ref.url, digest, files=files)
        case ChartRef():
            kind: Literal["oci", "helm"] = "oci" if ref.repo.startswith("oci://") else "helm"
            return LockedSource(
                source.name, kind, ref.repo, digest, ref.version, ref.chart, files=files
            )
        case GitRef():
            return LockedSource(
                source.name,
                "git",
                ref.repo,
                digest,
                ref.ref,
                commit=source.commit,
                files=files,
                links=found.links,
            )


def update(
    lock: Lock,
    name: str,
    requests: Iterable[Request],
    *,
    fetcher: Fetcher,
    blobs: BlobStore,
    waivers: Sequence[Waiver] = (),
) -> tuple[Lock, list[Move]]:
    """Resolve one source anew, keep the others, and say what moves.

    Remotes that only the new version names are taken up; those that nobody names any more go.

    Raises:
        LockError: no request has that name; otherwise as for `resolve`.
    """
    asked = list(requests)
    known = {request.name for request in asked} | set(lock.sources)
    if name not in known:
        raise LockError(
            f"there is no source {name}", hint="sources are: " + ", ".join(sorted(known))
        )
    held = _Held(lock, name, fetcher, blobs)
    new = resolve(asked, fetcher=held, blobs=blobs, waivers=waivers)
    moves = [
        _move(one, lock.sources.get(one), new.sources.get(one))
        for one in sorted({*lock.sources, *new.sources})
    ]
    return new, [move for move in moves if move.moves]


class _Held:
    """A fetcher that moves one source and answers for the others from the lock."""

    def __init__(self, lock: Lock, name: str, fetcher: Fetcher, blobs: BlobStore) -> None:
        self._fetcher = fetcher
        self._blobs = blobs
        self._kept = _by_remote(one for one in lock.sources.values() if one.name != name)

    def _find(self, ref: Remote) -> LockedSource | None:
        return self._kept.get(GitRef(ref.repo, "", ref.ref) if isinstance(ref, GitRef) else ref)

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return the locked commit, or what the fetcher says."""
        kept = self._find(ref)
        if kept is None:
            return self._fetcher.resolve(ref, where=where)
        return Resolved(kept.commit, "fixed")

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the locked files, or what the fetcher has."""
        kept = self._find(ref)
        if kept is None:
            return self._fetcher.tree(ref, commit=commit, where=where)
        return LockedTree(kept, self._blobs, fetcher=self._fetcher)


def _by_remote(sources: Iterable[LockedSource]) -> dict[Remote, LockedSource]:
    """Return sources by what they are; one repository locked under two names is put together."""
    found: dict[Remote, LockedSource] = {}
    for source in sources:
        other = found.get(source.remote)
        if other is not None:
            files, links = other.files | source.files, other.links | source.links
            source = structs.replace(  # noqa: PLW2901 (the same source, whole)
                source, files=files, links=links, digest=merkle(files, links)
            )
        found[source.remote] = source
    return found


def _move(name: str, old: LockedSource | None, new: LockedSource | None) -> Move:
    before = old.files if old else {}
    after = new.files if new else {}
    return Move(
        name,
        old.ref if old else None,
        new.ref if new else None,
        old.commit if old else None,
        new.commit if new else None,
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
    )


def check(
    lock: Lock,
    requests: Iterable[Request],
    *,
    blobs: BlobStore,
    fetcher: Fetcher | None = None,
    waivers: Sequence[Waiver] = (),
) -> list[str]:
    """Say, without a network, where the lock and what is asked differ; nothing when they agree.

    Raises:
        LockError: a locked file is not in the cache and there is no fetcher for it, or its
            content is wrong.
    """
    wanted = list(requests)
    problems = [
        f"{request.where}: {problem}" if request.where else problem
        for request in wanted
        for problem in _differences(lock, request)
    ]
    if problems:
        return problems
    held = _Offline(lock, blobs, fetcher)
    fresh = resolve(wanted, fetcher=held, blobs=blobs, waivers=waivers)
    for name in sorted({*lock.sources, *fresh.sources}):
        old, new = lock.sources.get(name), fresh.sources.get(name)
        if old is None or new is None:
            problems.append(
                f"{name} is {'needed but not locked' if old is None else 'locked but not needed'}"
            )
        elif old.digest != new.digest:
            spare = len(old.files.keys() - new.files.keys())
            problems.append(f"{name} has {spare} locked files that nothing needs")
    return problems


def _differences(lock: Lock, request: Request) -> list[str]:
    if isinstance(request.ref, LocalRef):
        return []
    source = lock.sources.get(request.name)
    if source is None:
        return [f"{request.name} is not locked"]
    asked = request.ref
    if isinstance(asked, GitRef):
        asked = GitRef(asked.repo, "", asked.ref)
    if source.remote != asked:
        return [f"{request.name} is locked as {label_of(source.remote)}, not {label_of(asked)}"]
    if source.kind == "git" and source.commit and not COMMIT.match(source.commit):
        return [f"{request.name}'s commit {source.commit!r} is not 40 hex digits"]
    return []


class _Offline(_Held):
    """A fetcher that knows only what is locked."""

    def __init__(self, lock: Lock, blobs: BlobStore, fetcher: Fetcher | None) -> None:
        self._inner = fetcher
        self._blobs = blobs
        self._kept = _by_remote(lock.sources.values())

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return the locked commit.

        Raises:
            LockError: the reference is not locked.
        """
        return Resolved(self._locked(ref, where).commit, "fixed")

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the locked files.

        Raises:
            LockError: the reference is not locked, or not at that commit.
        """
        source = self._locked(ref, where)
        if commit and source.commit != commit:
            raise LockError(f"{source.name} is not locked at {commit}", where=where)
        return LockedTree(source, self._blobs, fetcher=self._inner)

    def _locked(self, ref: Remote, where: Location | None) -> LockedSource:
        found = self._find(ref)
        if found is None:
            raise LockError(
                f"{label_of(ref)} is needed but not locked", where=where, hint="run `argosy lock`"
            )
        return found
