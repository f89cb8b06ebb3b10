"""Each scalar means what kubectl takes it for; the table is data/scalars.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argosy.yaml import YamlError, load
from argosy.yaml.events import HAS_LIBYAML, read
from argosy.yaml.loader import _Builder

TABLE = json.loads((Path(__file__).parent / "data" / "scalars.json").read_text())


def exact(value: object) -> str:
    return json.dumps(value)  # tells true from 1 and 1 from 1.0


@pytest.mark.parametrize("row", TABLE["values"], ids=lambda row: repr(row[0]))
def test_a_scalar_is_read_as_kubectl_reads_it(row):
    text = f"v: {row[0]}\n"
    if len(row) == 1:
        with pytest.raises(YamlError):
            load(text)
    else:
        assert exact(load(text)) == exact({"v": row[1]})


@pytest.mark.parametrize("row", TABLE["keys"], ids=lambda row: repr(row[0]))
def test_a_key_becomes_the_string_that_kubectl_makes_of_it(row):
    text = f"? {row[0]}\n: v\n"
    if len(row) == 1:
        with pytest.raises(YamlError):
            load(text)
    else:
        assert load(text) == {row[1]: "v"}


@pytest.mark.parametrize("row", TABLE["values"], ids=lambda row: repr(row[0]))
def test_the_parser_without_libyaml_reads_the_same(row):
    text = f"v: {row[0]}\n"
    try:
        found = _Builder(read(text, file="t"), pure=True).documents()
    except YamlError:
        found = None
    # PyYAML's own parser takes a tab after a plain scalar for an error; libyaml does not
    if "\t" not in text:
        assert exact(found) == exact(None if len(row) == 1 else [{"v": row[1]}])


def test_libyaml_is_there_where_the_tests_run():
    assert HAS_LIBYAML, "the benchmarks and most users rely on it"


def test_the_table_agrees_with_kubectls_reader(oracle):
    for text, *expected in TABLE["values"]:
        answer = oracle.ask(f"v: {text}\n")
        found = [answer["value"]["v"]] if "value" in answer else []
        assert exact(found) == exact(expected), text
    for text, *expected in TABLE["keys"]:
        answer = oracle.ask(f"? {text}\n: v\n")
        assert list(answer.get("value", {})) == expected, text
