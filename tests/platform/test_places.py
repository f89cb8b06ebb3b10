"""Where apps come from: git by tag, branch and commit, overlays with remotes, environments."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from argosy.errors import ArgosyError
from argosy.platform.config import load_platform
from argosy.platform.locking import check_lock, lock_platform, update_source
from argosy.platform.render import RenderReport, render
from argosy.platform.tree import load_rendered
from argosy.sources.blobs import BlobStore
from argosy.sources.fetch import Mirror
from argosy.sources.lock import read_lock
from argosy.sources.network import Network
from argosy.sources.vendor import vendor
from platforms import write_files, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.sources.resolve import Move
    from repositories import Repository

Env = dict[str, str]
CONFIG = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: x}\ndata: {v: 'VALUE'}\n"
)


def config(name: str, value: object = "") -> str:
    return CONFIG.replace("NAME", name).replace("VALUE", str(value))


def publish(repository: Repository, tag: str, value: object) -> str:
    """Commit the folder `deploy` with one ConfigMap, tagged."""
    write_files(
        repository.root,
        {
            "deploy/kustomization.yaml": "resources: [a.yaml]\n",
            "deploy/a.yaml": config("a", value),
            "other/b.yaml": config("b", value),
        },
    )
    return repository.commit(tag)


def platform(root: Path, repository: Repository, ref: str, *, path: str = "deploy") -> Path:
    return write_platform(
        root,
        f"{{name: one, source: up, path: {path}}}",
        more=f"sources:\n  up: {{git: {repository.url}, {ref}}}\n",
    )


def lock(root: Path) -> list[Move]:
    cache = root.parent / "cache"
    return lock_platform(root, fetcher=Network(cache, env=os.environ), blobs=BlobStore(cache))[1]


def run(root: Path, env: Env, environment: str | None = None) -> RenderReport:
    return render(load_platform(root, environment), cache=root.parent / "cache", env=env)


def values(root: Path, env: str = "default") -> dict[str, str]:
    objects = load_rendered(root, env).objects()
    return {obj.id.name: obj.object()["data"]["v"] for obj in objects}


def test_a_tag_that_moves_changes_nothing_until_it_is_taken_up(
    tmp_path: Path, engines_env: Env, repository: Repository
) -> None:
    old = publish(repository, "v1", 1)
    root = platform(tmp_path / "p", repository, "ref: v1")
    lock(root)
    run(root, engines_env)
    new = publish(repository, "v1", 2)
    assert lock(root) == []
    run(root, engines_env)
    assert values(root) == {"a": "1"}
    cache = tmp_path / "cache"
    moves = update_source(
        root, "up", fetcher=Network(cache, env=os.environ), blobs=BlobStore(cache)
    )
    assert [(m.name, m.old_commit, m.new_commit, m.changed) for m in moves] == [
        ("up-v1", old, new, ("deploy/a.yaml",))
    ]
    run(root, engines_env)
    assert values(root) == {"a": "2"}


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("ref: main", r"platform.yaml:9:\d+: .*@main moves; pin a tag or a commit, or waive it"),
        ("ref: HEAD", "@HEAD moves"),
        ("ref: v9", r"platform.yaml:9:\d+: .* has no ref v9; name a tag or all 40 digits"),
        ("ref: --upload-pack=touch", "has no ref --upload-pack=touch"),
    ],
)
def test_a_ref_that_moves_or_is_missing_is_refused_with_its_line(
    tmp_path: Path, repository: Repository, ref: str, message: str
) -> None:
    publish(repository, "v1", 1)
    root = platform(tmp_path / "p", repository, ref)
    with pytest.raises(ArgosyError, match=message):
        lock(root)
    assert not (root / "argosy.lock").exists()


def test_a_branch_that_is_waived_is_locked_to_its_commit(
    tmp_path: Path, engines_env: Env, repository: Repository
) -> None:
    commit = publish(repository, "v1", 1)
    root = platform(tmp_path / "p", repository, "ref: main, waive: we try it out")
    lock(root)
    publish(repository, "v2", 2)
    run(root, engines_env)
    assert values(root) == {"a": "1"}
    assert read_lock(root / "argosy.lock").get("up-main").commit == commit


@pytest.mark.parametrize("path", ["deplyo", "../out", "/etc", "deploy/a.yaml/x"])
def test_a_path_that_is_not_in_the_source_is_refused_with_the_sources_line(
    tmp_path: Path, repository: Repository, path: str
) -> None:
    publish(repository, "v1", 1)
    root = platform(tmp_path / "p", repository, "ref: v1", path=path)
    with pytest.raises(ArgosyError, match=r"^platform.yaml:9:\d+: .*" + path):
        lock(root)


def test_a_link_out_of_a_repository_is_refused(tmp_path: Path, repository: Repository) -> None:
    publish(repository, "", 1)
    (repository.root / "deploy/a.yaml").unlink()
    (repository.root / "deploy/a.yaml").symlink_to("/etc/passwd")
    repository.commit("v1")
    root = platform(tmp_path / "p", repository, "ref: v1")
    with pytest.raises(ArgosyError, match=r"a\.yaml is a link to /etc/passwd: .* is absolute"):
        lock(root)


def test_environments_on_two_refs_share_one_lock_and_render_apart(
    tmp_path: Path, engines_env: Env, repository: Repository
) -> None:
    publish(repository, "v1", 1)
    publish(repository, "v2", 2)
    root = platform(tmp_path / "p", repository, "ref: v1")
    write_files(root, {"envs/next.yaml": "sources: {up: {ref: v2}}\n"})
    lock(root)
    run(root, engines_env)
    run(root, engines_env, "next")
    assert values(root) == {"a": "1"}
    assert values(root, "next") == {"a": "2"}
    assert set(read_lock(root / "argosy.lock").sources) == {"up-v1", "up-v2"}


def test_a_remote_in_an_overlay_of_ones_own_is_locked_vendored_and_rendered_offline(
    tmp_path: Path, engines_env: Env, repository: Repository
) -> None:
    publish(repository, "v1", 1)
    root = write_platform(
        tmp_path / "p", "{name: one, path: one}", more="  overlays: {one: over}\n"
    )
    write_files(
        root,
        {
            "one/c.yaml": config("c"),
            "over/kustomization.yaml": f"""\
                apiVersion: kustomize.config.k8s.io/v1alpha1
                kind: Component
                resources: ["{repository.url}//deploy?ref=v1"]
                """,
        },
    )
    lock(root)
    cache, found = tmp_path / "cache", read_lock(root / "argosy.lock")
    vendor(found, tmp_path / "mirror", blobs=BlobStore(cache))
    shutil.rmtree(cache)
    shutil.rmtree(repository.root)
    mirror = Mirror(tmp_path / "mirror")
    render(load_platform(root), cache=cache, env=engines_env, fetcher=mirror)
    assert values(root) == {"a": "1", "c": ""}
    assert check_lock(root, blobs=BlobStore(cache), fetcher=mirror) == []


def test_an_overlay_may_delete_an_object_and_generators_keep_their_hashes(
    tmp_path: Path, engines_env: Env
) -> None:
    root = write_platform(
        tmp_path / "p", "{name: one, path: one}", more="  overlays: {one: over}\n"
    )
    write_files(
        root,
        {
            "one/a.yaml": config("a"),
            "one/b.yaml": config("b"),
            "one/kustomization.yaml": """\
                resources: [a.yaml, b.yaml]
                configMapGenerator: [{name: gen, namespace: x, literals: [v=1]}]
                """,
            "over/kustomization.yaml": """\
                apiVersion: kustomize.config.k8s.io/v1alpha1
                kind: Component
                patches:
                - patch: |
                    apiVersion: v1
                    kind: ConfigMap
                    metadata: {name: a, namespace: x}
                    $patch: delete
                """,
        },
    )
    run(root, engines_env)
    first = set(values(root))
    assert {name.partition("-")[0] for name in first} == {"b", "gen"}
    file = root / "one/kustomization.yaml"
    file.write_text(file.read_text().replace("v=1", "v=2"))
    run(root, engines_env)
    assert len(set(values(root)) - first) == 1


def test_the_source_kubeflow_stands_for_upstreams_own_repository(
    tmp_path: Path, upstream: Path
) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / "platform.yaml").write_text(
        'apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: t}\nkubeflow: "26.03"\n'
        "sources: {kubeflow: {git: https://git.acme.com/fork/manifests, ref: acme-1}}\n"
        "apps: {include: [cert-manager]}\n"
    )
    fork = tmp_path / "mirror/git.acme.com/fork/manifests/acme-1"
    fork.parent.mkdir(parents=True)
    shutil.copytree(upstream / "github.com/kubeflow/manifests/26.03/common", fork / "common")
    found, _ = lock_platform(
        root, fetcher=Mirror(tmp_path / "mirror"), blobs=BlobStore(tmp_path / "cache")
    )
    assert found.get("kubeflow-acme-1").url == "https://git.acme.com/fork/manifests"
