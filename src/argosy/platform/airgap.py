"""Prove that a mirror alone is enough: lock and render from it, with nothing else at hand.

The proof uses a cache of its own, empty at the start, so that nothing that an earlier run fetched
can hide a gap. Run in a network namespace without a route it shows that nothing is fetched.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.errors import ArgosyError
from argosy.platform.config import load_platform
from argosy.platform.locking import lock_platform
from argosy.platform.places import LOCK_FILE, environments
from argosy.platform.render import render
from argosy.sources.blobs import BlobStore
from argosy.sources.fetch import Mirror
from argosy.sources.lock import read_lock
from argosy.sources.vendor import verify

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["prove_mirror"]


def prove_mirror(root: Path, mirror: Path, *, env: Mapping[str, str]) -> list[str]:
    """Return what keeps the mirror from standing for the network, in sentences; [] when nothing.

    Args:
        root: the platform's directory.
        mirror: what `argosy vendor` wrote.
        env: the process environment, to find engines on PATH.

    Raises:
        LockError: there is no lock, or it is damaged.
        FetchError: there is no mirror.
    """
    problems = verify(read_lock(root / LOCK_FILE), mirror)
    if problems:
        return problems
    with tempfile.TemporaryDirectory(prefix="argosy-verify-") as folder:
        cache, fetcher = Path(folder, "cache"), Mirror(mirror)
        try:
            _, moves = lock_platform(root, fetcher=fetcher, blobs=BlobStore(cache), dry_run=True)
            problems += [
                f"{move.name} is locked otherwise than the mirror has it" for move in moves
            ]
            for name in environments(root):
                loaded = load_platform(root, name)
                render(loaded, cache=cache, env=env, out=Path(folder, "out"), fetcher=fetcher)
        except ArgosyError as error:
            problems.append(str(error))
    return problems
