"""Locking a platform: what the catalogue knows of a tag, and what an update moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from argosy.platform.catalogue import load_catalogue
from argosy.platform.locking import check_lock, lock_platform, update_source
from argosy.sources.blobs import BlobStore
from argosy.sources.errors import LockError
from argosy.sources.fetch import Mirror
from argosy.sources.lock import read_lock
from platforms import write_files

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: p}\n"
TREE = "mirror/github.com/kubeflow/manifests/26.03"
APP = "common/kubeflow-roles/base"


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """A platform of one small catalogued app, and a mirror that has it without a record."""
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
    write_files(
        tmp_path,
        {
            "p/platform.yaml": f'{HEAD}kubeflow: "26.03"\napps: {{include: [kubeflow-roles]}}\n',
            f"{TREE}/{APP}/kustomization.yaml": "resources: [r.yaml]\n",
            f"{TREE}/{APP}/r.yaml": role,
        },
    )
    return tmp_path


def lock(at: Path) -> None:
    blobs = BlobStore(at / "cache")
    lock_platform(at / "p", fetcher=Mirror(at / "mirror"), blobs=blobs)


def test_the_catalogue_says_what_a_mirror_without_records_cannot(platform: Path) -> None:
    lock(platform)
    [source] = read_lock(platform / "p/argosy.lock").sources.values()
    assert source.commit == load_catalogue("26.03").source.commit
    assert sorted(source.files) == [f"{APP}/kustomization.yaml", f"{APP}/r.yaml"]


def test_a_catalogued_tag_that_was_moved_is_refused(platform: Path) -> None:
    (platform / f"{TREE}.commit").write_text("0" * 40 + "\n")
    with pytest.raises(LockError, match="somebody moved the tag"):
        lock(platform)
    assert not (platform / "p/argosy.lock").exists()


def test_locking_again_keeps_what_is_locked_and_update_moves_it(platform: Path) -> None:
    lock(platform)
    before = (platform / "p/argosy.lock").read_bytes()
    role = platform / TREE / APP / "r.yaml"
    role.write_text(role.read_text() + "rules: []\n")
    lock(platform)
    assert (platform / "p/argosy.lock").read_bytes() == before
    found = {"fetcher": Mirror(platform / "mirror"), "blobs": BlobStore(platform / "cache")}
    [looked] = update_source(platform / "p", "kubeflow", dry_run=True, **found)  # type: ignore[arg-type]
    assert (platform / "p/argosy.lock").read_bytes() == before
    [moved] = update_source(platform / "p", "kubeflow", **found)  # type: ignore[arg-type]
    assert looked == moved
    assert moved.changed == (f"{APP}/r.yaml",)
    assert check_lock(platform / "p", blobs=BlobStore(platform / "cache")) == []


def test_a_lock_that_does_not_cover_the_selection_is_said(platform: Path) -> None:
    lock(platform)
    text = (platform / "p/platform.yaml").read_text()
    (platform / "p/platform.yaml").write_text(text.replace("-roles", "-namespace"))
    problems = check_lock(platform / "p", blobs=BlobStore(platform / "cache"))
    assert len(problems) == 1
    assert "more of kubeflow/manifests@26.03" in problems[0]
    assert problems[0].endswith("is needed than is locked; run `argosy lock`")
