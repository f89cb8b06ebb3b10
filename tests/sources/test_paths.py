"""Paths of fetched trees stay inside."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.sources.errors import PathError
from argosy.sources.paths import clean, collisions, join


@pytest.mark.parametrize(
    ("folder", "path", "whole"),
    [
        ("a/b", "../c", "a/c"),
        ("a/b", "./x.yaml", "a/b/x.yaml"),
        ("a", "..", ""),
        ("", "a//b/", "a/b"),
        ("", "", ""),
        ("a", "..b/c", "a/..b/c"),
    ],
)
def test_paths_are_normalised(folder, path, whole):
    assert join(folder, path) == whole


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc/passwd", "absolute"),
        ("../x", "leaves"),
        ("a/../../x", "leaves"),
        ("..", "leaves"),
        (".git/hooks/post-checkout", r"\.git"),
        ("a/.GIT/config", r"\.git"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
    ],
)
def test_what_leaves_the_tree_is_refused_by_name(path, why):
    with pytest.raises(PathError, match=why) as caught:
        clean(path)
    assert path in str(caught.value) or repr(path) in str(caught.value)


@given(
    st.lists(st.sampled_from(["a", "b", ".."]), max_size=6).map("/".join),
    st.lists(st.sampled_from(["a", "..", ".", "", "b.yaml", "x y"]), max_size=10).map("/".join),
)
def test_a_joined_path_is_inside_or_refused(folder, path):
    try:
        base = clean(folder)
        whole = join(base, path)
    except PathError:
        return
    real = posixpath.normpath(posixpath.join("/top/tree", base, path))
    assert real in {"/top/tree", f"/top/tree/{whole}"}
    assert clean(whole) == whole


def test_names_that_differ_in_case_alone_collide_in_files_and_folders():
    assert collisions(["a/x.yaml", "A/y.yaml", "b", "c"]) == [("A", "a")]
    assert collisions(["a/Read.me", "a/README"]) == []
    assert collisions(["k/x.YAML", "k/x.yaml"]) == [("k/x.YAML", "k/x.yaml")]
