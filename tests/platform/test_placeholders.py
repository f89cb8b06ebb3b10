"""Placeholders: what is found, and what stands there afterwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from argosy.platform.placeholders import keys_in, substitute

keys = st.from_regex(r"[a-z0-9]([a-z0-9_.-]{0,12}[a-z0-9])?", fullmatch=True).filter(
    lambda key: "__" not in key
)
plain = st.text(st.characters(blacklist_characters="<>_", codec="utf-8"), max_size=20)


@given(parts=st.lists(st.tuples(plain, keys), max_size=5), tail=plain)
def test_every_placeholder_is_found_in_order(parts: list[tuple[str, str]], tail: str) -> None:
    text = "".join(f"{before}<<__{key}__>>" for before, key in parts) + tail
    assert list(keys_in(text)) == [key for _, key in parts]


@given(parts=st.lists(st.tuples(plain, keys), max_size=5), tail=plain, value=plain)
def test_filling_leaves_all_other_text_alone(
    parts: list[tuple[str, str]], tail: str, value: str
) -> None:
    text = "x" + "".join(f"{before}<<__{key}__>>" for before, key in parts) + tail
    filled = substitute({"a": text}, {key: value for _, key in parts})
    assert filled == {"a": "x" + "".join(f"{before}{value}" for before, _ in parts) + tail}


@given(text=st.text(max_size=60))
def test_any_text_without_known_keys_comes_back_as_it_was(text: str) -> None:
    assert substitute([text], {}) == [text]


def test_a_scalar_that_is_one_placeholder_takes_the_values_type() -> None:
    obj = {"spec": {"replicas": "<<__n__>>", "paused": "<<__p__>>", "host": "a.<<__d__>>"}}
    values = {"n": 3, "p": True, "d": "b"}
    assert substitute(obj, values) == {"spec": {"replicas": 3, "paused": True, "host": "a.b"}}


def test_where_kubernetes_wants_text_a_number_stays_text() -> None:
    obj = {
        "metadata": {"annotations": {"a": "<<__n__>>"}, "labels": {"<<__k__>>": "<<__p__>>"}},
        "data": {"x": "<<__n__>>"},
        "spec": {"env": [{"name": "N", "value": "<<__n__>>"}], "args": ["<<__n__>>"]},
    }
    assert substitute(obj, {"n": 3, "p": True, "k": "key"}) == {
        "metadata": {"annotations": {"a": "3"}, "labels": {"key": "true"}},
        "data": {"x": "3"},
        "spec": {"env": [{"name": "N", "value": "3"}], "args": ["3"]},
    }


def test_unknown_keys_stay_for_check_to_report() -> None:
    assert substitute({"a": "<<__b__>>"}, {"c": 1}) == {"a": "<<__b__>>"}
