"""Files by the sha256 of their content, shared by all runs of a user.

    <cache>/blobs/sha256/ab/abcdef…      read-only, written under a temporary name and renamed

A run that is killed leaves at most a temporary file, swept later. Two runs that put the same
content write the same bytes, so no lock is needed. What is read is verified; a damaged blob is
removed and counts as missing, so that whoever holds a fetcher can fetch it again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from typing import TYPE_CHECKING

from argosy.sources.errors import writing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BlobStore"]

READ_ONLY = 0o444
STALE = 3600.0  # seconds; no single file takes an hour to write
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
# Other file system, too many links, links between owners forbidden, not supported.
_NO_LINK = {errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS}


class BlobStore:
    """A content-addressed store of files.

    Args:
        cache: argosy's cache folder; blobs live under `blobs/sha256`.
    """

    def __init__(self, cache: Path) -> None:
        self.root = cache / "blobs" / "sha256"

    def path(self, digest: str) -> Path:
        """Return where the blob is, or would be.

        Raises:
            ValueError: `digest` is not 64 hex digits.
        """
        if not _DIGEST.match(digest):
            message = f"{digest!r} is not a sha256 digest"
            raise ValueError(message)
        return self.root / digest[:2] / digest

    def has(self, digest: str) -> bool:
        """Say whether the blob is there, without verifying it."""
        return self.path(digest).is_file()

    def get(self, digest: str) -> bytes | None:
        """Return the blob's bytes; None when it is missing, or was damaged and is now removed."""
        place = self.path(digest)
        try:
            data = place.read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() == digest:
            return data
        with contextlib.suppress(FileNotFoundError):
            place.unlink()
        return None

    def put(self, data: bytes) -> str:
        """Store bytes and return their digest.

        Raises:
            DiskError: the disk is full, or the cache cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        place = self.path(digest)
        try:
            if place.stat().st_size == len(data):
                return digest
        except FileNotFoundError:
            pass
        with writing(self.root):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, data)
        return digest

    def link(self, digest: str, dest: Path, data: bytes | None = None) -> None:
        """Make `dest` the blob: a hard link, or a copy where linking is not possible.

        Args:
            digest: the blob.
            dest: a path that does not exist yet, in a folder that does.
            data: the verified bytes when the caller has them, to copy from.

        Raises:
            DiskError: the disk is full, or the folder cannot be written.
        """
        place = self.path(digest)
        try:
            os.link(place, dest)
        except OSError as error:
            if error.errno not in _NO_LINK:
                with writing(dest):
                    raise
            with writing(dest):
                if data is None:
                    shutil.copyfile(place, dest)
                    dest.chmod(READ_ONLY)
                else:
                    write_whole(dest, data)

    def sweep(self) -> int:
        """Remove temporary files that killed runs left behind; return how many."""
        count = 0
        limit = time.time() - STALE
        for left in self.root.glob("??/.put-*"):
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < limit:
                    left.unlink()
                    count += 1
        return count


def write_whole(place: Path, data: bytes, *, mode: int = READ_ONLY) -> None:
    """Write a file under a temporary name beside it, then rename it into place."""
    temporary = place.parent / f".put-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(mode)
        temporary.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
