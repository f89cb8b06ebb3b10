"""Paths inside a fetched tree: relative, "/"-separated, and never leaving the root.

Fetched trees are data written by strangers. Everything that names a file in one passes through
`clean` or `join`, which refuse absolute paths, `..` that climbs out, `.git` folders and control
characters, always naming the path.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from argosy.sources.errors import PathError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.errors import Location

__all__ = ["clean", "collisions", "join"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def clean(path: str, *, where: Location | str | None = None) -> str:
    """Return `path` normalised; "" is the root.

    Raises:
        PathError: the path is absolute, leaves the root, enters `.git`, or is not printable.
    """
    return join("", path, where=where)


def join(folder: str, path: str, *, where: Location | str | None = None) -> str:
    """Return `path` as seen from `folder`, normalised from the root.

    Raises:
        PathError: as for `clean`.
    """
    if _CONTROL.search(path):
        raise PathError(f"the path {path!r} has control characters", where=where)
    if path.startswith("/"):
        raise PathError(
            f"the path {path} is absolute", where=where, hint="write it relative to its file"
        )
    whole = posixpath.normpath(posixpath.join(folder, path))
    if whole == "..":
        raise PathError(f"the path {path} leaves the source's tree", where=where)
    if whole.startswith("../"):
        raise PathError(f"the path {path} leaves the source's tree", where=where)
    if whole == ".":
        return ""
    if ".git" in whole.lower().split("/"):
        raise PathError(f"the path {path} enters a .git folder", where=where)
    return whole


def collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of paths that are one file where names ignore case (macOS, Windows)."""
    seen: dict[str, str] = {}
    found: dict[tuple[str, str], None] = {}
    for path in sorted(paths):
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            part = "/".join(parts[:count])
            other = seen.setdefault(part.casefold(), part)
            if other != part:
                found[other, part] = None
                break
    return list(found)
