"""The content-addressed cache survives kills, damage and company."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from argosy.sources.blobs import READ_ONLY, BlobStore
from argosy.sources.errors import DiskError, writing


def test_what_is_put_is_got_back_read_only(blobs):
    digest = blobs.put(b"hello")
    assert blobs.get(digest) == b"hello"
    assert blobs.path(digest).stat().st_mode & 0o777 == READ_ONLY
    assert blobs.path(digest).parent.name == digest[:2]


def test_a_missing_blob_is_none(blobs):
    assert blobs.get("0" * 64) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_what_is_no_digest_is_refused(blobs, digest):
    with pytest.raises(ValueError, match="sha256"):
        blobs.get(digest)


@pytest.mark.parametrize("damage", [b"hellx", b"", b"hello and more"])
def test_a_damaged_blob_is_removed_and_counts_as_missing(blobs, damage):
    digest = blobs.put(b"hello")
    place = blobs.path(digest)
    place.chmod(0o644)
    place.write_bytes(damage)
    assert blobs.get(digest) is None
    assert not place.exists()
    assert blobs.put(b"hello") == digest
    assert blobs.get(digest) == b"hello"


def test_a_linked_blob_shares_its_bytes_on_disk(blobs, tmp_path):
    digest = blobs.put(b"hello")
    blobs.link(digest, tmp_path / "x")
    assert (tmp_path / "x").stat().st_ino == blobs.path(digest).stat().st_ino


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second file system at /dev/shm")
def test_where_linking_is_not_possible_the_blob_is_copied(blobs, tmp_path):
    import tempfile

    digest = blobs.put(b"hello")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if Path(other).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is the same file system")
        for data in (None, b"hello"):
            place = Path(other) / f"x{data is None}"
            blobs.link(digest, place, data)
            assert place.read_bytes() == b"hello"
            assert place.stat().st_mode & 0o777 == READ_ONLY


KILLED = """
import os, sys
from pathlib import Path
from argosy.sources import blobs
class Dies:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *a): self.file.close()
    def write(self, data):
        self.file.write(data[: len(data) // 2]); self.file.flush()
        print("half", flush=True)
        sys.stdin.read()
blobs.os = type("os", (), {**vars(os), "fdopen": staticmethod(lambda h, m: Dies(open(h, m)))})
blobs.BlobStore(Path(sys.argv[1])).put(b"x" * 100000)
"""


def test_a_run_killed_in_the_middle_of_a_put_leaves_nothing_that_counts(blobs, cache):
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(cache)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout.readline() == b"half\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    left = list(blobs.root.glob("??/*"))
    assert len(left) == 1
    assert left[0].name.startswith(".put-")
    assert left[0].stat().st_size < 100000
    digest = blobs.put(b"x" * 100000)
    assert blobs.get(digest) == b"x" * 100000
    assert blobs.sweep() == 0  # too young: another run might be writing it
    os.utime(left[0], (0, 0))
    assert blobs.sweep() == 1
    assert blobs.get(digest) is not None


def test_many_runs_may_put_the_same_blobs_at_once(cache):
    contents = [bytes([n]) * 5000 for n in range(40)]
    stores = [BlobStore(cache) for _ in range(4)]
    start = threading.Barrier(len(stores))
    found: list[list[str]] = [[] for _ in stores]

    def work(number: int) -> None:
        start.wait()
        found[number] = [stores[number].put(data) for data in contents]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == found[0] for one in found)
    assert [stores[0].get(digest) for digest in found[0]] == contents
    assert not list(cache.glob("**/.put-*"))


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.ENOSPC, "no space is left"), (errno.EROFS, "read-only"), (errno.EDQUOT, "quota")],
)
def test_a_disk_that_refuses_is_one_sentence(number, why):
    with pytest.raises(DiskError, match=why) as caught, writing("/cache"):
        raise OSError(number, os.strerror(number))
    assert caught.value.exit_code == 3


FULL = """
import sys
from pathlib import Path
from argosy.sources.blobs import BlobStore
from argosy.sources.errors import DiskError
store = BlobStore(Path(sys.argv[1]))
first = store.put(b"x" * 5000)
try:
    store.put(b"y" * 500000)
except DiskError as error:
    print(error)
print(store.get(first) == b"x" * 5000, len(list(store.root.glob("??/*"))))
"""


def test_a_full_disk_is_one_sentence_and_leaves_no_half_blob(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    command = [sys.executable, "-c", FULL, str(small)]
    mount = f'mount -t tmpfs -o size=64k none {small} 2>/dev/null || exit 77; exec "$@"'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", *command],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this system does not let a test mount a small file system")
    sentence, state = done.stdout.splitlines()
    assert "no space is left on the disk" in sentence
    assert state == "True 1"
