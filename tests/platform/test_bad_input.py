"""Bad input: each mistake and each attack gets one sentence and leaves the tree as it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from argosy import yaml
from argosy.errors import ArgosyError
from argosy.manifests import ObjectId
from argosy.platform.config import load_platform
from argosy.platform.render import RenderReport, render
from argosy.platform.tree import file_name, load_rendered
from platforms import DEPLOYMENT, add_app, write_files, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    from repositories import Repository

Env = dict[str, str]
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: x}\n"


def config(name: str) -> str:
    return CONFIG.replace("NAME", name)


def plain(tmp_path: Path, **files: str | bytes) -> Path:
    """Write a platform with the app `one`, a folder of plain files (name__ext)."""
    root = write_platform(tmp_path / "p", "{name: one, path: one}")
    (root / "one").mkdir()
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (root / "one" / name.replace("__", ".")).write_bytes(data)
    return root


def run(root: Path, env: Env) -> RenderReport:
    return render(load_platform(root), cache=root.parent / "cache", env=env)


def names(root: Path) -> list[str]:
    return sorted(obj.id.name for obj in load_rendered(root, "default").objects())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"foo: 1\n", "one/a.yaml:1: the object has no apiVersion"),
        (b"---\n---\n" + config("b").encode() + b"---\nkind: A\n", "one/a.yaml:7: the object has"),
        (b"apiVersion: v1\nkind: A\nmetadata: {}\n", "one/a.yaml:1: the A has no name"),
        (b"apiVersion: v1\nkind: A\nmetadata: {name: 3}\n", "a name that is a number, not a text"),
        (b"apiVersion: [v1]\nkind: {}\nmetadata: 3\n", "an apiVersion that is a list, not a text"),
        (b"- a\n", "one/a.yaml:1: a Kubernetes object must be a mapping"),
        (b"a: [\n", "one/a.yaml:2:1: "),
        (b"\xff\xfe\x00", "one/a.yaml: byte 0 is not UTF-8 text"),
        (config("a").encode() + b"metadata: {name: b}\n", "the key `metadata` stands twice"),
        (b"apiVersion: v1\nkind: List\nitems: [{kind: A}]\n", "one/a.yaml:1: the object has no"),
        (config("b").encode(), r"app one renders ConfigMap x/b twice"),
    ],
)
def test_a_file_that_holds_no_object_is_named_with_its_line(
    tmp_path: Path, engines_env: Env, content: bytes, message: str
) -> None:
    root = plain(tmp_path, b__yaml=config("b"))
    run(root, engines_env)
    (root / "one" / "a.yaml").write_bytes(content)
    with pytest.raises(ArgosyError, match=message) as caught:
        run(root, engines_env)
    assert "\n" not in str(caught.value)
    assert names(root) == ["b"]


def test_lists_json_and_foreign_line_ends_become_objects_like_any_other(
    tmp_path: Path, engines_env: Env
) -> None:
    root = plain(
        tmp_path,
        list__yaml=f"apiVersion: v1\nkind: List\nitems:\n- {{{config('l').strip()}}}\n".replace(
            "\nkind: ConfigMap\nmetadata", ", kind: ConfigMap, metadata"
        ),
        j__json='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j","namespace":"x"}}',
        crlf__yaml=config("crlf").replace("\n", "\r\n") + "data:\r\n  a: |\r\n    b\r\n",
        bom__yaml="\ufeff" + config("bom"),
        empty__yaml="# nothing\n---\n",
    )
    run(root, engines_env)
    assert names(root) == ["bom", "crlf", "j", "l"]
    for file in (root / "rendered/default/one").iterdir():
        text = file.read_bytes().decode()
        assert text.startswith("apiVersion: v1\nkind: ConfigMap\nmetadata:")
        assert "\r" not in text


def test_a_folder_of_json_alone_is_an_app(tmp_path: Path, engines_env: Env) -> None:
    root = plain(
        tmp_path,
        j__json='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j","namespace":"x"}}',
    )
    run(root, engines_env)
    assert names(root) == ["j"]


@pytest.mark.parametrize(
    ("kind", "namespace", "name"),
    [
        ("../../../../pwn", "x", "a"),
        ("A", "../../../../pwn", "a"),
        ("A", "x", "../../../../pwn"),
        ("A", "x", "n" * 253),
        ("A/" * 90, "x" * 63, "n" * 253),
    ],
)
def test_no_name_of_an_object_leads_out_of_its_folder(
    tmp_path: Path, engines_env: Env, kind: str, namespace: str, name: str
) -> None:
    text = yaml.dump(
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    )
    root = plain(tmp_path, a__yaml=text)
    before = set(tmp_path.rglob("*"))
    run(root, engines_env)
    new = {p for p in set(tmp_path.rglob("*")) - before if not p.is_relative_to(tmp_path / "cache")}
    assert all(p.is_relative_to(root / "rendered") or ".argosy" in p.parts for p in new)
    assert names(root) == [name]


def test_long_names_that_begin_alike_are_files_apart() -> None:
    one, other = (file_name(ObjectId("", "A", "x" * 63, "n" * 250 + end)) for end in "ab")
    assert one != other
    assert max(len(one), len(other)) < 255


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("/etc/hostname", "is a link to /etc/hostname: the path /etc/hostname is absolute"),
        ("../../outside.yaml", "the path ../../outside.yaml leaves the source's tree"),
        ("a.yaml", "is a link that leads around in a circle"),
    ],
)
def test_a_link_out_of_the_platform_is_refused(
    tmp_path: Path, engines_env: Env, link: str, message: str
) -> None:
    root = plain(tmp_path)
    (tmp_path / "outside.yaml").write_text(config("secret"))
    (root / "one" / "a.yaml").symlink_to(link)
    with pytest.raises(ArgosyError, match=message) as caught:
        run(root, engines_env)
    assert str(caught.value).startswith("platform.yaml:7:")


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path, engines_env: Env) -> None:
    root = plain(tmp_path)
    os.mkfifo(root / "one" / "a.yaml")
    with pytest.raises(ArgosyError, match=r"one/a\.yaml is not a plain file"):
        run(root, engines_env)


@pytest.mark.parametrize(
    ("app", "more", "message"),
    [
        ("{name: one}", "", "the platform's own directory has no kustomization; name a folder"),
        ("{name: one, path: gone}", "", r"platform.yaml:7:\d+: app 'one': there is no gone"),
        ("{name: one, path: ../up}", "", "app 'one' lies outside the platform's directory: ../up"),
        ("{name: one, path: /etc}", "", "app 'one' lies outside the platform's directory: /etc"),
        (
            "{name: one, path: apps/one}",
            "  overlays: {one: ../up}\n",
            r"platform.yaml:8:\d+: the overlay '../up' lies outside the platform's directory",
        ),
        (
            "{name: one, path: apps/one}",
            "  overlays: {one: apps/one}\n",
            "one: kustomize failed: .*expected kind 'Component' for path 'apps/one'",
        ),
        (
            "{name: one, source: up, path: a}",
            "sources: {up: {git: /srv/up, ref: v1}}\n",
            r"platform.yaml:8:\d+: source 'up': '/srv/up' is not a URL for git; write it like",
        ),
        (
            "{name: one, source: up, chart: a, version: '1'}",
            "sources: {up: {helm: charts.acme.com}}\n",
            "'charts.acme.com' is not a URL for helm; write it like https://charts.acme.com",
        ),
        (
            "{name: one, source: up, version: '1'}",
            "sources: {up: {oci: ghcr.io/acme/web}}\n",
            "'ghcr.io/acme/web' is not a URL for oci; write it like oci://",
        ),
        (
            "{name: one, source: up}",
            "sources: {up: {file: file:///etc/passwd}}\n",
            "'file:///etc/passwd' is not a URL for file",
        ),
        (
            "{name: one, source: up, path: a}",
            "sources: {up: {git: 'https://h.io/o/r', ref: main, waive: ' '}}\n",
            "source 'up' waives the rule against moving refs without a reason",
        ),
    ],
)
def test_a_place_that_cannot_be_is_said_with_its_line(
    tmp_path: Path, engines_env: Env, app: str, more: str, message: str
) -> None:
    write_files(tmp_path, {"up/a.yaml": config("a")})
    root = write_platform(tmp_path / "p", app, more=more)
    add_app(root, "one", a=DEPLOYMENT.format(name="a", namespace="x"))
    with pytest.raises(ArgosyError, match=message) as caught:
        run(root, engines_env)
    assert "\n" not in str(caught.value)
    assert not (root / "rendered").exists()


@pytest.mark.parametrize("name", ["../x", "a/../../x", ".", "..", "", "a b", "-x"])
def test_the_name_of_an_environment_cannot_be_a_path(tmp_path: Path, name: str) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: one}")
    write_files(root, {"x.yaml": "{}", "envs/a.yaml": ""})
    with pytest.raises(ArgosyError, match="cannot be the name of an environment; use letters"):
        load_platform(root, name)


def test_an_empty_environment_is_platform_yaml_as_it_is(tmp_path: Path) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: one}")
    write_files(root, {"envs/a.yaml": "# nothing differs yet\n"})
    assert load_platform(root, "a").platform == load_platform(root).platform


def test_what_stays_on_the_machine_is_ignored_in_any_repository(
    tmp_path: Path, engines_env: Env, repository: Repository
) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: x}\nstringData: {a: b}\n"
    root = plain(tmp_path, a__yaml=config("a"), s__yaml=secret)
    render(
        load_platform(root), cache=tmp_path / "cache", env=engines_env, out=repository.root / "to"
    )
    untracked = repository.git("status", "--short", "-uall").split()[1::2]
    assert untracked == [
        "to/rendered/default/index.json",
        "to/rendered/default/one/configmap_x_a.yaml",
    ]
