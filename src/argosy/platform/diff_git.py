"""Compare the rendered tree with the one in a commit: `argosy diff --against REV`.

Reads git and the disk, decides nothing: `argosy.platform.diff` does. Says as well which apps'
inputs have changed since the tree was rendered, because a reader would otherwise take what is
missing from the diff for what does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.errors import ArgosyError
from argosy.platform.diff import PlatformDiff, compare
from argosy.platform.diff_sides import DiffError, folder_side, git_side, read_blobs
from argosy.platform.tree import RENDERED
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from argosy.platform.config import LoadedPlatform
    from argosy.platform.diff_sides import Side

__all__ = ["against_git", "known_apps", "stale_apps", "stale_note"]

Key = tuple[str, str]
SHOWN = 5  # apps named in one note


def against_git(
    root: Path,
    env: str,
    *,
    rev: str = "HEAD",
    apps: Iterable[str] = (),
    environ: Mapping[str, str],
) -> PlatformDiff:
    """Return how the rendered tree differs from the one in a commit.

    Args:
        root: the platform's directory.
        env: the environment.
        rev: the commit, by any name that git knows it by.
        apps: only these.
        environ: the process environment, for git.

    Raises:
        DiffError: there is no such commit, no repository, or no such app.
        TreeError: nothing is rendered.
        OutsideError: git failed.
    """
    old = git_side(root, env, rev, environ=environ)
    new = folder_side(root, env, like=old.commit)
    asked = known_apps(apps, _apps(old) | _apps(new), f"rendered, here or in {old.title}")
    folder = f"{RENDERED}/{env}"

    def from_git(keys: list[Key]) -> dict[Key, str]:
        blobs = read_blobs(root, [old.files[key] for key in keys], environ=environ)
        return {key: _text(blobs[old.files[key]], key) for key in keys}

    def from_disk(keys: list[Key]) -> dict[Key, str]:
        return {key: _text((root / folder / key[0] / key[1]).read_bytes(), key) for key in keys}

    found = compare(
        old, new, env=env, read_old=from_git, read_new=from_disk, folder=folder, apps=asked
    )
    if not old.files:
        found.notes.append(f"{rev} has no {folder}, so everything in it is new")
    return found


def stale_apps(
    loaded: LoadedPlatform, *, cache: Path, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the apps whose inputs have changed since they were rendered; none when in doubt.

    Args:
        loaded: the configuration as it is now.
        cache: the cache's root.
        environ: the process environment, to find engines on PATH.
    """
    from argosy.platform.render import Renderer
    from argosy.platform.tree import read_index

    index = read_index(loaded.root, loaded.env)
    if index is None:
        return ()
    try:
        renderer = Renderer(loaded, cache=cache, env=environ)
        stale = [
            app.name
            for app in renderer.selection.apps.values()
            if not renderer.is_fresh(app, index)
        ]
    except ArgosyError:
        return ()  # `argosy render` says what is wrong; a diff of what there is remains right
    gone = [name for name in index.apps if name not in renderer.selection.apps]
    return (*stale, *gone)


def stale_note(apps: tuple[str, ...], env: str) -> str:
    """Return what to say of apps whose inputs have changed."""
    more = f" and {len(apps) - SHOWN} more" if len(apps) > SHOWN else ""
    asked = f" --env {env}" if env != "default" else ""
    return (
        f"not rendered anew since their inputs changed: {', '.join(apps[:SHOWN])}{more}; "
        f"run `argosy render{asked}` to see it here"
    )


def known_apps(apps: Iterable[str], known: Iterable[str], where: str) -> frozenset[str]:
    """Return `--app` names as a set.

    Args:
        apps: the names that were given.
        known: the names that there are.
        where: where there are those, for people.

    Raises:
        DiffError: there is no app of a name.
    """
    choices = sorted(known)
    for name in apps:
        if name not in choices:
            hint = did_you_mean(name, choices) or f"apps: {', '.join(choices)}"
            raise DiffError(f"no app {name!r} is {where}", hint=hint)
    return frozenset(apps)


def _apps(side: Side) -> set[str]:
    return {app for app, _ in side.files} | set(side.index.apps if side.index else ())


def _text(content: bytes, key: Key) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DiffError(f"byte {error.start} is not UTF-8 text", where="/".join(key)) from error
