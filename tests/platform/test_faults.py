"""Faults: stops in mid-render, full and read-only disks, and files that were damaged or edited."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from argosy.errors import ArgosyError
from argosy.platform.config import load_platform
from argosy.platform.locking import check_lock, lock_platform, update_source
from argosy.platform.render import RenderReport, render
from argosy.platform.scratch import scratch
from argosy.platform.tree import load_rendered, read_index
from argosy.sources.blobs import BlobStore
from argosy.sources.errors import DiskError
from argosy.sources.network import Network
from argosy.sources.remote import GitRef
from platforms import DEPLOYMENT, add_app, write_files, write_platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from repositories import Repository

Env = dict[str, str]


def deployment(name: str) -> str:
    return DEPLOYMENT.format(name=name, namespace="apps")


@pytest.fixture
def one_app(tmp_path: Path) -> Path:
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    add_app(root, "one", a=deployment("a"))
    return root


def run(root: Path, env: Env, cache: Path) -> RenderReport:
    return render(load_platform(root), cache=cache, env=env)


def tree(root: Path) -> dict[str, bytes]:
    base = root / "rendered"
    return {str(p.relative_to(base)): p.read_bytes() for p in base.rglob("*") if p.is_file()}


def slow_kustomize(folder: Path) -> Path:
    """Write a kustomize that says when it starts, and then never ends."""
    folder.mkdir()
    engine = folder / "kustomize"
    engine.write_text(
        f'#!/bin/sh\n[ "$1" = version ] && echo v5.8.2 && exit\necho $$ > {folder}/pid.new\n'
        f"mv {folder}/pid.new {folder}/pid\nexec sleep 600\n"
    )
    engine.chmod(0o755)
    return folder


def waits_for(path: Path) -> str:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        os.sched_yield()
    return path.read_text().strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_in_mid_render_leaves_the_old_tree_and_nothing_else(
    one_app: Path, tmp_path: Path, engines_env: Env, number: signal.Signals
) -> None:
    cache = tmp_path / "cache"
    run(one_app, engines_env, cache)
    before = tree(one_app)
    write_files(one_app, {"apps/one/a.yaml": deployment("b")})
    slow = slow_kustomize(tmp_path / "slow")
    process = subprocess.Popen(
        [sys.executable, "-m", "argosy.cli.main", "render", "-C", str(one_app)],
        env={**engines_env, "PATH": f"{slow}:{os.environ['PATH']}", "ARGOSY_CACHE": str(cache)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_hears_interrupts,  # noqa: PLW1509 (no threads in this test)
    )
    engine = int(waits_for(slow / "pid"))
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "argosy: interrupted; the same command goes on from here"
    assert "Traceback" not in err
    assert out == ""
    assert tree(one_app) == before
    assert sorted(p.name for p in (one_app / "rendered").iterdir()) == ["default"]
    assert list((cache / "work").iterdir()) == []
    assert not Path(f"/proc/{engine}").exists()
    assert set(run(one_app, engines_env, cache).built) == {"one"}


def _hears_interrupts() -> None:
    """Undo what shells do to background jobs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left, young = tmp_path / "render-left", tmp_path / "render-young"
    for folder in (left, young):
        (folder / "light").mkdir(parents=True)
    os.utime(left, (0, 0))
    with scratch(tmp_path) as held:
        os.utime(held, (0, 0))
        with scratch(tmp_path):
            assert held.exists()
        assert not left.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["render-young"]


@contextmanager
def small_disk(place: Path, options: str = "size=2m") -> Iterator[Path]:
    """Mount a small disk, or skip and say so."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this system does not let the test mount a small disk (run it as root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    filler.write_bytes(bytes(max(0, free - leave)))
    return filler


def test_a_full_disk_leaves_the_old_tree_and_the_next_run_goes_on(
    tmp_path: Path, engines_env: Env
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        root = write_platform(disk / "p", "{name: one, path: apps/one}")
        add_app(root, "one", a=deployment("a"))
        run(root, engines_env, tmp_path / "cache")
        before = tree(root)
        large = "".join(
            f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{n}, namespace: a}}\n"
            f"data: {{a: {'x' * 5000}}}\n"
            for n in range(100)
        )
        write_files(root, {"apps/one/a.yaml": large})
        filler = fill(disk, leave=100_000)
        with pytest.raises(DiskError, match="rendered: no space is left on the disk; free some"):
            run(root, engines_env, tmp_path / "cache")
        assert tree(root) == before
        assert sorted(p.name for p in (root / "rendered").iterdir()) == ["default"]
        filler.unlink()
        assert run(root, engines_env, tmp_path / "cache").objects == 100


def test_a_full_cache_disk_is_one_sentence_and_leaves_no_folder(
    tmp_path: Path, engines_env: Env, one_app: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill(disk, leave=0)
        with pytest.raises(DiskError, match="no space is left on the disk; free some space"):
            run(one_app, engines_env, disk / "cache")
        assert not list(disk.glob("cache/work/*"))
        assert not (one_app / "rendered").exists()


def test_a_read_only_directory_is_one_sentence(tmp_path: Path, engines_env: Env) -> None:
    with small_disk(tmp_path / "disk") as disk:
        root = write_platform(disk / "p", "{name: one, path: apps/one}")
        add_app(root, "one", a=deployment("a"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(DiskError, match=r"p/\.argosy: the file system is read-only"):
            run(root, engines_env, tmp_path / "cache")
        report = render(
            load_platform(root), cache=tmp_path / "cache", env=engines_env, out=tmp_path / "out"
        )
        assert report.objects == 1


@pytest.fixture
def locked(tmp_path: Path, repository: Repository) -> Path:
    """A platform with one app from git, locked."""
    write_files(
        repository.root,
        {"deploy/kustomization.yaml": "resources: [a.yaml]\n", "deploy/a.yaml": deployment("a")},
    )
    repository.commit("v1.0.0")
    root = write_platform(
        tmp_path / "p",
        "{name: one, source: up, path: deploy}",
        more=f"sources:\n  up: {{git: {repository.url}, ref: v1.0.0}}\n",
    )
    lock(root, tmp_path / "cache")
    return root


def lock(root: Path, cache: Path) -> None:
    lock_platform(root, fetcher=Network(cache, env=os.environ), blobs=BlobStore(cache))


def test_a_damaged_blob_is_never_used_and_locking_again_heals_it(
    locked: Path, tmp_path: Path, engines_env: Env
) -> None:
    cache = tmp_path / "cache"
    for blob in (cache / "blobs").rglob("*"):
        if blob.is_file():
            blob.chmod(0o644)
            blob.write_bytes(blob.read_bytes().replace(b"a", b"b"))
    with pytest.raises(ArgosyError, match="is locked but not in the cache; run `argosy lock`"):
        run(locked, engines_env, cache)
    before = (locked / "argosy.lock").read_bytes()
    lock(locked, cache)
    assert (locked / "argosy.lock").read_bytes() == before
    assert run(locked, engines_env, cache).objects == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("deploy/a.yaml:", "deploy/b.yaml:", "do not add up to its digest"),
        ("deploy/a.yaml:", "../a.yaml:", r"up-v1.0.0: .*\.\./a.yaml"),
        ("kind: git", "kind: gti", "the lock is damaged: Invalid enum value 'gti'"),
        ("sources:", "<<<<<<< HEAD\nsources:", r"argosy.lock:\d+:\d+: the lock is damaged: "),
        ("version:", "versoin:", "the lock is damaged: "),
    ],
)
def test_a_lock_that_was_edited_says_how_to_get_a_sound_one(
    locked: Path, tmp_path: Path, engines_env: Env, old: str, new: str, message: str
) -> None:
    file = locked / "argosy.lock"
    file.write_text(file.read_text().replace(old, new, 1))
    cache = tmp_path / "cache"
    for use in (
        lambda: run(locked, engines_env, cache),
        lambda: check_lock(locked, blobs=BlobStore(cache)),
        lambda: lock(locked, cache),
    ):
        with pytest.raises(ArgosyError, match=message) as caught:
            use()
        assert "restore it from git, or remove it and run `argosy lock`" in str(caught.value)
    file.unlink()
    lock(locked, cache)
    assert run(locked, engines_env, cache).objects == 1


@pytest.mark.parametrize("content", ["", "junk", "[]", "{}", '{"format": 99}'])
def test_a_damaged_index_is_rendered_anew(
    one_app: Path, tmp_path: Path, engines_env: Env, content: str
) -> None:
    run(one_app, engines_env, tmp_path / "cache")
    before = tree(one_app)
    (one_app / "rendered/default/index.json").write_text(content)
    assert set(run(one_app, engines_env, tmp_path / "cache").built) == {"one"}
    assert tree(one_app) == before


@pytest.mark.parametrize("name", ["../../../platform.yaml", "..", "a/b"])
def test_an_index_that_leads_out_of_the_tree_is_not_followed(
    one_app: Path, tmp_path: Path, engines_env: Env, name: str
) -> None:
    run(one_app, engines_env, tmp_path / "cache")
    file = one_app / "rendered/default/index.json"
    index = json.loads(file.read_text())
    index["apps"]["one"]["files"] = {name: "0"}
    file.write_text(json.dumps(index))
    with pytest.raises(ArgosyError, match="there is no rendered tree"):
        load_rendered(one_app, "default")
    file.write_text(json.dumps({**index, "apps": {name: index["apps"]["one"]}}))
    assert read_index(one_app, "default") is None
    assert set(run(one_app, engines_env, tmp_path / "cache").built) == {"one"}


def _lock_left(copy: Path) -> None:
    for name in ("shallow.lock", "config.lock", "HEAD.lock"):
        (copy / name).touch()


def _head_gone(copy: Path) -> None:
    (copy / "HEAD").write_text("")


def _objects_gone(copy: Path) -> None:
    shutil.rmtree(copy / "objects")


def _objects_damaged(copy: Path) -> None:
    for file in (copy / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            file.write_bytes(b"junk")


def _config_damaged(copy: Path) -> None:
    (copy / "config").write_text("[[[")


@pytest.mark.parametrize(
    "damage", [_lock_left, _head_gone, _objects_gone, _objects_damaged, _config_damaged]
)
def test_a_damaged_copy_of_a_repository_is_fetched_anew(
    locked: Path, tmp_path: Path, repository: Repository, damage: Callable[[Path], None]
) -> None:
    cache = tmp_path / "cache"
    write_files(repository.root, {"deploy/a.yaml": deployment("b")})
    new = repository.commit("v1.0.0")
    damage(next(cache.glob("git/**/HEAD")).parent)
    moves = update_source(
        locked, "up", fetcher=Network(cache, env=os.environ), blobs=BlobStore(cache)
    )
    assert [move.new_commit for move in moves] == [new]


def test_a_copy_that_is_damaged_between_two_files_is_fetched_anew(
    locked: Path, tmp_path: Path, repository: Repository
) -> None:
    write_files(repository.root, {"other/b.yaml": "b: 1\n"})
    repository.commit("v2")
    cache = tmp_path / "cache"
    tree = Network(cache, env=os.environ).tree(GitRef(repository.url, "", "v2"))
    assert tree.read("deploy/a.yaml").decode() == deployment("a")
    _objects_damaged(next(cache.glob("git/**/HEAD")).parent)
    assert tree.read("other/b.yaml") == b"b: 1\n"
    assert (locked / "argosy.lock").exists()


def test_a_full_disk_while_git_fetches_is_one_sentence(
    tmp_path: Path, repository: Repository
) -> None:
    (repository.root / "big").write_bytes(os.urandom(3 << 20))
    repository.commit("v1.0.0")
    with small_disk(tmp_path / "disk") as disk:
        network, ref = Network(disk / "cache", env=os.environ), GitRef(repository.url, "", "v1.0.0")
        with pytest.raises(DiskError, match=r"cannot write .*: no space is left on the disk; free"):
            network.tree(ref).read("big")
