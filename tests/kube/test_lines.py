"""However a stream is cut into chunks, the same lines come out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from argosy.kube.lines import LineSplitter


@given(
    lines=st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b and b.strip())),
    cuts=st.lists(st.integers(0, 400)),
)
def test_lines_survive_any_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = sorted({0, len(stream), *(c for c in cuts if c < len(stream))})
    splitter = LineSplitter()
    found = [line for start, end in pairwise(edges) for line in splitter.feed(stream[start:end])]
    assert found == lines
    assert not splitter.unfinished


def test_an_unfinished_line_is_kept_and_known() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.unfinished
    assert splitter.feed(b"o\n\n") == [b"two"]
