"""Paths are written for people and read back exactly."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.manifests import (
    Match,
    PathError,
    find_at,
    format_path,
    get_at,
    parse_path,
    walk,
    walk_strings,
)  # fmt: skip
from manifests_values import anything

keys = st.text(st.characters(exclude_categories=("Cs",)), max_size=8) | st.sampled_from(
    ["spec", "a.b/c", "a-b", "x_y", "$ref", "0", "", "[0]", 'a"b', "a\\", "a=b"]
)
fields = st.sampled_from(["name", "port", "metadata.name", ""])
matches = st.dictionaries(fields, keys | st.integers(), min_size=1, max_size=2).map(
    lambda found: Match(tuple(found.items()))
)
segments = st.lists(keys | st.integers(-3, 99) | matches, max_size=6).map(tuple)


def test_a_path_reads_as_people_write_it():
    path = ("spec", "containers", Match((("name", "main"),)), "args", 0)
    assert format_path(path) == "spec.containers[name=main].args[0]"
    assert format_path(("metadata", "annotations", "a.b/c")) == 'metadata.annotations["a.b/c"]'
    assert format_path((Match((("port", 80), ("protocol", "TCP"))),)) == "[port=80,protocol=TCP]"
    assert format_path((Match((("name", "80"),)),)) == '[name="80"]'
    assert format_path(()) == ""


@settings(max_examples=800, deadline=None)
@given(segments)
def test_a_written_path_is_read_back(path):
    assert parse_path(format_path(path)) == path


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=20) | st.text('ab.[]="\\,0 ', max_size=14))
def test_any_text_is_a_path_or_refused(text):
    with contextlib.suppress(PathError):
        assert parse_path(format_path(parse_path(text))) == parse_path(text)


@pytest.mark.parametrize(
    "text", ["a..b", ".a", "a.", "a[", "a[]", "a b", "[name=]", 'a["x]', "a[0]b"]
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(PathError):
        parse_path(text)


@settings(max_examples=300, deadline=None)
@given(anything)
def test_each_leaf_is_found_at_its_path(obj):
    for path, value in walk(obj):
        assert get_at(obj, path) is value
        assert get_at(obj, parse_path(format_path(path))) is value
    assert [pair for pair in walk(obj) if isinstance(pair[1], str)] == list(walk_strings(obj))


def test_items_are_found_by_name_and_by_what_the_api_fills_in():
    obj = {"ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "name": "web"}]}
    assert get_at(obj, parse_path("ports[port=80,protocol=TCP].name")) == "web"
    assert get_at(["a", "b"], parse_path("[=b]")) == "b"


def test_a_path_that_leads_nowhere_says_how_far_it_got():
    with pytest.raises(PathError, match=r"there is no `\[name=x\]` in `spec.containers`"):
        get_at({"spec": {"containers": []}}, parse_path("spec.containers[name=x].image"))
    assert find_at({"a": 1}, ("b",), "none") == "none"
    assert find_at({"a": None}, ("a",), "none") is None
