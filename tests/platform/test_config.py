"""platform.yaml: what is read, and the one sentence that each mistake gets."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy import yaml
from argosy.errors import ArgosyError
from argosy.platform.config import ConfigError, json_schema, load_platform

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: acme-ml}\n"


def write(folder: Path, text: str, **envs: str) -> Path:
    (folder / "platform.yaml").write_text(text)
    for env, content in envs.items():
        (folder / "envs").mkdir(exist_ok=True)
        (folder / "envs" / f"{env}.yaml").write_text(content)
    return folder


def test_the_example_of_the_readme_is_read_with_its_types(tmp_path: Path) -> None:
    loaded = load_platform(
        write(
            tmp_path,
            HEAD
            + """kubeflow: "26.03"
sources:
  extras: {git: https://github.com/acme/extras, ref: v1.4.0}
apps:
  include: [pipelines, katib]
  add: [{name: team-portal, source: extras, path: deploy, needs: [istio]}]
values: {domain: ml.acme.com, replicas: 3}
""",
        )
    )
    assert loaded.platform.kubeflow == "26.03"
    assert loaded.platform.apps.include == ("pipelines", "katib")
    assert loaded.platform.apps.add[0].needs == ("istio",)
    assert loaded.platform.values == {"domain": "ml.acme.com", "replicas": 3}
    assert str(loaded.where("apps", "add", 0, "name")) == "platform.yaml:9:10"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "kubeflow: 26.03\n",
            "platform.yaml:4:1: kubeflow: expected text, got a number; put it",
        ),
        ("kubeflw: x\n", "platform.yaml:4:1: unknown key 'kubeflw'; did you mean 'kubeflow'?"),
        ("apps:\n  inclde: [a]\n", "platform.yaml:5:3: unknown key 'inclde'; did you mean"),
        ("apps:\n  add:\n  - {name: x, pth: y}\n", "platform.yaml:6:15: unknown key 'pth'"),
        ("sources:\n  a: {gti: y}\n", "platform.yaml:5:7: unknown key 'gti'; did you mean 'git'?"),
        ("sources:\n  a: {git: https://h.io/u}\n", "source 'a' has no ref"),
        ("values: {on: 1}\n", "platform.yaml:4:10: YAML reads this key as true; put it in quotes"),
        ("values: {n: 1}\n", "YAML reads this key as false"),
        ("values: {a b: 1}\n", "'a b' cannot stand in a placeholder; use letters, digits"),
        ("sources:\n  a: {git: u, ref: v1, path: p}\n", "must name exactly one of"),
        ("sources:\n  a: {}\n", "must name exactly one of git, helm, oci, file and path, not none"),
        ("apps: []\n", "platform.yaml:4:1: apps: expected a mapping of keys, got a list"),
        (
            "values: {a: [1]}\n",
            "platform.yaml:4:10: values.a: expected true or false or a whole number",
        ),
        ("kubernetes: latest\n", "'latest' is not a minor version"),
        ("apps:\n  add:\n  - {path: dir}\n", "platform.yaml:6:5: 'name' is missing in apps.add.0"),
        ("apps:\n  add: [{name: A_b}]\n", "'A_b' cannot be a name"),
        ("apps:\n  add: [{name: a}, {name: a}]\n", "two apps are named 'a'"),
        ("apps:\n  add: [{name: a, source: b}]\n", "source 'b', which is not under sources"),
        (
            "checks: {waive: [{code: ARG001, reason: ' '}]}\n",
            "the waiver of ARG001 gives no reason",
        ),
        ("metadata: {name: b}\n", "`metadata` stands twice"),
        ("a: b: c\n", "platform.yaml:4:"),
    ],
)
def test_a_mistake_gets_one_sentence_with_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(ArgosyError) as caught:
        load_platform(write(tmp_path, HEAD + text))
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_section_with_only_comments_says_nothing(tmp_path: Path) -> None:
    assert load_platform(write(tmp_path, HEAD + "apps:\n  # include: []\n")).platform.apps.add == ()


def test_an_environment_is_laid_over_by_name_and_knows_its_lines(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        HEAD
        + "apps:\n  include: [a]\n  add:\n  - {name: z, path: p, needs: [a]}\nvalues: {x: 1}\n",
        prod="apps:\n  include: [b]\n  add: [{name: z, path: q}, {name: k}]\nvalues: {z: 2}\n",
    )
    loaded = load_platform(root, "prod")
    apps = loaded.platform.apps
    assert apps.include == ("b",)
    assert [(a.name, a.path, a.needs) for a in apps.add] == [("z", "q", ("a",)), ("k", ".", ())]
    assert loaded.platform.values == {"x": 1, "z": 2}
    assert loaded.where("apps", "add", 0, "path").file == "envs/prod.yaml"
    assert loaded.where("apps", "add", 0, "needs").file == "platform.yaml"


def test_an_environment_without_a_file_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'prod'"):
        load_platform(write(tmp_path, HEAD, prod="values: {}\n"), "prd")


def test_a_missing_platform_yaml_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="argosy init"):
        load_platform(tmp_path)


def test_the_schema_covers_every_key() -> None:
    schema = json_schema()
    assert set(schema["$defs"]["Platform"]["properties"]) >= {"kubeflow", "apps", "sources"}
    assert schema["$defs"]["Platform"]["additionalProperties"] is False


def outcome(folder: Path) -> str:
    """Return the sentence that a person gets, or where the platform was read from."""
    try:
        return str(load_platform(folder).where())
    except ArgosyError as error:
        return str(error)


KEYS = ["apiVersion", "kind", "metadata", "kubeflow", "sources", "apps", "values", "checks", "name"]
KEYS += ["add", "include", "git", "ref", "waive", "code", "reason", "needs", "x"]
scalars = st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=8)
anything: st.SearchStrategy[object] = st.deferred(
    lambda: (
        scalars
        | st.lists(anything, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), anything, max_size=4)
    )
)


@settings(max_examples=300, deadline=None)
@given(document=st.dictionaries(st.sampled_from(KEYS), anything, max_size=6))
def test_no_platform_yaml_ends_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "platform.yaml").write_text(yaml.dump({**yaml.load(HEAD), **document}))
    assert "platform.yaml" in outcome(folder)


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=200))
def test_no_bytes_in_platform_yaml_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "platform.yaml").write_bytes(HEAD.encode() + content)
    assert "platform.yaml" in outcome(folder)
