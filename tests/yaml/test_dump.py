"""What is written is read back alike by every reader."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings

import yaml as pyyaml
from argosy.yaml import YamlError, dump, dump_all, load, load_all
from yaml_values import texts, tricky, values

# YAML 1.2's core schema, for readers that follow it
CORE = re.compile(
    r"(?:null|Null|NULL|~||true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN))\Z"
)


def exact(value: object) -> str:
    return json.dumps(value)


@settings(max_examples=400, deadline=None)
@given(values)
def test_a_value_comes_back_as_it_was(value):
    assert load(dump(value)) == value


@settings(max_examples=300, deadline=None)
@given(values, values)
def test_documents_come_back_as_they_were(one, other):
    assert load_all(dump_all([one, other])) == [v for v in (one, other) if v is not None]


@settings(max_examples=400, deadline=None)
@given(texts)
def test_a_string_is_a_string_to_every_reader(oracle, text):
    written = dump({"k": text, text: ["x", text]})
    expected = {"k": text, text: ["x", text]} if text != "k" else {"k": ["x", "k"]}
    answer = oracle.ask(written)
    assert answer["value"] == expected
    assert answer["v3"] == expected
    assert pyyaml.safe_load(written) == expected
    line = written.split("\n", 1)[0]
    if line.startswith("k: ") and line[3] not in "'\"|[":
        assert not CORE.match(line[3:])


@settings(max_examples=200, deadline=None)
@given(values)
def test_kubectl_reads_the_value_that_was_written(oracle, value):
    answer = oracle.ask(dump([value]))
    assert answer["value"] == [value]


@settings(max_examples=300, deadline=None)
@given(texts | tricky)
def test_strings_are_strings_without_go_too(text):
    assert load(dump(text)) == text
    assert pyyaml.safe_load(dump(text)) == text


def test_the_layout_is_that_of_kubectl():
    value = {
        "apiVersion": "v1",
        "data": {"run.sh": "#!/bin/sh\necho\n", "yes": "no", "n": "1"},
        "list": [{"a": 1, "b": [True, None]}, ["x", ["y"]], [], {}, 1.5],
        "q": "500m",
    }
    assert dump(value) == (
        "apiVersion: v1\n"
        "data:\n"
        "  run.sh: |\n"
        "    #!/bin/sh\n"
        "    echo\n"
        "  'yes': 'no'\n"
        "  'n': '1'\n"
        "list:\n"
        "- a: 1\n"
        "  b:\n"
        "  - true\n"
        "  - null\n"
        "- - x\n"
        "  - - 'y'\n"
        "- []\n"
        "- {}\n"
        "- 1.5\n"
        "q: 500m\n"
    )


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "\ud800", {"a": ["\udfff\n"]}])
def test_what_kubectl_could_not_read_is_refused(value):
    with pytest.raises(YamlError):
        dump(value)


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, object(), [b"x"], {"a": (1,)}, {"a": {2}}])
def test_values_of_other_types_are_a_mistake_of_the_caller(value):
    with pytest.raises(TypeError):
        dump(value)
