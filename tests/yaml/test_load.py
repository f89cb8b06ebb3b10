"""What texts mean, and the one sentence that each wrong text gets."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.errors import Location, UsageError
from argosy.yaml import YamlError, load, load_all, load_marked, splice
from argosy.yaml.events import read
from argosy.yaml.loader import MAX_DEPTH, _Builder


def refusal(text: str | bytes) -> str:
    with pytest.raises(YamlError) as caught:
        load(text, file="f.yaml")
    return str(caught.value)


def test_an_empty_text_is_none():
    assert load("") is None
    assert load("# only a comment\n") is None
    assert load_all("---\n# nothing\n---\n---\n") == []


def test_documents_come_in_order_and_empty_ones_are_left_out():
    assert load_all("a: 1\n---\n---\nb: 2\n...\n---\n- c\n") == [{"a": 1}, {"b": 2}, ["c"]]


def test_a_separator_inside_a_block_scalar_is_text():
    assert load("a: |\n  x\n  ---\n  y\n") == {"a": "x\n---\ny\n"}


def test_a_second_document_is_refused_where_one_is_expected():
    assert refusal("a: 1\n---\nb: 1\n").startswith("f.yaml:2:1: a second document starts here")


def test_keys_keep_the_order_of_the_text():
    assert list(load("z: 1\na: 2\nm: 3\n")) == ["z", "a", "m"]


def test_a_byte_order_mark_and_crlf_are_no_content():
    assert load("\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\n") == {"a": 1, "b": "x\ny\n"}
    assert load("\ufeffa: é\n".encode("utf-16")) == {"a": "é"}
    assert load(b"\xef\xbb\xbfa: 1\n") == {"a": 1}


def test_aliases_give_copies():
    value = load("a: &x {k: [1]}\nb: *x\nc: *x\n")
    value["b"]["k"].append(2)
    assert value == {"a": {"k": [1]}, "b": {"k": [1, 2]}, "c": {"k": [1]}}


def test_a_merge_key_writes_where_it_stands():
    assert load("x: &x {a: 1, b: 1}\nz: {<<: *x, b: 2}\n")["z"] == {"a": 1, "b": 2}
    assert load("x: &x {a: 1, b: 1}\nz: {b: 2, <<: *x}\n")["z"] == {"a": 1, "b": 1}
    assert load("z: {<<: [{a: 1}, {a: 2, c: 3}]}\n")["z"] == {"a": 1, "c": 3}
    assert load('z: {"<<": {a: 1}}\n')["z"] == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key `a` stands twice in one mapping (first in"),
        ("x:\n- k: {q: 1, 'q': 2}\n", "f.yaml:2:13: the key `q` stands twice"),
        ("1: a\n'1': b\n", "f.yaml:2:1: the key `1` stands twice"),
        ("a:\n\tb: 1\n", "f.yaml:2:1: a tab cannot be used for indentation; use spaces"),
        ("a:\n  b: 1\n \tc: 2\n", "f.yaml:3:2: a tab cannot be used for indentation"),
        ("a:\n  b: 1\n c: 2\n", "f.yaml:3:2: a key was expected here; the indentation"),
        ("a: b: c\n", "f.yaml:1:5: a ':' followed by a space is not allowed here"),
        ("- a\nb: 1\n", "f.yaml:2:1: an item that starts with '- ' was expected here"),
        ("a: [1,\nb: 2\n", "f.yaml:"),
        ("a: 'x\nb: c\n", "f.yaml:3:1: found unexpected end of stream (while scanning a quoted"),
        ("a: .inf\n", "f.yaml:1:4: infinities and NaN have no form in JSON"),
        ("a: -.NaN\nb: .nan\n", "f.yaml:2:4: infinities and NaN"),
        ("a: *x\n", "f.yaml:1:4: the anchor `x` is not defined"),
        ("a: &x [1, *x]\n", "f.yaml:1:11: the anchor `x` contains itself"),
        ("? [a]\n: b\n", "f.yaml:1:3: a key must be a scalar"),
        ("~: b\n", "f.yaml:1:1: a key cannot be null"),
        ("x: 1\n<<: 3\n", "f.yaml:2:1: the value of a merge key"),
        ("a: !!int x\n", "f.yaml:1:4: `x` cannot be read as a !!int"),
        ("a: x\x01\n", "f.yaml:1:5: the character U+0001 is not allowed"),
        ("a: \ud800\n", "f.yaml:1:4: the character U+D800 is not allowed"),
        ("a: 1\n\ufeffb: 2\n", "f.yaml:2:1: a byte order mark stands in the middle"),
        (b"a: 1\nb: \xff\n", "f.yaml:2:4: the text is not UTF-8"),
        ("a: @x\n", "f.yaml:1:4: found character that cannot start any token"),
    ],
)  # fmt: skip
def test_a_wrong_text_gets_its_place_and_one_sentence(text, start):
    message = refusal(text)
    assert message.startswith(start)
    assert "\n" not in message


def test_lines_count_from_where_the_text_stands_in_its_file():
    with pytest.raises(YamlError) as caught:
        load("a: 1\na: 2\n", file="f.yaml", line=40)
    assert caught.value.where == Location("f.yaml", 41, 1)
    assert "first in line 40" in str(caught.value)
    assert isinstance(caught.value, UsageError)


def test_an_alias_bomb_is_refused_at_once():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    start = time.process_time()
    assert "out of aliases" in refusal("\n".join(lines))
    assert time.process_time() - start < 5


def test_many_small_aliases_are_fine():
    text = "base: &b {a: 1, b: [1, 2]}\nall:\n" + "- *b\n" * 40
    assert load(text)["all"] == [{"a": 1, "b": [1, 2]}] * 40


def test_depth_is_limited_so_that_no_stack_overflows():
    assert load("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    assert f"deeper than {MAX_DEPTH}" in refusal("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert "deeper" in refusal("- " * 100_000)


def test_places_of_values_and_keys():
    text = "# c\na: 1\nlist:\n- name: x\n  'q': {z: 1}\nempty:\no: &o {k: 5}\np: {<<: *o}\n"
    marked = load_marked(text, file="f.yaml")
    assert marked.value["list"] == [{"name": "x", "q": {"z": 1}}]
    assert str(marked.where(("a",))) == "f.yaml:2:4"
    assert str(marked.where(("a",), key=True)) == "f.yaml:2:1"
    assert str(marked.where(("list", 0, "q", "z"))) == "f.yaml:5:12"
    assert str(marked.where(("empty",))) == "f.yaml:6:1"
    assert str(marked.where(("p", "k"))) == "f.yaml:7:11"
    assert str(marked.where(("list", 0, "no", "where"))) == "f.yaml:4:3"
    assert str(load_marked("", file="f.yaml").where(("a",))) == "f.yaml:1:1"


fragments = st.lists(
    st.sampled_from(
        ["a", ":", " ", "\n", "- ", "? ", "b: ", "  ", '"', "'", "|\n", ">\n", "{", "}", "[", "]",
         ",", "&x ", "*x", "!!int ", "!t ", "# c", "---", "...", "<<: ", "%", "\t", "0777", "\r\n",
         "é", "\\", "\x00", "\x85", "\u2028", "\ufeff", "\ud800", "!", "@", "=", "😀"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(fragments | st.text(max_size=30) | st.binary(max_size=30))
def test_any_input_is_read_or_refused_with_a_yaml_error(text):
    for reader in (load, load_all, lambda t: load_marked(t).where(("a", 0))):
        with contextlib.suppress(YamlError):
            reader(text)


@settings(max_examples=200, deadline=None)
@given(fragments | st.text(max_size=30))
def test_any_input_to_the_parser_without_libyaml_is_read_or_refused(text):
    with contextlib.suppress(YamlError):
        _Builder(read(text, file="t"), pure=True).documents()


@settings(max_examples=300, deadline=None)
@given(fragments, st.sampled_from([("a",), ("b", 0), (0,), ("a", "b")]), st.sampled_from([1, "x"]))
def test_any_input_is_spliced_or_refused(text, path, value):
    try:
        after = splice(text, [(path, value)])
    except YamlError:
        return
    found = load(after)
    for step in path:
        found = found[step]
    assert found == value


@settings(max_examples=400, deadline=None)
@given(fragments.filter(lambda text: "\ud800" not in text and "\ufeff" not in text))
def test_what_we_read_is_what_kubectl_reads(oracle, text):
    try:
        ours = load(text)
    except YamlError:
        return  # we may be stricter: later documents, duplicate keys
    answer = oracle.ask(text)
    if "<<" in text and "!" in text:
        return  # `! <<` is a merge key to Go and a string to everybody else
    assert "value" in answer, answer
    assert ours == answer["value"]
