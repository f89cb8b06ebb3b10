"""A folder for one run, removed when it ends; what killed runs left is removed by the next.

A run holds its folder by the kernel's lock, which goes with its process, so that a folder that
nobody holds is known to be left over.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.sources.errors import writing

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scratch"]

PREFIX = "render-"
YOUNG = 60.0  # seconds; a folder that is younger may be one that is about to be held


@contextmanager
def scratch(work: Path) -> Iterator[Path]:
    """Yield an empty folder under `work`.

    Raises:
        DiskError: it cannot be written.
    """
    with writing(work):
        work.mkdir(parents=True, exist_ok=True)
        _sweep(work)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=work))
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(held)
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(work: Path) -> None:
    for left in work.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if left.stat().st_mtime > time.time() - YOUNG:
                continue
            held = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)
