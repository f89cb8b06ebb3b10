"""A lock pins everything that moves, or says with file and line what it refuses."""

from __future__ import annotations

import pytest
from msgspec import structs

from argosy import yaml
from argosy.errors import Location
from argosy.sources.errors import FetchError, LockError, PathError
from argosy.sources.fetch import Mirror
from argosy.sources.lock import (
    Lock,
    LockedTree,
    app_closure,
    app_digest,
    dump_lock,
    read_lock,
    write_lock,
)
from argosy.sources.network import Network
from argosy.sources.remote import ChartRef, FileRef, GitRef, LocalRef
from argosy.sources.resolve import Request, Waiver, check, moves, resolve, update

MANIFESTS = "github.com/kubeflow/manifests"


@pytest.fixture
def mirror(write) -> Mirror:
    """Two sources, one of them met in the other's kustomization, and a release asset."""
    root = write(
        "mirror",
        {
            "h.io/o/apps/v1/web/kustomization.yaml": "resources:\n- d.yaml\n"
            "- https://h.io/o/base//core?ref=v2\n- https://h.io/o/crds/releases/download/v3/c.yaml\n",
            "h.io/o/apps/v1/web/d.yaml": "kind: D\n",
            "h.io/o/apps/v1/db/kustomization.yaml": "resources: [e.yaml]\n",
            "h.io/o/apps/v1/db/e.yaml": "kind: E\n",
            "h.io/o/apps/v2/web/kustomization.yaml": "resources: [d.yaml, f.yaml]\n",
            "h.io/o/apps/v2/web/d.yaml": "kind: D2\n",
            "h.io/o/apps/v2/web/f.yaml": "kind: F\n",
            "h.io/o/apps/v1.commit": "1" * 40 + "\n",
            "h.io/o/base/v2/core/kustomization.yaml": "resources: [x.yaml]\n",
            "h.io/o/base/v2/core/x.yaml": "kind: X\n",
            "h.io/o/crds/releases/download/v3/c.yaml": "kind: C\n",
            "h.io/charts/redis-1.2.3.tgz": b"not looked into by a mirror",
        },
    )
    return Mirror(root)


def request(*paths: str, ref: str | None = "v1", name: str = "apps", where=None) -> Request:
    return Request(name, GitRef("https://h.io/o/apps", "", ref), paths or ("web",), where)


BASE = "h.io/o/base/v2"
CRDS = "h.io/o/crds/releases/download/v3/c.yaml"


def test_remotes_met_on_the_way_are_locked_as_well(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    assert sorted(lock.sources) == ["apps", BASE, CRDS]
    apps = lock.sources["apps"]
    assert (apps.kind, apps.url, apps.ref, apps.commit) == (
        "git",
        "https://h.io/o/apps",
        "v1",
        "1" * 40,
    )
    assert sorted(apps.files) == ["web/d.yaml", "web/kustomization.yaml"]
    assert lock.sources[BASE].commit is None
    assert sorted(lock.sources[CRDS].files) == ["c.yaml"]
    assert all(blobs.has(digest) for one in lock.sources.values() for digest in one.files.values())


def test_a_lock_file_is_stable_and_reads_back_the_same(mirror, blobs, tmp_path):
    place = tmp_path / "argosy.lock"
    lock = resolve([request("web", "db")], fetcher=mirror, blobs=blobs)
    again = resolve([request("db"), request("web")], fetcher=mirror, blobs=blobs)
    write_lock(lock, place)
    assert read_lock(place) == lock
    assert dump_lock(again) == dump_lock(lock) == place.read_text()
    assert list(yaml.load(place.read_text())["sources"]) == sorted(lock.sources)
    assert place.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda text: text.replace("d.yaml", "z.yaml"), "do not add up"),
        (lambda text: text.replace("web/d.yaml", "../d.yaml"), "leaves"),
        (lambda text: text.replace("web/d.yaml", "web//d.yaml"), "bad path"),
        (lambda text: text.replace("kind: git", "kind: svn"), "damaged"),
        (lambda text: text.replace("lock/v1", "lock/v9"), "version"),
        (lambda text: text + "<<<<<<< HEAD\n", "could not|expected|did not|argosy.lock"),
        (lambda _: "", "damaged"),
        (lambda _: "- 1\n", "damaged"),
    ],
)
def test_a_damaged_lock_is_refused(mirror, blobs, tmp_path, edit, why):
    place = tmp_path / "argosy.lock"
    write_lock(resolve([request()], fetcher=mirror, blobs=blobs), place)
    place.write_text(edit(place.read_text()))
    with pytest.raises(Exception, match=why) as caught:
        read_lock(place)
    assert caught.value.exit_code == 2
    assert "argosy.lock" in str(caught.value)


def test_a_lock_with_a_file_behind_a_link_is_refused(mirror, blobs, tmp_path):
    place = tmp_path / "argosy.lock"
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    bad = structs.replace(lock.sources["apps"], links={"web": "db"})
    write_lock(Lock({"apps": bad}), place)
    with pytest.raises(LockError, match=r"web/d\.yaml is behind a link"):
        read_lock(place)


def test_a_missing_lock_says_what_to_do(tmp_path):
    with pytest.raises(LockError, match="run `argosy lock` first"):
        read_lock(tmp_path / "argosy.lock")


@pytest.mark.parametrize(
    "ref", [None, "HEAD", "main", "master", "latest", "LATEST", "refs/heads/release"]
)
def test_refs_that_move_are_refused_with_their_place(mirror, blobs, ref):
    where = Location("platform.yaml", 7)
    with pytest.raises(LockError, match=r"^platform\.yaml:7: .*waive it with a reason"):
        resolve([request(ref=ref, where=where)], fetcher=mirror, blobs=blobs)


def test_a_moving_ref_inside_an_upstream_kustomization_is_refused_with_its_line(write, blobs):
    root = write(
        "m",
        {
            "h.io/o/apps/v1/kustomization.yaml": "resources:\n\n- https://h.io/o/base//x\n",
            "h.io/o/base/HEAD/x/kustomization.yaml": "resources: []",
        },
    )
    with pytest.raises(LockError, match="names no ref") as caught:
        resolve([request("")], fetcher=Mirror(root), blobs=blobs)
    assert str(caught.value).startswith("o/apps@v1/kustomization.yaml:3:")
    for waived in ("h.io/o/base/HEAD", "https://h.io/o/base"):
        lock = resolve(
            [request("")],
            fetcher=Mirror(root),
            blobs=blobs,
            waivers=[Waiver(waived, "we own it")],
        )
        assert sorted(lock.sources) == ["apps", "h.io/o/base/HEAD"]


@pytest.mark.parametrize(
    "ref",
    [
        FileRef("https://github.com/o/r/releases/latest/download/x.yaml"),
        FileRef("https://raw.githubusercontent.com/o/r/main/x.yaml"),
        ChartRef("https://h.io/charts", "redis", ""),
        ChartRef("https://h.io/charts", "redis", "latest"),
        ChartRef("https://h.io/charts", "redis", "^1.2.0"),
        ChartRef("https://h.io/charts", "redis", "1.x"),
        ChartRef("https://h.io/charts", "redis", ">=1 <2"),
    ],
)
def test_files_and_charts_that_move_are_refused(mirror, blobs, ref):
    with pytest.raises(LockError, match="moves"):
        resolve([Request("it", ref, ("x",))], fetcher=mirror, blobs=blobs)


def test_a_chart_is_locked_as_its_archive(mirror, blobs):
    ref = ChartRef("https://h.io/charts", "redis", "1.2.3")
    lock = resolve([Request("redis", ref, ("redis-1.2.3.tgz",))], fetcher=mirror, blobs=blobs)
    assert lock.sources["redis"].remote == ref
    assert list(lock.sources["redis"].files) == ["redis-1.2.3.tgz"]


def test_the_users_own_folder_is_not_locked_but_its_remotes_are(mirror, blobs, write):
    own = write("own", {"k/kustomization.yaml": "resources: [https://h.io/o/base//core?ref=v2]"})
    lock = resolve([Request("local", LocalRef(own), ("k",))], fetcher=mirror, blobs=blobs)
    assert list(lock.sources) == [BASE]


def test_what_a_mirror_does_not_have_is_named_with_where_it_would_be(mirror, blobs):
    with pytest.raises(FetchError, match=r"does not have o/apps@v9; it would be .*/h.io/o/apps/v9"):
        resolve([request(ref="v9")], fetcher=mirror, blobs=blobs)


def test_the_closure_of_one_app_and_its_digest_follow_the_lock(mirror, blobs):
    lock = resolve([request("web", "db")], fetcher=mirror, blobs=blobs)
    web = app_closure(lock, "apps", "web", blobs=blobs)
    assert {name: one.files for name, one in web.items()} == {
        "apps": ("web/d.yaml", "web/kustomization.yaml"),
        BASE: ("core/kustomization.yaml", "core/x.yaml"),
        CRDS: ("c.yaml",),
    }
    alone = resolve([request("web")], fetcher=mirror, blobs=blobs)
    assert app_digest(alone, web) == app_digest(lock, web)
    assert app_digest(lock, app_closure(lock, "apps", "db", blobs=blobs)) != app_digest(lock, web)


def test_what_is_locked_stays_and_is_not_fetched_again(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    (mirror.root / "h.io/o/apps/v1/web/d.yaml").write_text("kind: Changed\n")
    assert resolve([request()], fetcher=mirror, blobs=blobs, previous=lock) == lock
    assert resolve([request()], fetcher=mirror, blobs=blobs) != lock


def test_more_of_a_locked_source_is_fetched_at_its_commit_and_compared(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    wider = resolve([request("web", "db")], fetcher=mirror, blobs=blobs, previous=lock)
    assert wider == resolve([request("web", "db")], fetcher=mirror, blobs=blobs)
    (mirror.root / "h.io/o/apps/v1/web/d.yaml").write_text("kind: Changed\n")
    with pytest.raises(LockError, match=r"has changed since it was locked: web/d\.yaml"):
        resolve([request("web", "db")], fetcher=mirror, blobs=blobs, previous=lock)
    (mirror.root / "h.io/o/apps/v1.commit").write_text("2" * 40)
    with pytest.raises(FetchError, match="has commit 222222222222 of o/apps@v1, not 111111111111"):
        resolve([request("web", "db")], fetcher=mirror, blobs=blobs, previous=lock)


def test_an_update_moves_one_source_and_says_what_moves(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    (mirror.root / "h.io/o/base/v2/core/x.yaml").write_text("kind: Changed\n")
    new, moved = update(lock, "apps", [request(ref="v2")], fetcher=mirror, blobs=blobs)
    assert sorted(new.sources) == ["apps"]
    apps, base, crds = moved
    assert (apps.name, apps.old_ref, apps.new_ref, apps.old_commit) == (
        "apps",
        "v1",
        "v2",
        "1" * 40,
    )
    assert (apps.added, apps.removed, apps.changed) == (
        ("web/f.yaml",),
        (),
        ("web/d.yaml", "web/kustomization.yaml"),
    )
    assert (base.name, base.new_ref, len(base.removed)) == (BASE, None, 2)
    assert (crds.name, crds.removed) == (CRDS, ("c.yaml",))
    same, moved = update(lock, BASE, [request()], fetcher=mirror, blobs=blobs)
    assert [(move.name, move.changed) for move in moved] == [(BASE, ("core/x.yaml",))]
    assert moves(same, same) == []


def test_an_update_of_a_source_that_is_not_there_names_those_that_are(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    with pytest.raises(LockError, match=r"no source nope; sources are: apps, h\.io"):
        update(lock, "nope", [request()], fetcher=mirror, blobs=blobs)


def test_check_finds_what_is_missing_spare_or_different_without_a_fetcher(mirror, blobs):
    lock = resolve([request("web", "db")], fetcher=mirror, blobs=blobs)
    assert check(lock, [request("web", "db")], blobs=blobs) == []
    assert check(lock, [request("web")], blobs=blobs) == [
        "apps has 2 locked files that nothing needs"
    ]
    assert check(lock, [request("db")], blobs=blobs)[1:] == [
        f"{BASE} is locked but not needed",
        f"{CRDS} is locked but not needed",
    ]
    where = Location("platform.yaml", 3)
    (problem,) = check(lock, [request("web", "other", where=where)], blobs=blobs)
    assert problem.startswith("platform.yaml:3: more of o/apps@v1 at 111111111111 is needed")
    assert check(lock, [request(ref="v2")], blobs=blobs) == [
        "o/apps@v2 is needed but not locked; run `argosy lock`"
    ]


def test_a_damaged_blob_is_fetched_again_or_named(mirror, blobs):
    lock = resolve([request()], fetcher=mirror, blobs=blobs)
    source = lock.sources["apps"]
    place = blobs.path(source.files["web/d.yaml"])
    place.chmod(0o644)
    place.write_text("damaged")
    with pytest.raises(LockError, match=r"apps/web/d\.yaml is locked but not in the cache"):
        LockedTree(source, blobs).read("web/d.yaml")
    assert LockedTree(source, blobs, fetcher=mirror).read("web/d.yaml") == b"kind: D\n"
    assert LockedTree(source, blobs).read("web/d.yaml") == b"kind: D\n"
    place.unlink()
    (mirror.root / "h.io/o/apps/v1/web/d.yaml").write_text("kind: Other\n")
    with pytest.raises(LockError, match="is not what was locked: sha256"):
        LockedTree(source, blobs, fetcher=mirror).read("web/d.yaml")


def test_git_and_a_mirror_give_the_same_digest(new_upstream, cache, env, blobs, write):
    files = {
        "web/kustomization.yaml": "resources: [d.yaml, link.yaml]",
        "web/d.yaml": "kind: D",
        "web/link.yaml": "-> ../real.yaml",
        "real.yaml": "kind: R",
    }
    repository = new_upstream("apps")
    commit = repository.commit(files, tag="v1")
    ref = GitRef(repository.url, "", "v1")
    from argosy.sources.remote import remote_name

    root = write("m", {f"{remote_name(ref)}/{k}": v for k, v in files.items() if "link" not in k})
    (root / remote_name(ref) / "web/link.yaml").symlink_to("../real.yaml")
    asked = [Request("apps", ref, ("web",))]
    by_git = resolve(asked, fetcher=Network(cache, env=env), blobs=blobs).sources["apps"]
    by_mirror = resolve(asked, fetcher=Mirror(root), blobs=blobs).sources["apps"]
    assert by_git.digest == by_mirror.digest
    assert (by_git.commit, by_mirror.commit) == (commit, None)
    assert by_git.links == {"web/link.yaml": "../real.yaml"}


def test_a_submodule_on_the_way_is_refused(new_upstream, cache, env, blobs):
    inner, outer = new_upstream("inner"), new_upstream("outer")
    inner.commit({"kustomization.yaml": "{}"}, tag="v1")
    outer.commit({"kustomization.yaml": "resources: [sub]"})
    outer.add_submodule(inner, "sub", tag="v1")
    with pytest.raises(PathError, match="sub is a git submodule"):
        resolve(
            [Request("apps", GitRef(outer.url, "", "v1"), ("",))],
            fetcher=Network(cache, env=env),
            blobs=blobs,
        )


@pytest.mark.upstream
def test_a_whole_kubeflow_release_locks_from_a_mirror(upstream, blobs, tmp_path):
    asked = [
        Request(
            "kubeflow", GitRef("https://github.com/kubeflow/manifests", "", "26.03"), ("example",)
        )
    ]
    for root in (upstream, upstream / "github.com"):  # either folder is understood
        lock = resolve(asked, fetcher=Mirror(root), blobs=blobs)
        assert {name: len(one.files) for name, one in lock.sources.items()} == {
            "github.com/argoproj/argo-workflows/v3.7.3": 20,
            "github.com/kubernetes-sigs/jobset/releases/download/v0.10.1/manifests.yaml": 1,
            "kubeflow": 545,
        }
    write_lock(lock, tmp_path / "argosy.lock")
    assert check(read_lock(tmp_path / "argosy.lock"), asked, blobs=blobs) == []
