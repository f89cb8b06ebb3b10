"""Explanations of small platforms: every way in which a value can come to be as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from argosy.manifests import Match, parse_path
from argosy.platform.config import load_platform
from argosy.platform.explain import explain
from argosy.platform.explain_blame import differences
from argosy.platform.explain_field import FieldError, line_of, locate
from argosy.platform.explain_live import owners_of, tell_live
from argosy.platform.explain_target import TargetError, find_target, parts_of
from argosy.platform.explain_text import lines, to_dict
from argosy.platform.render import render
from argosy.platform.tree import Index, IndexedApp, TreeError, read_index
from platforms import DEPLOYMENT, add_app, write_files, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.explain_model import Explanation

Env = dict[str, str]
WEB = DEPLOYMENT.format(name="web", namespace="team")
OVERLAY = {
    "overlays/one/kustomization.yaml": """\
        apiVersion: kustomize.config.k8s.io/v1alpha1
        kind: Component
        patches:
        - path: more.yaml
        - patch: |-
            - op: add
              path: /spec/template/spec/containers/0/args
              value: [--verbose]
          target: {kind: Deployment, name: web}
        """,
    "overlays/one/more.yaml": """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, namespace: team}
        spec:
          replicas: 3
          template:
            metadata:
              annotations:
                domain: <<__domain__>>
        """,
}
KUSTOMIZATION = """\
    namespace: prod
    namePrefix: my-
    resources: [../base]
    labels:
    - pairs: {team: red}
    images:
    - name: example.com/web
      newTag: "2.0"
    configMapGenerator:
    - name: settings
      literals: [mode=fast, depth=3]
    """


@pytest.fixture
def platform(tmp_path: Path, engines_env: Env) -> Path:
    """Return a platform with a base, a kustomization over it and an overlay over that."""
    root = write_platform(
        tmp_path / "p",
        "{name: one, path: apps/one}",
        "{name: two, path: apps/two}",
        more="  overlays: {one: overlays/one}\nvalues:\n  domain: ml.example.com\n",
    )
    add_app(root, "one", web=WEB)
    add_app(root, "base", web=WEB)
    write_files(root, {"apps/two/kustomization.yaml": KUSTOMIZATION, **OVERLAY})
    render(load_platform(root), cache=tmp_path / "cache", env=engines_env)
    return root


@pytest.fixture
def ask(platform: Path, tmp_path: Path, engines_env: Env) -> object:
    def asked(what: str, namespace: str | None = None) -> Explanation:
        loaded = load_platform(platform)
        return explain(
            loaded, what, namespace=namespace, cache=tmp_path / "cache", environ=engines_env
        )

    return asked


def told(found: Explanation) -> list[tuple[str, str]]:
    return [(step.what, str(step.where)) for step in found.steps]


def test_an_object_names_its_app_its_file_and_who_asked_for_it(ask: object) -> None:
    found = ask("deploy/web")  # type: ignore[operator]
    assert (found.app, str(found.origin)) == ("one", "apps/one/web.yaml:1")
    assert found.rendered == "rendered/default/one/deployment.apps_team_web.yaml"
    assert str(found.asked) == "platform.yaml:7"


def test_an_overlay_is_named_by_the_line_of_its_patch(ask: object) -> None:
    found = ask("deploy/web:spec.replicas")  # type: ignore[operator]
    assert (found.first, found.value) == (1, 3)
    assert str(found.set_by) == "overlays/one/more.yaml:5"
    assert str(found.steps[0].via) == "overlays/one/kustomization.yaml:4"


def test_a_json_patch_is_named_by_its_operation(ask: object) -> None:
    found = ask("deploy/web:spec.template.spec.containers[name=main].args")  # type: ignore[operator]
    assert told(found) == [("patch", "overlays/one/kustomization.yaml:7")]


def test_a_placeholder_names_the_patch_and_the_value(ask: object) -> None:
    found = ask("deploy/web:spec.template.metadata.annotations.domain")  # type: ignore[operator]
    assert found.value == "ml.example.com"
    assert told(found) == [("patch", "overlays/one/more.yaml:9"), ("value", "platform.yaml:11")]


@pytest.mark.parametrize(
    ("field", "what", "line"),
    [
        ("metadata.name", "namePrefix", 2),
        ("metadata.namespace", "namespace", 1),
        ("metadata.labels.team", "labels", 5),
        ("spec.template.spec.containers[0].image", "images", 7),
    ],
)
def test_each_transform_is_named_by_its_line(ask: object, field: str, what: str, line: int) -> None:
    found = ask(f"deployment/my-web:{field}")  # type: ignore[operator]
    assert told(found) == [(what, f"apps/two/kustomization.yaml:{line}")]
    assert all(step.sure for step in found.steps)


def test_a_field_that_nothing_touched_is_named_by_its_line(ask: object) -> None:
    found = ask("deployment/my-web:spec.replicas")  # type: ignore[operator]
    assert (str(found.set_by), found.steps) == ("apps/base/web.yaml:7", [])


def test_a_generated_object_is_named_by_its_literal(ask: object, platform: Path) -> None:
    index = read_index(platform, "default")
    assert index is not None
    (name,) = [parts_of(f)[2] for f in index.apps["two"].files if f.startswith("configmap")]
    found = ask(f"cm/{name}:data.depth")  # type: ignore[operator]
    assert found.said == "configMapGenerator"
    assert str(found.set_by) == "apps/two/kustomization.yaml:11"


def test_plain_yaml_is_named_by_file_and_line(tmp_path: Path, engines_env: Env) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    write_files(root, {"apps/one/all.yaml": f"# first\n{WEB}"})
    render(load_platform(root), cache=tmp_path / "cache", env=engines_env)
    loaded = load_platform(root)
    found = explain(
        loaded, "deploy/web:spec.replicas", cache=tmp_path / "cache", environ=engines_env
    )
    assert str(found.set_by) == "apps/one/all.yaml:8"


def test_a_tree_that_is_stale_is_said_to_be(ask: object, platform: Path) -> None:
    file = platform / "overlays/one/more.yaml"
    file.write_text(file.read_text().replace("replicas: 3", "replicas: 4"))
    found = ask("deploy/web")  # type: ignore[operator]
    assert any("run `argosy render`" in note for note in found.notes)


def test_text_and_json_say_the_same(ask: object) -> None:
    found = ask("deploy/web:spec.replicas")  # type: ignore[operator]
    shown = to_dict(found)
    assert shown["field"]["setBy"]["line"] == 5
    assert shown["field"]["value"] == 3
    assert json.loads(json.dumps(shown)) == shown
    assert any("overlays/one/more.yaml:5" in line for line in lines(found))


@pytest.mark.parametrize("word", ["deploy", "Deployment", "deployments", "deployment.apps"])
def test_kinds_are_taken_as_kubectl_takes_them(ask: object, word: str) -> None:
    assert ask(f"{word}/web").id.name == "web"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("web", "'web' names no object; write KIND/NAME"),
        ("deploymnt/web", "nothing of kind 'deploymnt' is rendered; did you mean 'deployment'"),
        ("deploy/wab", "no deploy named 'wab' is rendered; did you mean 'web'"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(ask: object, asked: str, said: str) -> None:
    with pytest.raises(TargetError) as error:
        ask(asked)  # type: ignore[operator]
    assert said in str(error.value)


def test_another_namespace_is_answered_with_the_right_one(ask: object) -> None:
    with pytest.raises(TargetError, match="in namespace default; there is one in team"):
        ask("deploy/web", "default")  # type: ignore[operator]


def test_a_field_that_is_not_there_is_answered_with_the_nearest(ask: object) -> None:
    with pytest.raises(FieldError, match="no `replica` in `spec`; did you mean 'replicas'"):
        ask("deploy/web:spec.replica")  # type: ignore[operator]


def test_without_a_tree_render_is_asked_for(tmp_path: Path, engines_env: Env) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    add_app(root, "one", web=WEB)
    with pytest.raises(TreeError, match="there is no rendered tree"):
        explain(load_platform(root), "deploy/web", cache=tmp_path, environ=engines_env)


def test_the_command_prints_and_ends_well(platform: Path, tmp_path: Path, engines_env: Env) -> None:
    command = [
        sys.executable,
        "-m",
        "argosy.cli.main",
        "explain",
        "deploy/web",
        "-C",
        str(platform),
    ]
    env = {**os.environ, **engines_env, "ARGOSY_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Deployment.apps team/web\n")


# --- names -------------------------------------------------------------------------------------


def index_of(**apps: list[str]) -> Index:
    entries = {name: IndexedApp((), "", dict.fromkeys(files, "")) for name, files in apps.items()}
    return Index(1, "test", "", "1.35", {}, entries)


def nothing(app: str, file: str) -> str:
    raise AssertionError((app, file))


def test_a_name_in_two_namespaces_is_listed() -> None:
    index = index_of(
        a=["role.rbac.authorization.k8s.io_x_r.yaml"], b=["role.rbac.authorization.k8s.io_y_r.yaml"]
    )
    with pytest.raises(TargetError, match="fits 2 objects") as error:
        find_target("role/r", namespace=None, index=index, read=nothing)
    assert "-n x" in str(error.value)
    assert find_target("role/r", namespace="y", index=index, read=nothing).app == "b"


def test_names_with_colons_are_told_from_fields() -> None:
    index = index_of(a=["clusterrole.rbac.authorization.k8s.io__a%3Ab.yaml"])
    found = find_target("clusterrole/a:b:rules", namespace=None, index=index, read=nothing)
    assert (found.name, found.path) == ("a:b", "rules")


def test_short_names_of_the_trees_own_definitions_are_known() -> None:
    crd = "customresourcedefinition.apiextensions.k8s.io__cars.example.com.yaml"
    index = index_of(a=[crd, "car.example.com_team_one.yaml"])
    text = (
        "spec:\n  names:\n    kind: Car\n    plural: cars\n    shortNames: [vehicle]\n  scope: x\n"
    )
    found = find_target("vehicle/one", namespace=None, index=index, read=lambda *_: text)
    assert found.kind == "car.example.com"


# --- fields ------------------------------------------------------------------------------------

OBJECT = {
    "kind": "Deployment",
    "metadata": {"labels": {"a.b/c": "x", "a": "y"}},
    "spec": {"containers": [{"name": "main", "args": ["-v", "-x"]}]},
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("metadata.labels.a.b/c", 'metadata.labels["a.b/c"]'),
        ("metadata.labels.a", "metadata.labels.a"),
        ('metadata.labels["a.b/c"]', 'metadata.labels["a.b/c"]'),
        ("spec.containers[0].args[1]", 'spec.containers[name=main].args[="-x"]'),
        ("spec.containers.0.args", "spec.containers[name=main].args"),
    ],
)
def test_fields_are_found_as_people_type_them(text: str, path: str) -> None:
    assert locate(OBJECT, text) == parse_path(path)


@pytest.mark.parametrize("text", ["spec.containers[3]", "spec.containers[", "spec.x.y", "kind.x"])
def test_a_wrong_path_is_a_users_mistake(text: str) -> None:
    with pytest.raises(FieldError):
        locate(OBJECT, text)


def test_the_line_of_an_item_is_found_by_its_name() -> None:
    text = "spec:\n  containers:\n  - name: side\n  - name: main\n    image: x\n"
    path = ("spec", "containers", Match((("name", "main"),)), "image")
    assert line_of(text, path, line=10) == 14


def test_an_item_that_was_renamed_is_one_change() -> None:
    old = {"kind": "RoleBinding", "subjects": [{"kind": "ServiceAccount", "name": "a"}]}
    new = {
        "kind": "RoleBinding",
        "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "team"}],
    }
    (one,) = differences(old, new)
    assert (one.change.op, one.change.new) == ("add", "team")
    assert one.change.path.endswith(".namespace")


def test_a_field_that_only_the_cluster_has_names_who_wrote_it(
    platform: Path, tmp_path: Path, engines_env: Env
) -> None:
    def asked(what: str) -> Explanation:
        loaded = load_platform(platform)
        return explain(loaded, what, cache=tmp_path / "cache", environ=engines_env, live=True)

    scaled = {"f:spec": {"f:minReadySeconds": {}}}
    live = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "team",
            "managedFields": [{"manager": "tuner", "operation": "Update", "fieldsV1": scaled}],
        },
        "spec": {"minReadySeconds": 7, "paused": False},
    }
    found = asked("deploy/web:spec.minReadySeconds")
    assert (found.unrendered, found.steps) == ("spec.minReadySeconds", [])
    tell_live(found, live)
    assert (found.value, [o.manager for o in found.owners]) == (7, ["tuner"])
    assert found.notes == ["it is not rendered: this is what the cluster has"]
    assert not any("as upstream wrote it" in line for line in lines(found))
    default = asked("deploy/web:spec.paused")
    tell_live(default, live)
    assert default.notes[0].endswith("a default of the API server's")
    with pytest.raises(FieldError, match="there is no `nonesuch` in `spec`"):
        tell_live(asked("deploy/web:spec.nonesuch"), live)
    absent = asked("deploy/web:spec.nonesuch")
    tell_live(absent, None)
    assert absent.notes == ["it is not in the cluster", "spec.nonesuch is not rendered"]


def test_the_live_managers_of_a_field_are_told_with_their_time() -> None:
    live = {
        "metadata": {
            "managedFields": [
                {
                    "manager": "argosy-platform",
                    "operation": "Apply",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                },
                {
                    "manager": "kubectl",
                    "operation": "Update",
                    "time": "2026-02-02T00:00:00Z",
                    "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
                },
            ]
        }
    }
    (owner,) = owners_of(live, ("spec", "replicas"))
    assert (owner.manager, owner.time) == ("argosy-platform", "2026-01-01T00:00:00Z")
    assert [o.manager for o in owners_of(live, ())] == ["argosy-platform", "kubectl"]
