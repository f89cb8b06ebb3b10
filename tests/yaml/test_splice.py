"""An edit touches the characters that must change, and no others."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.yaml import DELETE, YamlError, load, splice
from yaml_values import values

FILE = """\
# What we run
apps:
  include: [pipelines, katib]   # more later
  add:
  - name: portal   # ours
    source: "extras"
    # where it stands
    path: 'deploy'
values:
  domain: ml.acme.com # public

  notes: |
    first
    second
# the end
"""


def changed(*edits: tuple[tuple, object], text: str = FILE) -> list[str]:
    """Return the lines that differ, removed ones with -, new ones with +."""
    before, after = text.splitlines(), splice(text, edits).splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return [f"-{line}" for line in before[start : len(before) - end]] + [
        f"+{line}" for line in after[start : len(after) - end]
    ]


def test_a_scalar_keeps_its_quotes_and_its_comment():
    assert changed((("values", "domain"), "a.b")) == [
        "-  domain: ml.acme.com # public",
        "+  domain: a.b # public",
    ]
    assert changed((("apps", "add", 0, "source"), "more")) == [
        '-    source: "extras"',
        '+    source: "more"',
    ]
    assert changed((("apps", "add", 0, "path"), "it's")) == [
        "-    path: 'deploy'",
        "+    path: 'it''s'",
    ]
    assert changed((("apps", "add", 0, "path"), 5)) == ["-    path: 'deploy'", "+    path: 5"]
    assert changed((("values", "domain"), "yes")) == [
        "-  domain: ml.acme.com # public",
        "+  domain: 'yes' # public",
    ]


def test_flow_style_stays_flow_style():
    assert changed((("apps", "include", 2), "profiles")) == [
        "-  include: [pipelines, katib]   # more later",
        "+  include: [pipelines, katib, profiles]   # more later",
    ]
    assert changed((("apps", "include", 0), DELETE)) == [
        "-  include: [pipelines, katib]   # more later",
        "+  include: [katib]   # more later",
    ]
    assert changed((("apps", "include", 1), {"a": ["b", "no"]})) == [
        "-  include: [pipelines, katib]   # more later",
        "+  include: [pipelines, {a: [b, 'no']}]   # more later",
    ]


def test_a_key_is_added_behind_the_last_one():
    assert changed((("apps", "add", 0, "needs"), ["istio"])) == ["+    needs:", "+    - istio"]
    assert changed((("values", "deep", "er"), 1)) == ["+  deep:", "+    er: 1"]
    assert changed((("new",), "x")) == ["+new: x"]


def test_an_item_is_added_and_removed():
    assert changed((("apps", "add", 1), {"name": "x", "path": "y/z"})) == [
        "+  - name: x",
        "+    path: y/z",
    ]
    assert changed((("apps", "add", 0), DELETE)) == [
        "-  add:",
        "-  - name: portal   # ours",
        '-    source: "extras"',
        "-    # where it stands",
        "-    path: 'deploy'",
        "+  add: []",
    ]


def test_a_key_is_removed_with_its_lines():
    assert changed((("values", "notes"), DELETE)) == [
        "-  notes: |",
        "-    first",
        "-    second",
    ]
    assert changed((("apps", "add", 0, "name"), DELETE)) == [
        "-  - name: portal   # ours",
        '-    source: "extras"',
        '+  - source: "extras"',
    ]


def test_values_change_their_kind():
    assert changed((("values", "notes"), "one line")) == [
        "-  notes: |",
        "-    first",
        "-    second",
        "+  notes: one line",
    ]
    assert changed((("values", "domain"), "two\nlines\n")) == [
        "-  domain: ml.acme.com # public",
        "+  domain: | # public",
        "+    two",
        "+    lines",
    ]
    assert changed((("values", "domain"), {"name": "x"})) == [
        "-  domain: ml.acme.com # public",
        "+  domain: # public",
        "+    name: x",
    ]
    assert changed((("apps", "add", 0), "text")) == [
        "-  - name: portal   # ours",
        '-    source: "extras"',
        "-    # where it stands",
        "-    path: 'deploy'",
        "+  - text",
    ]


def test_blank_lines_behind_what_is_deleted_do_not_become_text():
    text = "a: |+\n  x\nb: 1\n\nc: 2\n"
    assert splice(text, [(("b",), DELETE)]) == "a: |+\n  x\nc: 2\n"


def test_the_same_value_changes_nothing():
    assert splice(FILE, [(("apps", "include"), ["pipelines", "katib"])]) == FILE


def test_line_ends_byte_order_mark_and_a_missing_last_newline_are_kept():
    text = "\ufeffa: 1\r\nb: 2"
    assert splice(text, [(("a",), 3), (("c",), {"d": 1})]) == "\ufeffa: 3\r\nb: 2\r\nc:\r\n  d: 1"


def test_an_empty_text_gets_its_first_key():
    assert splice("", [(("a", "b"), 1)]) == "a:\n  b: 1\n"
    assert splice("# head\n", [(("a",), 1)]) == "# head\na: 1\n"
    assert splice("a:\n", [(("a", "b"), 1)]) == "a:\n  b: 1\n"


@pytest.mark.parametrize(
    ("text", "path", "value", "message"),
    [
        ("a: &x 1\nb: *x\n", ("a",), 2, "without changing more than it"),
        ("a: 1\n", ("a", "b"), 2, "leads into a int"),
        ("a: [1]\n", ("a", 5), 2, "there is no item 5 in a list of 1"),
        ("a: 1\n", ("b",), DELETE, "there is no key `b` to delete"),
        ("a: 1\na: 2\n", ("a",), 3, "stands twice"),
        ("a: 1\n", (), DELETE, "cannot be deleted"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(text, path, value, message):
    with pytest.raises(YamlError, match=message):
        splice(text, [(path, value)])


# --- properties ---


@st.composite
def layouts(draw):
    """Draw a text in mixed styles with comments, whose leaves are unique: tok0, tok1, …"""
    count = 0

    def leaf() -> str:
        nonlocal count
        count += 1
        quote = draw(st.sampled_from(["", "'", '"']))
        return f"{quote}tok{count}x{quote}"

    def comment() -> str:
        return draw(st.sampled_from(["", "", "  # note"]))

    def flow(depth: int) -> str:
        kind = draw(st.integers(0, 2 if depth else 0))
        if kind == 1:
            return "[" + ", ".join(flow(depth - 1) for _ in range(draw(st.integers(0, 3)))) + "]"
        if kind == 2:
            size = draw(st.integers(0, 3))
            return "{" + ", ".join(f"f{i}: {flow(depth - 1)}" for i in range(size)) + "}"
        return leaf()

    def block(depth: int, pad: str) -> list[str]:
        """Return the lines of a value that stands below a key or a dash."""
        lines: list[str] = []
        is_list = draw(st.booleans())
        for index in range(draw(st.integers(1, 3))):
            if draw(st.integers(0, 3)) == 0:
                lines.append(draw(st.sampled_from(["", f"{pad}# about it"])))
            lead = f"{pad}-" if is_list else f"{pad}k{index}:"
            kind = draw(st.integers(0, 4 if depth else 2))
            if kind == 0:
                lines.append(f"{lead} {flow(2)}{comment()}")
            elif kind == 1:
                lines.append(f"{lead} {draw(st.sampled_from(['|', '>-', '|+']))}")
                lines += [f"{pad}   tok{index}text", f"{pad}   more"]
            elif kind == 2:
                lines.append(f"{lead} {leaf()}{comment()}")
            else:
                inner = block(depth - 1, pad + draw(st.sampled_from(["  ", "    "])))
                if is_list and kind == 4 and inner[0].strip() and "#" not in inner[0]:
                    own = len(inner[0]) - len(inner[0].lstrip())
                    inner[0] = f"{lead}{' ' * (own - len(lead))}{inner[0].lstrip()}"
                    lines += inner
                else:
                    lines += [f"{lead}{comment()}", *inner]
        return lines

    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["# head", *block(2, "")]
    # without a line end, the last line of a block scalar has none either: nothing fits behind it
    end = draw(st.sampled_from([newline] if lines[-1].endswith("more") else ["", newline]))
    return newline.join(lines) + end


def leaves(value: object, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in leaves(v, (*path, i))]
    return [path]


def containers(value: object, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [path, *(p for k, v in value.items() for p in containers(v, (*path, k)))]
    if isinstance(value, list):
        return [path, *(p for i, v in enumerate(value) for p in containers(v, (*path, i)))]
    return []


def at(value, path):
    for step in path:
        value = value[step]
    return value


@settings(max_examples=200, deadline=None)
@given(layouts(), st.data())
def test_a_new_scalar_changes_nothing_else(text, data):
    before = load(text)
    tokens = [p for p in leaves(before) if str(at(before, p)).endswith("x")]
    if not tokens:
        return
    path = data.draw(st.sampled_from(tokens))
    assert splice(text, [(path, "fresh")]) == text.replace(at(before, path), "fresh")


@settings(max_examples=200, deadline=None)
@given(layouts(), values, st.data())
def test_any_value_can_stand_anywhere(text, value, data):
    before = load(text)
    expected = copy.deepcopy(before)
    path = data.draw(st.sampled_from(leaves(before) + containers(before)))
    if path:
        at(expected, path[:-1])[path[-1]] = value
    else:
        expected = value
    assert load(splice(text, [(path, value)])) == expected


@settings(max_examples=200, deadline=None)
@given(layouts(), values, st.data())
def test_what_is_added_leaves_every_other_line_alone(text, value, data):
    before = load(text)
    path = data.draw(st.sampled_from(containers(before)))
    target = at(before, path)
    step = "fresh" if isinstance(target, dict) else len(target)
    after = splice(text, [((*path, step), value)])
    assert at(load(after), (*path, step)) == value
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    assert [line for line in after.splitlines() if line in comments] == comments or "#" in repr(
        value
    )
    if target and "{" not in text and "[" not in text:
        rest = iter(after.splitlines())
        assert all(any(line == other for other in rest) for line in text.splitlines())


@settings(max_examples=200, deadline=None)
@given(layouts(), st.data())
def test_what_is_deleted_is_gone_and_the_rest_is_there(text, data):
    before = load(text)
    path = data.draw(st.sampled_from([p for p in leaves(before) + containers(before) if p]))
    expected = copy.deepcopy(before)
    del at(expected, path[:-1])[path[-1]]
    assert load(splice(text, [(path, DELETE)])) == expected
