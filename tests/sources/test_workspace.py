"""A workspace holds the locked files and nothing that points outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy import yaml
from argosy.sources.closure import closure
from argosy.sources.errors import LockError, PathError
from argosy.sources.fetch import Mirror
from argosy.sources.lock import Lock, app_closure, tree_closure
from argosy.sources.remote import GitRef, LocalRef
from argosy.sources.resolve import Request, resolve
from argosy.sources.trees import DirTree
from argosy.sources.workspace import Workspace, materialise

TOP = """\
# kept comment
resources:
- https://h.io/o/base//core?ref=v2   # kept, too
- https://h.io/o/crds/releases/download/v3/c.yaml
- d.yaml
patches:
  - path: https://h.io/o/crds/releases/download/v3/p.yaml
configMapGenerator:
- name: a
  files: [key=https://h.io/o/crds/releases/download/v3/f.json]
"""


@pytest.fixture
def mirror(write) -> Mirror:
    release = "h.io/o/crds/releases/download/v3"
    root = write(
        "mirror",
        {
            "h.io/o/apps/v1/web/deep/kustomization.yaml": TOP,
            "h.io/o/apps/v1/web/deep/d.yaml": "kind: D\n",
            "h.io/o/base/v2/core/kustomization.yaml": "resources: [x.yaml]\n",
            "h.io/o/base/v2/core/x.yaml": "kind: X\n",
            f"{release}/c.yaml": "kind: C\n",
            f"{release}/p.yaml": "kind: P\n",
            f"{release}/f.json": "{}\n",
        },
    )
    (root / "h.io/o/base/v2/core/y.yaml").symlink_to("x.yaml")
    (root / "h.io/o/base/v2/core/kustomization.yaml").write_text("resources: [y.yaml]\n")
    return Mirror(root)


@pytest.fixture
def lock(mirror, blobs) -> Lock:
    asked = [Request("apps", GitRef("https://h.io/o/apps", "", "v1"), ("web/deep",))]
    return resolve(asked, fetcher=mirror, blobs=blobs)


def test_files_are_linked_from_the_cache_and_remotes_become_local(lock, blobs, tmp_path):
    space = materialise(lock, tmp_path / "w", blobs=blobs)
    place = space.path("apps", "web/deep")
    assert (place / "d.yaml").stat().st_ino == blobs.path(
        lock.sources["apps"].files["web/deep/d.yaml"]
    ).stat().st_ino
    text = (place / "kustomization.yaml").read_text()
    assert "# kept comment" in text
    assert "# kept, too" in text
    assert "https://" not in text
    data = yaml.load(text)
    base, crd, plain = data["resources"]
    assert (place / base).resolve() == space.path("h.io/o/base/v2", "core").resolve()
    assert yaml.load((place / crd / "kustomization.yaml").read_text()) == {"resources": ["c.yaml"]}
    assert (place / crd / "c.yaml").read_text() == "kind: C\n"
    assert plain == "d.yaml"
    assert (place / data["patches"][0]["path"]).read_text() == "kind: P\n"
    key, _, file = data["configMapGenerator"][0]["files"][0].partition("=")
    assert key == "key"
    assert (place / file).read_text() == "{}\n"
    assert (place / file).parent.resolve() == place.resolve()  # kustomize reads none outside
    assert space.path("h.io/o/base/v2", "core/y.yaml").readlink() == Path("x.yaml")


def test_only_what_one_app_needs_is_laid_out(lock, blobs, tmp_path):
    only = app_closure(lock, "h.io/o/base/v2", "core", blobs=blobs)
    space = materialise(lock, tmp_path / "w", blobs=blobs, only=only)
    assert [place.name for place in space.dest.iterdir()] == ["h.io"]


def test_apps_that_share_files_are_laid_out_one_after_the_other(lock, blobs, tmp_path):
    space = Workspace(tmp_path / "w", lock, blobs=blobs)
    for _ in range(2):
        for name in lock.sources:
            space.add(name)
    assert space.path("h.io/o/base/v2", "core/y.yaml").is_symlink()


def test_a_transform_sees_every_file_and_replaces_some(lock, blobs, tmp_path):
    seen = []

    def stub(source: str, path: str, data: bytes) -> bytes | None:
        seen.append((source, path))
        return b"kind: Stub\n" if b"kind: C\n" in data else None

    space = materialise(lock, tmp_path / "w", blobs=blobs, transform=stub)
    crd = "h.io/o/crds/releases/download/v3/c.yaml"
    assert space.path(crd, "c.yaml").read_text() == "kind: Stub\n"
    assert blobs.get(lock.sources[crd].files["c.yaml"]) == b"kind: C\n"
    assert {(name, path) for name, one in lock.sources.items() for path in one.files} <= set(seen)


def test_a_damaged_blob_never_reaches_a_workspace(lock, blobs, mirror, tmp_path):
    digest = lock.sources["apps"].files["web/deep/d.yaml"]
    blobs.path(digest).chmod(0o644)
    blobs.path(digest).write_text("damaged")
    with pytest.raises(LockError, match="not in the cache"):
        materialise(lock, tmp_path / "w1", blobs=blobs)
    space = materialise(lock, tmp_path / "w2", blobs=blobs, fetcher=mirror)
    assert space.path("apps", "web/deep/d.yaml").read_text() == "kind: D\n"


def test_the_users_own_folder_joins_with_its_remotes_rewritten(mirror, blobs, write, tmp_path):
    own = write("own", {"k/kustomization.yaml": "resources: [https://h.io/o/base//core?ref=v2]"})
    lock = resolve([Request("local", LocalRef(own), ("k",))], fetcher=mirror, blobs=blobs)
    tree = DirTree(own)
    only = tree_closure(lock, "local", tree, "k", blobs)
    found = only.pop("local")
    assert found == closure(tree, ["k"])
    space = materialise(lock, tmp_path / "w", blobs=blobs, only=only)
    space.add_tree("local", tree, found)
    assert (space.path("local", "k") / "../../h.io/o/base/v2/core/x.yaml").is_file()
    assert "../../h.io/o/base/v2/core" in space.path("local", "k/kustomization.yaml").read_text()
    assert "https" in (own / "k/kustomization.yaml").read_text()


def test_a_remote_that_is_not_locked_is_named_with_its_line(blobs, write, tmp_path):
    own = write("own", {"kustomization.yaml": "resources:\n- https://h.io/o/r?ref=v2\n"})
    space = Workspace(tmp_path / "w", Lock(), blobs=blobs)
    with pytest.raises(LockError, match=r"kustomization\.yaml:2:.*does not have h\.io/o/r/v2"):
        space.add_tree("local", DirTree(own), closure(DirTree(own), [""]))


def test_the_callers_own_files_stay_inside(blobs, tmp_path):
    space = Workspace(tmp_path / "w", Lock(), blobs=blobs)
    assert space.write("apps/x/kustomization.yaml", "resources: []\n").read_text()
    with pytest.raises(PathError):
        space.write("../x", "")
