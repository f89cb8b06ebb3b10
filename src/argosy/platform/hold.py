"""Hold a platform's directory, so that one argosy writes to it at a time.

The lock is the kernel's: it goes with the process that holds it, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from argosy.errors import OutsideError
from argosy.sources.errors import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PRIVATE", "one_at_a_time"]

PRIVATE = ".argosy"  # what stays on this machine: the lock file and the secrets


@contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Hold the platform's directory against a second run that writes to it.

    Raises:
        OutsideError: another argosy holds it.
        DiskError: the directory cannot be written.
    """
    private = root / PRIVATE
    with writing(private):
        private.mkdir(parents=True, exist_ok=True)
        ignore = private / ".gitignore"
        if not ignore.exists():  # the folder may stand in a repository of rendered trees
            ignore.write_text("*\n", encoding="utf-8")
        file = os.open(private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutsideError(
                f"another argosy is writing to {root.resolve()}", hint="wait until it is done"
            ) from None
        yield
    finally:
        os.close(file)
