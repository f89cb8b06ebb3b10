"""A remote reference is read as kustomize reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.errors import Location, UsageError
from argosy.sources.errors import LockError, PathError
from argosy.sources.remote import (
    ChartRef,
    FileRef,
    GitRef,
    is_remote,
    parse_remote,
    remote_name,
)

ARGO = "https://github.com/argoproj/argo-workflows"


@pytest.mark.parametrize(
    ("text", "repo", "path", "ref"),
    [
        (f"{ARGO}/manifests/base?ref=v3.7.3", ARGO, "manifests/base", "v3.7.3"),
        ("github.com/argoproj/argo-workflows//manifests?ref=v1", ARGO, "manifests", "v1"),
        (f"git::{ARGO}.git//manifests?ref=v1", ARGO, "manifests", "v1"),
        (f"{ARGO}.git/manifests?ref=v1", ARGO, "manifests", "v1"),
        (f"{ARGO}?version=v1", ARGO, "", "v1"),
        (f"{ARGO}?version=v1&ref=v2", ARGO, "", "v2"),
        (ARGO, ARGO, "", None),
        ("git@github.com:o/r.git/base?ref=a/b", "git@github.com:o/r", "base", "a/b"),
        ("ssh://git@github.com/o/r?ref=v1", "git@github.com:o/r", "", "v1"),
        ("https://GitHub.com/o/r?ref=v1", "https://github.com/o/r", "", "v1"),
        ("git@gitlab.com:g/r.git//x?ref=v1", "git@gitlab.com:g/r.git", "x", "v1"),
        ("https://gitlab.com/g/s/r.git/x?ref=v1", "https://gitlab.com/g/s/r.git", "x", "v1"),
        (
            "https://u@dev.azure.com/org/p/_git/repo/a/b?ref=v1",
            "https://u@dev.azure.com/org/p/_git/repo",
            "a/b",
            "v1",
        ),
        ("file:///srv/repo.git//x/y?ref=v1", "file:///srv/repo.git", "x/y", "v1"),
        ("file:///srv/repo?ref=v1", "file:///srv/repo", "", "v1"),
        (f"{ARGO}//a/../b?ref=v1&timeout=30s&submodules=0", ARGO, "b", "v1"),
    ],
)
def test_a_git_url_splits_into_repository_path_and_ref(text, repo, path, ref):
    assert is_remote(text)
    assert parse_remote(text) == GitRef(repo, path, ref)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/kubernetes-sigs/jobset/releases/download/v0.11.0/manifests.yaml",
        "https://raw.githubusercontent.com/o/r/v1/deploy.yml",
        "https://example.com/crds.json",
    ],
)
def test_a_url_that_ends_like_a_manifest_is_a_file(url):
    assert parse_remote(url) == FileRef(url)


def test_a_manifest_with_a_ref_is_in_git():
    assert parse_remote(f"{ARGO}/x.yaml?ref=v1") == GitRef(ARGO, "x.yaml", "v1")


@pytest.mark.parametrize(
    "path", ["../base", "base", "./x.yaml", "github.com.yaml", "a@b/c", "c:/x", "user/github.com/x"]
)
def test_local_paths_are_local(path):
    assert is_remote(path) is (path == "a@b/c")  # kustomize, too, takes a@b/c for a host


@pytest.mark.parametrize(
    "ref",
    ["--upload-pack=x", "a..b", "a b", "v1~1", "v1^", "a:b", "x.lock", "/a", "a/", ".a", "@{1}"],
)
def test_a_ref_that_git_would_read_otherwise_is_refused_with_its_place(ref):
    from urllib.parse import quote

    with pytest.raises(LockError, match="not a valid git ref") as caught:
        parse_remote(f"{ARGO}?ref={quote(ref)}", where=Location("kustomization.yaml", 5))
    assert str(caught.value).startswith("kustomization.yaml:5: ")


def test_a_path_that_leaves_the_repository_is_refused():
    with pytest.raises(PathError, match="leaves"):
        parse_remote(f"{ARGO}//../../other?ref=v1")


@pytest.mark.parametrize(
    "text", ["https://", "https://host", "https://github.com/o", "git@host", ""]
)
def test_what_names_no_repository_is_refused(text):
    with pytest.raises(LockError):
        parse_remote(text)


def test_brackets_that_hold_no_address_are_no_traceback():
    with pytest.raises(LockError):
        parse_remote("https://[::1/x.yaml")


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        (GitRef(ARGO, "manifests", "v3.7.3"), "github.com/argoproj/argo-workflows/v3.7.3"),
        (GitRef("git@github.com:o/r", "", "v1"), "github.com/o/r/v1"),
        (GitRef("https://user@Host.io:8443/a/r.git", "", "v1"), "host.io_8443/a/r/v1"),
        (GitRef("file:///srv/repo.git", "", "v1"), "file/srv/repo/v1"),
        (FileRef("https://example.com/a/b.yaml?x=1#y"), "example.com/a/b.yaml"),
        (
            ChartRef("https://charts.io/stable/", "redis", "1.2.3"),
            "charts.io/stable/redis-1.2.3.tgz",
        ),
        (ChartRef("oci://ghcr.io/org", "x", "1.0.0"), "ghcr.io/org/x-1.0.0.tgz"),
    ],
)
def test_the_name_of_a_remote_is_its_folder_in_a_mirror(ref, name):
    assert remote_name(ref) == name


SEGMENT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@given(
    st.sampled_from(
        ["https://", "http://", "ssh://", "file://", "git::https://", "git@", "", "github.com/"]
    ),
    st.lists(SEGMENT | st.sampled_from(["..", ".", "", ".git", "%2e%2e", "_git", "a"]), max_size=8),
    SEGMENT,
)
def test_whatever_stands_there_parsing_gives_a_place_inside_a_mirror_or_one_sentence(
    scheme, segments, ref
):
    text = f"{scheme}{'/'.join(segments)}?ref={ref}"
    try:
        found = parse_remote(text)
        name = remote_name(found)
    except UsageError:
        return
    for path in (name, found.path if isinstance(found, GitRef) else "x"):
        assert not path.startswith("/")
        assert ".." not in path.split("/")


@given(
    st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
    st.lists(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True), max_size=4),
    st.from_regex(r"v[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True),
)
def test_every_spelling_of_a_github_folder_is_the_same_reference(repo, path, ref):
    folder = "/".join(path)
    spellings = {
        parse_remote(text)
        for text in (
            f"https://github.com/org/{repo}/{folder}?ref={ref}",
            f"https://github.com/org/{repo}//{folder}?ref={ref}",
            f"https://github.com/org/{repo}.git/{folder}?ref={ref}",
            f"git::https://github.com/org/{repo}.git//{folder}?version={ref}",
            f"github.com/org/{repo}//{folder}?ref={ref}",
        )
    }
    assert len(spellings) == 1
