"""Make a mirror of what a lock names, and prove a mirror complete.

`vendor` writes the files of the locked closures, and nothing else, in the layout that
`fetch.Mirror` reads, with a `<ref>.commit` record beside each git ref. Files that are there and
right are left alone, so an interrupted run goes on where it stopped. `verify` hashes every file
that the lock names; `isolated` gives the command that runs a proof where no network exists.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.progress import NO_PROGRESS
from argosy.sources.blobs import write_whole
from argosy.sources.errors import FetchError, PathError, writing
from argosy.sources.fetch import Mirror, label_of
from argosy.sources.lock import LockedTree
from argosy.sources.paths import join
from argosy.sources.remote import GitRef, remote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from argosy.progress import Progress
    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Fetcher
    from argosy.sources.lock import Lock, LockedSource

__all__ = ["has_route", "isolated", "vendor", "verify"]

TASK = "vendor"
PROBE_TIMEOUT = 10.0  # seconds; unshare answers at once or not at all


def vendor(
    lock: Lock,
    dest: Path,
    *,
    blobs: BlobStore,
    fetcher: Fetcher | None = None,
    progress: Progress = NO_PROGRESS,
) -> int:
    """Write a mirror of everything that the lock names; return how many files were written.

    Args:
        lock: what to write.
        dest: the mirror's folder; other content in it stays.
        blobs: where the contents are.
        fetcher: for contents that are missing.
        progress: told source by source.

    Raises:
        LockError: a content is not to be had, or is not what was locked.
        DiskError: the disk is full, or the folder cannot be written.
    """
    progress.start(TASK, total=len(lock.sources))
    count = 0
    for name, source in sorted(lock.sources.items()):
        progress.message(TASK, name)
        count += _write(source, dest, LockedTree(source, blobs, fetcher=fetcher))
        progress.advance(TASK)
    progress.finish(TASK, f"{count} files written to {dest}")
    return count


def _write(source: LockedSource, dest: Path, tree: LockedTree) -> int:
    place = dest / remote_name(source.remote)
    count = 0
    with writing(dest):
        if source.kind != "git":
            return sum(_put(place, tree.read(path), source.files[path]) for path in source.files)
        place.mkdir(parents=True, exist_ok=True)
        for path, digest in source.files.items():
            count += _put(place / path, tree.read(path), digest)
        for path, target in source.links.items():
            count += _link(place / path, path, target)
        if source.commit and source.commit != source.ref:
            record = f"{source.commit}\n".encode()
            digest = hashlib.sha256(record).hexdigest()
            count += _put(place.parent / f"{place.name}.commit", record, digest)
    return count


def _put(place: Path, data: bytes, digest: str) -> int:
    """Write a file unless it is there and right; return how many were written."""
    if place.is_file() and not place.is_symlink():
        if hashlib.sha256(place.read_bytes()).hexdigest() == digest:
            return 0
    elif place.is_dir():
        raise PathError(f"{place} is a folder where the mirror needs a file", hint="remove it")
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, data, mode=0o644)
    return 1


def _link(place: Path, path: str, target: str) -> int:
    join(path.rpartition("/")[0], target)  # refuses what leads out
    if place.is_symlink() and os.readlink(place) == target:  # noqa: PTH115 (as written)
        return 0
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    return 1


def verify(lock: Lock, mirror: Path) -> list[str]:
    """Say what a mirror lacks or has wrong; nothing when it is complete.

    Raises:
        FetchError: there is no such folder.
    """
    fetcher = Mirror(mirror)
    problems: list[str] = []
    for _, source in sorted(lock.sources.items()):
        try:
            problems += _problems(source, fetcher)
        except FetchError as error:
            problems.append(error.message)
    return problems


def _problems(source: LockedSource, fetcher: Mirror) -> list[str]:
    problems: list[str] = []
    label = label_of(source.remote)
    tree = fetcher.tree(source.remote, commit=source.commit)
    for path, digest in sorted(source.files.items()):
        if tree.kind(path) != "file":
            problems.append(f"{label}: {path} is missing")
        elif tree.sha256(path) != digest:
            problems.append(f"{label}: {path} is not what is locked")
    for path, target in sorted(source.links.items()):
        if tree.kind(path) != "link" or tree.target(path) != target:
            problems.append(f"{label}: {path} is not a link to {target}")
    if isinstance(source.remote, GitRef) and source.commit:
        recorded = fetcher.resolve(source.remote).commit
        if recorded is None:
            problems.append(f"{label}: the record of its commit is missing")
    return problems


def isolated(command: Sequence[str], *, env: Mapping[str, str]) -> list[str] | None:
    """Return the command that runs `command` in a network namespace without a route.

    None where this system does not allow one: the caller says so in a sentence.
    """
    unshare = shutil.which("unshare", path=env.get("PATH"))
    true = shutil.which("true", path=env.get("PATH"))
    if not unshare or not true:
        return None
    for options in (["--net"], ["--map-root-user", "--net"]):
        try:
            done = subprocess.run(
                [unshare, *options, true],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return [unshare, *options, *command]
    return None


def has_route() -> bool:
    """Say whether this process could reach another machine: a route beyond the loopback."""
    for table, column, header in (("route", 0, 1), ("ipv6_route", -1, 0)):
        try:
            lines = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[header:]
        except OSError:
            continue
        if any(line.split()[column] != "lo" for line in lines if line.split()):
            return True
    return False
