"""Choose who fetches: a mirror when one is named, else the network, else nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from argosy.progress import NO_PROGRESS
from argosy.sources.fetch import Mirror

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from argosy.progress import Progress
    from argosy.sources.fetch import Fetcher

__all__ = ["fetcher_for"]


@overload
def fetcher_for(
    mirror: Path | None,
    *,
    cache: Path,
    env: Mapping[str, str],
    offline: Literal[False] = False,
    progress: Progress = NO_PROGRESS,
) -> Fetcher: ...


@overload
def fetcher_for(
    mirror: Path | None,
    *,
    cache: Path,
    env: Mapping[str, str],
    offline: Literal[True],
    progress: Progress = NO_PROGRESS,
) -> Fetcher | None: ...


def fetcher_for(
    mirror: Path | None,
    *,
    cache: Path,
    env: Mapping[str, str],
    offline: bool = False,
    progress: Progress = NO_PROGRESS,
) -> Fetcher | None:
    """Return who fetches.

    Args:
        mirror: a directory that stands for the network, or None.
        cache: the cache's root, where the network's git repositories are kept.
        env: the process environment, for git and proxies.
        offline: without a mirror, return None instead of the network.
        progress: told of what is fetched.

    Raises:
        FetchError: the mirror is not a directory.
    """
    if mirror is not None:
        return Mirror(mirror)
    if offline:
        return None
    from argosy.sources.network import Network

    return Network(cache, env=env, progress=progress)
