"""A vendored mirror holds what the lock names, and can be proven to, without a network."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from argosy.sources.errors import PathError
from argosy.sources.fetch import Mirror
from argosy.sources.network import Network
from argosy.sources.remote import GitRef
from argosy.sources.resolve import Request, resolve
from argosy.sources.vendor import has_route, isolated, vendor, verify

FILES = {
    "web/kustomization.yaml": "resources: [d.yaml, l.yaml]\n",
    "web/d.yaml": "kind: D\n",
    "web/l.yaml": "-> d.yaml",
    "unused.yaml": "kind: U\n",
}


@pytest.fixture
def asked(new_upstream) -> list[Request]:
    repository = new_upstream("apps")
    repository.commit(FILES, tag="v1")
    return [Request("apps", GitRef(repository.url, "", "v1"), ("web",))]


@pytest.fixture
def lock(asked, cache, env, blobs):
    return resolve(asked, fetcher=Network(cache, env=env), blobs=blobs)


def test_a_mirror_gives_the_same_lock_as_the_network(asked, lock, blobs, tmp_path):
    mirror = tmp_path / "mirror"
    assert vendor(lock, mirror, blobs=blobs) == 4  # two files, a link, the commit's record
    assert verify(lock, mirror) == []
    assert resolve(asked, fetcher=Mirror(mirror), blobs=blobs) == lock
    assert not list(mirror.glob("**/unused.yaml"))


def test_vendoring_again_writes_nothing_and_heals_what_was_cut_off(lock, blobs, tmp_path):
    mirror = tmp_path / "mirror"
    vendor(lock, mirror, blobs=blobs)
    assert vendor(lock, mirror, blobs=blobs) == 0
    place = next(mirror.glob("**/d.yaml"))
    place.write_text("half")
    assert vendor(lock, mirror, blobs=blobs) == 1
    assert verify(lock, mirror) == []


def test_a_folder_in_the_way_is_named(lock, blobs, tmp_path):
    mirror = tmp_path / "mirror"
    vendor(lock, mirror, blobs=blobs)
    place = next(mirror.glob("**/d.yaml"))
    place.unlink()
    place.mkdir()
    with pytest.raises(PathError, match=r"d\.yaml is a folder"):
        vendor(lock, mirror, blobs=blobs)


@pytest.mark.parametrize(
    ("name", "damage", "why"),
    [
        ("d.yaml", lambda place: place.write_text("kind: Other\n"), "is not what is locked"),
        ("d.yaml", lambda place: place.unlink(), "is missing"),
        ("l.yaml", lambda place: (place.unlink(), place.write_text("")), "is not a link to d.yaml"),
        ("v1.commit", lambda place: place.unlink(), "record of its commit is missing"),
        ("v1.commit", lambda place: place.write_text("2" * 40), "has commit 222222222222"),
        ("v1.commit", lambda place: place.write_text("x"), "record is not a commit"),
        ("v1", lambda place: place.rename(place.with_name("v2")), "does not have"),
    ],
)
def test_what_a_mirror_lacks_or_has_wrong_is_named(lock, blobs, tmp_path, name, damage, why):
    mirror = tmp_path / "mirror"
    vendor(lock, mirror, blobs=blobs)
    damage(next(mirror.glob(f"**/{name}")))
    problems = verify(lock, mirror)
    assert len(problems) == 1
    assert why in problems[0]


def test_a_proof_can_run_where_no_network_exists(env):
    script = "from argosy.sources.vendor import has_route; print(has_route())"
    command = isolated([sys.executable, "-c", script], env=env)
    if command is None:
        pytest.skip("this system allows no network namespaces")
    done = subprocess.run(
        command,
        env={**env, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_without_the_command_there_is_no_isolation(tmp_path):
    assert isolated(["true"], env={"PATH": str(tmp_path)}) is None
    assert has_route() in {True, False}


@pytest.mark.upstream
def test_a_whole_release_is_vendored_and_proven(upstream, blobs, tmp_path):
    asked = [
        Request("kf", GitRef("https://github.com/kubeflow/manifests", "", "26.03"), ("example",))
    ]
    lock = resolve(asked, fetcher=Mirror(upstream), blobs=blobs)
    assert vendor(lock, tmp_path / "mirror", blobs=blobs) == 566
    assert verify(lock, tmp_path / "mirror") == []
    assert verify(lock, upstream) == []
