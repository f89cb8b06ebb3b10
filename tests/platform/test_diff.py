"""What changed between two trees: objects, fields, moves, and what of it needs care."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from argosy import yaml
from argosy.errors import UsageError
from argosy.manifests import identity
from argosy.platform.config import load_platform
from argosy.platform.diff import AppDiff, ObjectDiff, PlatformDiff, compare, object_diff
from argosy.platform.diff_crds import compare_definitions
from argosy.platform.diff_git import against_git, known_apps, stale_apps
from argosy.platform.diff_sides import DiffError, Side
from argosy.platform.diff_text import lines, to_dict
from argosy.platform.render import render
from argosy.platform.tree import Index, IndexedApp, TreeError, file_name
from platforms import DEPLOYMENT, add_app, write_platform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Env = dict[str, str]
Texts = dict[str, list[str]]

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME}\n"
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: team}
data:
  mode: fast
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: team}
stringData: {password: VALUE}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec:
  selector: {app: web}
  ports:
  - {port: 80, targetPort: 8080}
"""
WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  failurePolicy: Ignore
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cars.example.com}
spec:
  group: example.com
  names: {kind: Car, plural: cars}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string, enum: [red, blue]}
              doors: {type: integer}
              engine:
                type: object
                properties:
                  power: {type: string}
"""


def side(title: str, texts: Texts, secrets: dict[str, tuple[str, ...]] | None = None) -> Side:
    """Make a tree out of texts by app."""
    held = secrets or {}
    apps = {name: IndexedApp((), "", {}, secrets=held.get(name, ())) for name in texts}
    index = Index(1, "test", "", "1.35", {}, apps)
    files = {(app, name): text for app, files in named(texts).items() for name, text in files}
    return Side(title, "", index, files)


def named(texts: Texts) -> dict[str, list[tuple[str, str]]]:
    return {
        app: [(file_name(identity(yaml.load(text))), text) for text in files]
        for app, files in texts.items()
    }


def changed(
    old: Texts,
    new: Texts,
    *,
    apps: frozenset[str] = frozenset(),
    secrets: dict[str, tuple[str, ...]] | None = None,
) -> PlatformDiff:
    before = side("old", old)
    after = side("new", new, secrets)

    def reader(held: Side) -> object:
        # in these tests a file is named by its text
        return lambda keys: {key: held.files[key] for key in keys}

    return compare(
        before,
        after,
        env="default",
        read_old=reader(before),  # type: ignore[arg-type]
        read_new=reader(after),  # type: ignore[arg-type]
        folder="rendered/default",
        apps=apps,
    )


def only(found: PlatformDiff) -> ObjectDiff:
    (one,) = found.objects()
    return one


def codes(one: ObjectDiff) -> set[str]:
    return {risk.code for risk in one.risks}


def test_equal_trees_do_not_differ() -> None:
    found = changed({"a": [CONFIG, SERVICE]}, {"a": [CONFIG, SERVICE]})
    assert not found.differs
    assert list(lines(found)) == ["no difference between new and old"]


def test_a_changed_field_is_told_with_both_values() -> None:
    found = changed({"a": [CONFIG]}, {"a": [CONFIG.replace("fast", "slow")]})
    one = only(found)
    assert [(c.path, c.op, c.old, c.new) for c in one.changes] == [
        ("data.mode", "change", "fast", "slow")
    ]
    assert one.file == "rendered/default/a/configmap_team_settings.yaml"
    assert '        data.mode: "fast" -> "slow"' in list(lines(found))


def test_what_came_and_what_went_is_grouped_by_app() -> None:
    found = changed({"a": [CONFIG], "b": [SERVICE]}, {"a": [], "c": [WEBHOOK]})
    told = {app.name: (app.op, [one.op for one in app.objects]) for app in found.apps}
    assert told == {
        "a": ("change", ["remove"]),
        "c": ("add", ["add"]),
        "b": ("remove", ["remove"]),
    }


def test_an_object_that_goes_to_another_app_is_a_move() -> None:
    found = changed({"a": [CONFIG], "b": []}, {"a": [], "b": [CONFIG.replace("fast", "slow")]})
    one = only(found)
    assert (one.op, one.moved_from, len(one.changes)) == ("move", "a", 1)
    assert "  > ConfigMap team/settings (from app a)" in list(lines(found))


def test_only_the_apps_that_were_asked_for_are_compared() -> None:
    new = {"a": [CONFIG.replace("fast", "slow")], "b": [SERVICE.replace("80,", "81,")]}
    found = changed({"a": [CONFIG], "b": [SERVICE]}, new, apps=frozenset({"b"}))
    assert [app.name for app in found.apps] == ["b"]


def test_values_of_secrets_never_appear() -> None:
    old, new = SECRET.replace("VALUE", "hunter2"), SECRET.replace("VALUE", "correct-horse")
    found = changed({"a": [old]}, {"a": [new]})
    shown = "\n".join(lines(found)) + json.dumps(to_dict(found))
    assert only(found).changes
    assert "hunter2" not in shown
    assert "correct-horse" not in shown


def test_secrets_outside_of_the_tree_are_told_by_name() -> None:
    found = changed({"a": []}, {"a": []}, secrets={"a": ("team/key",)})
    one = only(found)
    assert (one.op, str(one.id)) == ("add", "Secret team/key")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (SERVICE, SERVICE.replace("app: web}", "app: other}"), "selector-changed"),
        (WEBHOOK, WEBHOOK.replace("Ignore", "Fail"), "webhook-fails-closed"),
        (WEBHOOK.replace("Ignore", "Fail"), WEBHOOK, "webhook-fails-open"),
        (
            DEPLOYMENT.format(name="web", namespace="team"),
            DEPLOYMENT.format(name="web", namespace="team").replace("app: web", "app: x"),
            "immutable-field",
        ),
        (CRD, CRD.replace("doors:", "wheels:"), "crd-field-removed"),
        (CRD, CRD.replace("{type: integer}", "{type: string}"), "crd-schema-tightened"),
        (CRD, CRD.replace("[red, blue]", "[red]"), "crd-schema-tightened"),
        (CRD, CRD.replace("name: v1", "name: v2"), "crd-stored-version"),
    ],
)
def test_a_change_that_needs_care_is_marked(old: str, new: str, code: str) -> None:
    one = only(changed({"a": [old]}, {"a": [new]}))
    assert code in codes(one)
    assert all(risk.message and risk.advice for risk in one.risks)


@pytest.mark.parametrize("text", [NAMESPACE.replace("NAME", "team"), CRD])
def test_a_removal_that_takes_others_with_it_is_marked(text: str) -> None:
    assert codes(only(changed({"a": [text]}, {"a": []}))) == {"removal"}


def test_harmless_changes_bear_no_mark() -> None:
    new = CRD.replace(
        "doors: {type: integer}", "doors: {type: integer}\n              roof: {type: string}"
    )
    one = only(changed({"a": [CRD]}, {"a": [new]}))
    assert one.risks == []
    assert one.schemas[0].added == ("spec.roof",)


def test_a_definition_is_told_by_its_fields_and_not_by_its_text() -> None:
    new = CRD.replace("doors:", "wheels:").replace("{type: string, enum", "{type: array, enum")
    (schema,) = compare_definitions(CRD, new).schemas
    assert schema.added == ("spec.wheels",)
    assert schema.removed == ("spec.doors",)
    assert schema.retyped == ("spec.colour (string -> array)",)


def test_a_field_that_goes_hides_the_fields_in_it() -> None:
    at = CRD.index("              engine:")
    (schema,) = compare_definitions(CRD, CRD[:at]).schemas
    assert schema.removed == ("spec.engine",)


def test_objects_that_change_alike_are_told_together() -> None:
    old = [CONFIG.replace("settings", name) for name in ("one", "two", "three")]
    new = [text.replace("fast", "slow") for text in old]
    told = list(lines(changed({"a": old}, {"a": new})))
    assert "  ~ 3 objects alike:" in told
    assert sum("data.mode" in line for line in told) == 1


def test_long_texts_are_told_by_their_lines() -> None:
    old = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": {"a": "1\n2\n3\n"},
    }
    new = {**old, "data": {"a": "1\nzwei\n3\n"}}
    one = object_diff(identity(old), old, new)
    told = PlatformDiff("old", "new", "default", apps=[AppDiff("a", "change", [one])])
    assert [line.strip() for line in lines(told)][2:-1] == ["data.a:", "…", "1", "-2", "+zwei", "3"]


def test_colour_is_only_where_it_is_asked_for() -> None:
    found = changed({"a": [CONFIG]}, {"a": []})
    assert not any("\033" in line for line in lines(found))
    assert any("\033" in line for line in lines(found, colour=True))


# --- against git -------------------------------------------------------------------------------


def git(root: Path, *command: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *command], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, engines_env: Env) -> Path:
    """Return a platform whose rendered tree is committed, in a subfolder of a repository."""
    root = write_platform(
        tmp_path / "repo" / "platform", "{name: one, path: apps/one}", "{name: two, path: apps/two}"
    )
    add_app(root, "one", config=CONFIG, web=DEPLOYMENT.format(name="web", namespace="team"))
    add_app(root, "two", service=SERVICE)
    render(load_platform(root), cache=tmp_path / "cache", env=engines_env)
    git(tmp_path / "repo", "init", "-q")
    git(tmp_path / "repo", "add", "-A")
    git(tmp_path / "repo", "commit", "-qm", "one")
    return root


def rendered(root: Path, tmp_path: Path, env: Env) -> None:
    render(load_platform(root), cache=tmp_path / "cache", env=env)


def test_a_tree_that_is_committed_does_not_differ(repository: Path, engines_env: Env) -> None:
    assert not against_git(repository, "default", environ=engines_env).differs


def test_a_new_render_is_compared_with_the_commit(
    repository: Path, tmp_path: Path, engines_env: Env
) -> None:
    add_app(repository, "one", web=DEPLOYMENT.format(name="web", namespace="team"))
    file = repository / "apps/two/service.yaml"
    file.write_text(file.read_text().replace("port: 80,", "port: 81,"))
    rendered(repository, tmp_path, engines_env)
    found = against_git(repository, "default", environ=engines_env)
    assert [(one.op, str(one.id)) for one in found.objects()] == [
        ("remove", "ConfigMap team/settings"),
        ("change", "Service team/web"),
    ]
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "two")
    assert not against_git(repository, "default", environ=engines_env).differs
    assert against_git(repository, "default", rev="HEAD~1", environ=engines_env).differs


def test_an_edit_by_hand_is_seen_as_well(repository: Path, engines_env: Env) -> None:
    file = repository / "rendered/default/one/configmap_team_settings.yaml"
    file.write_text(file.read_text().replace("fast", "slow"))
    assert only(against_git(repository, "default", environ=engines_env)).changes


def test_an_unknown_commit_is_one_sentence(repository: Path, engines_env: Env) -> None:
    with pytest.raises(DiffError, match="git knows no commit 'nope'"):
        against_git(repository, "default", rev="nope", environ=engines_env)


def test_an_option_in_the_place_of_a_commit_is_no_option(
    repository: Path, engines_env: Env
) -> None:
    with pytest.raises(DiffError, match="git knows no commit '--all'"):
        against_git(repository, "default", rev="--all", environ=engines_env)


def test_without_a_repository_there_is_nothing_to_compare_with(
    tmp_path: Path, engines_env: Env
) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    add_app(root, "one", config=CONFIG)
    rendered(root, tmp_path, engines_env)
    outside = {**engines_env, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    with pytest.raises(DiffError, match="is not in a git repository"):
        against_git(root, "default", environ=outside)


def test_without_a_tree_render_is_asked_for(repository: Path, engines_env: Env) -> None:
    with pytest.raises(TreeError, match="there is no rendered tree"):
        against_git(repository, "prod", environ=engines_env)


def test_an_unknown_app_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match="did you mean 'katib'"):
        known_apps(["katip"], ["katib", "dex"], "rendered")


def test_inputs_that_changed_since_the_render_are_told(
    repository: Path, tmp_path: Path, engines_env: Env
) -> None:
    def stale() -> tuple[str, ...]:
        loaded = load_platform(repository)
        return stale_apps(loaded, cache=tmp_path / "cache", environ=engines_env)

    assert stale() == ()
    file = repository / "apps/two/service.yaml"
    file.write_text(file.read_text().replace("port: 80,", "port: 81,"))
    assert stale() == ("two",)


@pytest.mark.parametrize(("edit", "code"), [(False, 0), (True, 1)])
def test_the_exit_code_says_whether_there_is_a_difference(
    repository: Path, tmp_path: Path, engines_env: Env, edit: bool, code: int
) -> None:
    if edit:
        file = repository / "rendered/default/one/configmap_team_settings.yaml"
        file.write_text(file.read_text().replace("fast", "slow"))
    done = argosy(repository, tmp_path, engines_env, "diff", "-o", "json")
    assert done.returncode == code, done.stderr
    told = json.loads(done.stdout)
    assert told["differs"] is edit
    assert told["summary"]["change"] == int(edit)


def argosy(
    root: Path, tmp_path: Path, env: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "argosy.cli.main", *arguments, "-C", str(root)],
        env={**env, "ARGOSY_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
