"""Lock a platform: pin what every environment reads, say what an update moves, mirror it.

The lock covers all environments, so that what one of them renders cannot depend on which one was
locked last. The old lock stays whole until the new one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.catalogue import load_catalogue, releases
from argosy.platform.places import LOCK_FILE, requests
from argosy.progress import NO_PROGRESS
from argosy.sources import resolve as resolving
from argosy.sources.errors import LockError
from argosy.sources.fetch import label_of
from argosy.sources.lock import Lock, read_lock, write_lock
from argosy.sources.remote import GitRef

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.errors import Location
    from argosy.progress import Progress
    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher, Resolved
    from argosy.sources.remote import Remote
    from argosy.sources.resolve import Move
    from argosy.sources.trees import Tree

__all__ = ["check_lock", "lock_platform", "update_source"]


class _Catalogued:
    """A fetcher that knows the commits of catalogued releases.

    A mirror without records cannot say what a tag stands for; the catalogue can. Where both know
    and disagree, the tag was moved after the release was catalogued, and that is refused.
    """

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        sources = [load_catalogue(name).source for name in releases()]
        self._known = {(source.git, source.ref): source.commit for source in sources}

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return the commit of a reference.

        Raises:
            LockError: a catalogued tag is not the commit that it was.
            FetchError: the source cannot be reached, or has no such ref.
        """
        found = self._fetcher.resolve(ref, where=where)
        known = self._known.get((ref.repo, ref.ref or "")) if isinstance(ref, GitRef) else None
        if known is None or found.commit == known:
            return found
        if found.commit is not None:
            raise LockError(
                f"{label_of(ref)} is commit {found.commit[:12]}, but was {known[:12]} when "
                "argosy catalogued it: somebody moved the tag",
                where=where,
                hint="name the commit that you mean as ref of a source called 'kubeflow'",
            )
        return found._replace(commit=known)

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the files of a reference.

        Raises:
            FetchError: the source cannot be reached, or does not have it.
        """
        return self._fetcher.tree(ref, commit=commit, where=where)


def lock_platform(
    root: Path,
    *,
    fetcher: Fetcher,
    blobs: BlobStore,
    dry_run: bool = False,
    progress: Progress = NO_PROGRESS,
) -> tuple[Lock, list[Move]]:
    """Write argosy.lock for the platform in `root`; return it and what it moved.

    What is locked already stays as it is; `update_source` moves it.

    Args:
        root: the directory of platform.yaml.
        fetcher: the network, or a mirror that stands for it.
        blobs: takes every locked file.
        dry_run: resolve and compare, but leave argosy.lock as it is.
        progress: told of each source.

    Raises:
        ConfigError: an environment's configuration is wrong.
        LockError: a reference moves or is missing, and is not waived.
        FetchError: a source cannot be reached.
    """
    wanted, waivers = requests(root)
    path = root / LOCK_FILE
    old = read_lock(path) if path.exists() else Lock({})
    lock = resolving.resolve(
        wanted,
        fetcher=_Catalogued(fetcher),
        blobs=blobs,
        waivers=waivers,
        previous=old,
        progress=progress,
    )
    moves = resolving.moves(old, lock)
    if not dry_run:
        write_lock(lock, path)
    return lock, moves


def update_source(
    root: Path, name: str, *, fetcher: Fetcher, blobs: BlobStore, dry_run: bool = False
) -> list[Move]:
    """Resolve one source anew and return what moves; the others stay as they are locked.

    Args:
        root: the directory of platform.yaml.
        name: a source in the lock, or the beginning of its name up to a `-` (`kubeflow`).
        fetcher: the network, or a mirror that stands for it.
        blobs: takes every locked file.
        dry_run: say what would move, and leave argosy.lock as it is.

    Raises:
        LockError: no source has that name; otherwise as for `lock_platform`.
    """
    wanted, waivers = requests(root)
    lock = read_lock(root / LOCK_FILE)
    names = {*lock.sources, *(request.name for request in wanted)}
    if name not in names:
        near = sorted(one for one in names if one.startswith(f"{name}-"))
        name = near[0] if len(near) == 1 else name
    new, moves = resolving.update(
        lock, name, wanted, fetcher=_Catalogued(fetcher), blobs=blobs, waivers=waivers
    )
    if not dry_run:
        write_lock(new, root / LOCK_FILE)
    return moves


def check_lock(root: Path, *, blobs: BlobStore, fetcher: Fetcher | None = None) -> list[str]:
    """Say, without a network, where argosy.lock and the configuration differ; [] when nowhere.

    Raises:
        ConfigError: an environment's configuration is wrong.
        LockError: there is no lock, or it is damaged.
    """
    wanted, waivers = requests(root)
    lock = read_lock(root / LOCK_FILE)
    return resolving.check(lock, wanted, blobs=blobs, fetcher=fetcher, waivers=waivers)
