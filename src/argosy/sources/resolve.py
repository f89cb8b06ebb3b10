"""Make a lock: follow every reference to its end, refuse what moves, take the files' digests.

Refused unless waived with a reason: branches, HEAD, `latest`, a missing ref, version ranges of
charts. The refusal names the file and line where the reference stands. `update` resolves one
source anew and says what moves; `check` compares a lock with what is asked, without a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from argosy.progress import NO_PROGRESS
from argosy.sources.closure import Closure, closure, merkle
from argosy.sources.errors import KustomizationError, LockError, PathError
from argosy.sources.fetch import label_of
from argosy.sources.lock import Lock, LockedSource, LockedTree, start_of
from argosy.sources.moves import Move, moves
from argosy.sources.refusals import Waiver, is_waived, refuse_branch, refuse_moving
from argosy.sources.remote import ChartRef, FileRef, GitRef, LocalRef, remote_name
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from argosy.errors import Location
    from argosy.progress import Progress
    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher, Resolved
    from argosy.sources.remote import Remote
    from argosy.sources.trees import Tree

__all__ = ["Move", "Request", "Waiver", "check", "moves", "resolve", "update"]

TASK = "lock"


class Request(NamedTuple):
    """What the platform needs of a source: its name, what it is, and the places that apps use."""

    name: str
    ref: Remote | LocalRef
    paths: tuple[str, ...]
    where: Location | None = None


class _Source:
    """A source on its way into the lock."""

    def __init__(self, request: Request, tree: Tree, *, commit: str | None = None) -> None:
        self.request = request
        self.tree = tree
        self.commit = commit
        self.kept: LockedSource | None = None
        self.starts: set[str] = set()
        self.found = Closure((), {}, (), ())


def resolve(
    requests: Iterable[Request],
    *,
    fetcher: Fetcher,
    blobs: BlobStore,
    waivers: Sequence[Waiver] = (),
    previous: Lock | None = None,
    renew: Collection[str] = (),
    progress: Progress = NO_PROGRESS,
) -> Lock:
    """Return the lock for what is asked; every file that it names is in `blobs` afterwards.

    Args:
        requests: the platform's sources, and its own folder as a `LocalRef`.
        fetcher: the network or a mirror.
        blobs: where contents are kept.
        waivers: what may move.
        previous: the lock so far: what it pins stays pinned, and is not fetched again.
        renew: sources of `previous` to resolve anew all the same.
        progress: told what is being fetched.

    Raises:
        LockError: a reference moves or is missing, and is not waived; or a source has changed
            under the commit that is locked.
        FetchError: a source cannot be reached, or does not have what is asked.
        argosy.errors.UsageError: a kustomization or a path in a source is wrong.
        DiskError: the cache cannot be written.
    """
    return _resolve(
        requests,
        fetcher=fetcher,
        refill=fetcher,
        blobs=blobs,
        waivers=waivers,
        previous=previous,
        renew=renew,
        progress=progress,
    )


def _resolve(
    requests: Iterable[Request],
    *,
    fetcher: Fetcher,
    refill: Fetcher | None,
    blobs: BlobStore,
    waivers: Sequence[Waiver],
    previous: Lock | None,
    renew: Collection[str] = (),
    progress: Progress = NO_PROGRESS,
) -> Lock:
    """Resolve; `refill` gives only the contents of what is pinned."""
    progress.start(TASK)
    pinned = {name: one for name, one in (previous or Lock()).sources.items() if name not in renew}
    opener = _Opener(fetcher, refill, blobs, waivers, pinned)
    sources: dict[str, _Source] = {}
    waiting: list[Request] = list(requests)
    while waiting:
        request = waiting.pop(0)
        if request.name not in sources:
            progress.message(TASK, request.name)
            sources[request.name] = opener.open(request)
        source = sources[request.name]
        new = set(request.paths) - source.starts
        if not new:
            continue
        source.starts |= new
        opener.widen(source)
        source.found = _closure(source)
        waiting += [
            Request(remote_name(met.ref), met.ref, (start_of(met.ref),), met.where)
            for met in source.found.remotes
        ]
    locked = {
        name: _take(source, source.request.ref, blobs)
        for name, source in sorted(sources.items())
        if not isinstance(source.request.ref, LocalRef)
    }
    progress.finish(TASK, f"{len(locked)} sources")
    return Lock(locked)


class _Opener:
    """Opens sources: from the lock so far where it pins them, else through the fetcher."""

    def __init__(
        self,
        fetcher: Fetcher,
        refill: Fetcher | None,
        blobs: BlobStore,
        waivers: Sequence[Waiver],
        pinned: Mapping[str, LockedSource],
    ) -> None:
        self._fetcher = fetcher
        self._refill = refill
        self._blobs = blobs
        self._waivers = waivers
        self._pinned = pinned

    def open(self, request: Request) -> _Source:
        """Return a source with a tree to walk."""
        ref = request.ref
        if isinstance(ref, LocalRef):
            return _Source(request, DirTree(ref.dir))
        waived = is_waived(request.name, ref, self._waivers)
        if not waived:
            refuse_moving(ref, request.where)
        kept = self._pinned.get(request.name)
        if kept is not None and kept.remote == _whole(ref):
            held = LockedTree(kept, self._blobs, fetcher=self._refill)
            source = _Source(request, held, commit=kept.commit)
            source.kept = kept
            return source
        resolved = self._fetcher.resolve(ref, where=request.where)
        if not waived:
            refuse_branch(ref, resolved, request.where)
        tree = self._fetcher.tree(ref, commit=resolved.commit, where=request.where)
        return _Source(request, tree, commit=resolved.commit)

    def widen(self, source: _Source) -> None:
        """Leave the locked files for the whole tree when more is asked than was locked."""
        ref = source.request.ref
        if source.kept is None or isinstance(ref, LocalRef):
            return
        if isinstance(source.tree, LockedTree) and not source.starts <= set(source.kept.paths):
            source.tree = self._fetcher.tree(ref, commit=source.commit, where=source.request.where)


def _closure(source: _Source) -> Closure:
    """Return what a source's starts read; what is wrong is said with the line that names it."""
    try:
        return closure(source.tree, sorted(source.starts))
    except (KustomizationError, PathError) as error:
        if error.where is not None:
            raise
        where = source.request.where
        raise type(error)(error.message, where=where, hint=error.hint) from error


def _whole(ref: Remote) -> Remote:
    """Return the reference to the whole source, as a lock keeps it."""
    return GitRef(ref.repo, "", ref.ref) if isinstance(ref, GitRef) else ref


def _take(source: _Source, ref: Remote, blobs: BlobStore) -> LockedSource:
    name, found, kept = source.request.name, source.found, source.kept
    files = {path: blobs.put(source.tree.read(path)) for path in found.files}
    if kept is not None:
        changed = [path for path, digest in files.items() if kept.files.get(path, digest) != digest]
        if changed:
            raise LockError(
                f"{label_of(ref)} has changed since it was locked: {changed[0]}"
                + (f" and {len(changed) - 1} more" if changed[1:] else ""),
                where=source.request.where,
                hint=f"see what moved with `argosy lock --update {name}`",
            )
    links = found.links
    digest = merkle(files, links)
    paths = tuple(sorted(source.starts))
    match ref:
        case FileRef():
            return LockedSource(name, "file", ref.url, digest, paths=paths, files=files)
        case ChartRef():
            kind: Literal["oci", "helm"] = "oci" if ref.repo.startswith("oci://") else "helm"
            return LockedSource(
                name, kind, ref.repo, digest, ref.version, ref.chart, paths=paths, files=files
            )
        case GitRef():
            return LockedSource(
                name,
                "git",
                ref.repo,
                digest,
                ref.ref,
                commit=source.commit,
                paths=paths,
                files=files,
                links=links,
            )


def update(
    lock: Lock,
    name: str,
    requests: Iterable[Request],
    *,
    fetcher: Fetcher,
    blobs: BlobStore,
    waivers: Sequence[Waiver] = (),
    progress: Progress = NO_PROGRESS,
) -> tuple[Lock, list[Move]]:
    """Resolve one source anew, keep the others, and say what moves.

    Remotes that only the new version names are taken up; those that nobody names any more go.

    Raises:
        LockError: there is no such source; otherwise as for `resolve`.
    """
    asked = list(requests)
    known = {
        *lock.sources,
        *(request.name for request in asked if not isinstance(request.ref, LocalRef)),
    }
    if name not in known:
        raise LockError(
            f"there is no source {name}", hint="sources are: " + ", ".join(sorted(known))
        )
    new = resolve(
        asked,
        fetcher=fetcher,
        blobs=blobs,
        waivers=waivers,
        previous=lock,
        renew={name},
        progress=progress,
    )
    return new, moves(lock, new)


def check(
    lock: Lock,
    requests: Iterable[Request],
    *,
    blobs: BlobStore,
    fetcher: Fetcher | None = None,
    waivers: Sequence[Waiver] = (),
) -> list[str]:
    """Say where the lock and what is asked differ; nothing when they agree.

    Nothing is resolved; `fetcher` (a mirror) is asked only for locked contents that the cache
    does not have. Every locked file is read and verified.

    Raises:
        LockError: a reference moves; or a locked file is not to be had, or its content is wrong.
        argosy.errors.UsageError: a kustomization of the user's own folder is wrong.
    """
    try:
        fresh = _resolve(
            requests,
            fetcher=_Offline(),
            refill=fetcher,
            blobs=blobs,
            waivers=waivers,
            previous=lock,
        )
    except _NotLockedError as error:
        return [str(error)]
    problems = []
    for move in moves(lock, fresh):
        if move.name not in fresh.sources:
            problems.append(f"{move.name} is locked but not needed")
        else:
            count = len(move.removed)
            problems.append(f"{move.name} has {count} locked files that nothing needs")
    return problems


class _NotLockedError(LockError):
    """Something is needed that the lock does not have."""


class _Offline:
    """A fetcher that refuses: whatever is asked of it is not locked."""

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Refuse.

        Raises:
            LockError: always.
        """
        raise _NotLockedError(
            f"{label_of(ref)} is needed but not locked", where=where, hint="run `argosy lock`"
        )

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Refuse.

        Raises:
            LockError: always.
        """
        at = f" at {commit[:12]}" if commit else ""
        raise _NotLockedError(
            f"more of {label_of(ref)}{at} is needed than is locked",
            where=where,
            hint="run `argosy lock`",
        )
