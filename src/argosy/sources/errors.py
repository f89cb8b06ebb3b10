"""What can go wrong with sources and engines.

UsageError
├── PathError            a path is absolute, leaves its tree, or is not a plain file
├── KustomizationError   a kustomization cannot be read, or names what is not there
└── LockError            a reference that may not be locked, or a lock that does not fit
OutsideError
├── FetchError           git, a web server or a mirror did not give what was asked
├── DiskError            the disk is full, or a folder cannot be written
└── EngineError          kustomize or helm is missing, too old, or failed
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from argosy.errors import OutsideError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "DiskError",
    "EngineError",
    "FetchError",
    "KustomizationError",
    "LockError",
    "PathError",
    "writing",
]


class PathError(UsageError):
    """A path is absolute, leaves its tree, or names something that is not a plain file."""


class KustomizationError(UsageError):
    """A kustomization cannot be read, or names what is not there."""


class LockError(UsageError):
    """A reference that may not be locked, or a lock that does not fit what is asked of it."""


class FetchError(OutsideError):
    """Git, a web server or a mirror did not give what was asked."""


class DiskError(OutsideError):
    """The disk is full, or a folder cannot be written."""


class EngineError(OutsideError):
    """Kustomize or helm is missing, too old, or failed."""


_DISK = {
    errno.ENOSPC: ("no space is left on the disk", "free some space and run the command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run the command again"),
    errno.EROFS: ("the file system is read-only", "choose another folder"),
    errno.EACCES: ("permission denied", "check who owns the folder"),
    errno.EPERM: ("operation not permitted", "check who owns the folder"),
}


@contextmanager
def writing(place: Path | str) -> Iterator[None]:
    """Turn the disk's refusals while writing to `place` into one sentence.

    Raises:
        DiskError: the disk is full, read-only, or not ours to write; other errors pass.
    """
    try:
        yield
    except OSError as error:
        told = _DISK.get(error.errno or 0)
        if told is None:
            raise
        raise DiskError(f"cannot write {place}: {told[0]}", hint=told[1]) from error
