"""The closure of a kustomization is exactly what a build reads."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.errors import UsageError
from argosy.sources.closure import closure, closure_digest
from argosy.sources.errors import KustomizationError, PathError
from argosy.sources.remote import FileRef, GitRef
from argosy.sources.trees import DirTree, MemoryTree
from argosy.yaml import YamlError


def tree(**files: str) -> MemoryTree:
    """Return a tree; in names "__" stands for "/" and a missing suffix for ".yaml"."""
    named = {}
    for name, text in files.items():
        path = name.replace("__", "/")
        named[path if "." in path else f"{path}.yaml"] = text.encode()
    return MemoryTree(named, label="t")


def test_every_field_that_names_a_file_is_followed():
    kustomization = """
resources: [a.yaml, base]
bases: [old]
components: [part]
patches:
- path: p1.yaml
- patch: '{"op": "x"}'
patchesStrategicMerge:
- p2.yaml
- |-
  apiVersion: v1
  kind: Inline
patchesJson6902: [{path: p3.json, target: {}}]
configMapGenerator:
- {name: a, files: [f1.txt, key=f2.txt], envs: [e1.env], env: e2.env}
secretGenerator:
- {name: b, files: [s.txt]}
configurations: [conf.yaml]
crds: [crd.json]
openapi: {path: schema.json}
replacements: [{path: r.yaml}, {source: {}}]
generators: [g.yaml]
transformers:
- t.yaml
- |-
  kind: InlineToo
validators: [v.yaml]
"""
    names = (
        "a.yaml p1.yaml p2.yaml p3.json f1.txt f2.txt e1.env e2.env s.txt conf.yaml crd.json "
        "schema.json r.yaml v.yaml deep.txt tp.yaml"
    )
    plain = dict.fromkeys(names.split(), b"")
    files = {
        **plain,
        "kustomization.yaml": kustomization.encode(),
        "g.yaml": b"kind: ConfigMapGenerator\nfiles: [deep.txt]\n",
        "t.yaml": b"kind: PatchTransformer\npath: tp.yaml\n",
        "base/kustomization.yml": b"{}",
        "old/Kustomization": b"{}",
        "part/kustomization.yaml": b"kind: Component",
    }
    found = closure(MemoryTree({**files, "unused.yaml": b"", "base/unused.yaml": b""}), [""])
    assert set(found.files) == set(files)
    assert found.remotes == ()


def test_remotes_are_collected_with_their_place_and_not_fetched():
    found = closure(
        tree(
            kustomization="resources:\n"
            "- https://github.com/o/r/base?ref=v1\n"
            "# a comment\n"
            "- https://h.io/x.yaml\n"
            "patches:\n- path: https://h.io/p.yaml\n"
        ),
        [""],
    )
    assert [met.ref for met in found.remotes] == [
        GitRef("https://github.com/o/r", "base", "v1"),
        FileRef("https://h.io/x.yaml"),
        FileRef("https://h.io/p.yaml"),
    ]
    assert [met.where.line for met in found.remotes] == [2, 4, 6]
    assert found.remotes[2].at == ("patches", 0, "path")


def test_a_folder_without_kustomization_gives_its_yaml_files():
    found = closure(tree(d__a="", d__b="", d__deep__c="", **{"d__x.txt": ""}), ["d"])
    assert found.files == ("d/a.yaml", "d/b.yaml")


def test_a_chart_is_taken_whole():
    files = {"c/Chart.yaml": b"", "c/values.yaml": b"", "c/templates/x.tpl": b"", "other": b""}
    assert closure(MemoryTree(files), ["c"]).files == tuple(sorted(set(files) - {"other"}))


def test_charts_that_a_kustomization_inflates_come_from_the_tree():
    files = {
        "kustomization.yaml": b"helmCharts:\n- {name: web, valuesFile: v.yaml}\n"
        b"- {name: db, version: '1.2', repo: https://x, additionalValuesFiles: [w.yaml]}\n",
        "v.yaml": b"",
        "w.yaml": b"",
        "charts/web/Chart.yaml": b"",
        "charts/db-1.2/db/Chart.yaml": b"",
    }
    found = closure(MemoryTree(files), [""])
    assert found.helm
    assert set(found.files) == set(files)
    del files["charts/db-1.2/db/Chart.yaml"]
    with pytest.raises(KustomizationError, match="chart db is not in the tree"):
        closure(MemoryTree(files), [""])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("resources:\n- nope.yaml\n", 2, "nope.yaml, which is not there"),
        ("resources:\n- plain\n", 2, "a folder without kustomization"),
        ("\npatches:\n- path: plain\n", 3, "names the file plain, which is not there"),
        ("components:\n- plain/a.yaml\n", 2, "names the folder plain/a.yaml"),
        ("resources:\n- ../../x\n", 2, "leaves"),
        ("resources: [/etc]\n", 1, "absolute"),
        ("resources: x\n", 1, "has to be a list"),
        ("configMapGenerator:\n- name: a\n  files:\n  - k=../../etc/passwd\n", 4, "leaves"),
    ],
)
def test_a_wrong_reference_is_named_with_its_line(text, line, why):
    with pytest.raises(UsageError, match=why) as caught:
        closure(tree(kustomization=text, plain__a=""), [""])
    assert f"t/kustomization.yaml:{line}:" in str(caught.value)


def test_what_is_not_yaml_or_not_a_mapping_is_refused():
    with pytest.raises(YamlError):
        closure(tree(kustomization="a: [\n"), [""])
    with pytest.raises(KustomizationError, match="mapping"):
        closure(tree(kustomization="- a\n"), [""])


def test_two_kustomization_files_in_one_folder_are_refused():
    with pytest.raises(KustomizationError, match="two kustomization files"):
        closure(tree(kustomization="{}", **{"kustomization.yml": "{}"}), [""])


def test_folders_that_name_each_other_are_walked_once():
    found = closure(tree(a__kustomization="bases: [../b]", b__kustomization="bases: [../a]"), ["a"])
    assert found.files == ("a/kustomization.yaml", "b/kustomization.yaml")


def test_a_start_that_is_not_there_is_refused():
    with pytest.raises(KustomizationError, match="there is no gone in t"):
        closure(tree(a=""), ["gone"])


def test_names_that_differ_in_case_alone_are_refused():
    files = {"kustomization.yaml": b"resources: [A.yaml, a.yaml]", "A.yaml": b"", "a.yaml": b""}
    with pytest.raises(PathError, match=r"both A\.yaml and a\.yaml"):
        closure(MemoryTree(files), [""])


def test_links_inside_the_tree_are_followed_and_reported(write):
    root = write("t", {"k/kustomization.yaml": "resources: [base, x.yaml]", "real/x.yaml": ""})
    write("t", {"real/base/kustomization.yaml": "resources: [../y.yaml]", "real/y.yaml": ""})
    (root / "k/base").symlink_to("../real/base")
    (root / "k/x.yaml").symlink_to("../real/x.yaml")
    found = closure(DirTree(root), ["k"])
    assert found.links == {"k/base": "../real/base", "k/x.yaml": "../real/x.yaml"}
    assert found.files == (
        "k/kustomization.yaml",
        "real/base/kustomization.yaml",
        "real/x.yaml",
        "real/y.yaml",
    )


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../etc/passwd", "../../t2/x.yaml"])
def test_a_link_out_of_the_tree_is_refused_by_name(write, target):
    root = write("t", {"k/kustomization.yaml": "resources: [x.yaml]"})
    (root / "k/x.yaml").symlink_to(target)
    with pytest.raises(PathError, match=r"k/x\.yaml is a link to") as caught:
        closure(DirTree(root), ["k"])
    assert "kustomization.yaml:1:" in str(caught.value)


def test_a_folder_behind_a_link_out_of_the_tree_is_refused(write):
    write("outside", {"kustomization.yaml": "{}"})
    root = write("t", {"kustomization.yaml": "resources: [a/b]"})
    (root / "a").symlink_to(root.parent / "outside")
    with pytest.raises(PathError, match="is a link to"):
        closure(DirTree(root), [""])


def test_links_in_a_circle_are_refused(write):
    root = write("t", {"kustomization.yaml": "resources: [a]"})
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(PathError, match="circle"):
        closure(DirTree(root), [""])


def test_what_is_no_plain_file_is_refused(write):
    root = write("t", {"kustomization.yaml": "resources: [pipe.yaml]"})
    os.mkfifo(root / "pipe.yaml")
    with pytest.raises(PathError, match="not a plain file"):
        closure(DirTree(root), [""])


def test_the_digest_depends_on_contents_and_paths_alone(write):
    files = {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": "x: 1"}
    one, two = DirTree(write("one", files)), DirTree(write("two", {**files, "unused": "y"}))
    (two.root / "a.yaml").chmod(0o755)
    assert closure_digest(one, closure(one, [""])) == closure_digest(two, closure(two, [""]))
    other = DirTree(write("three", {**files, "a.yaml": "x: 2"}))
    assert closure_digest(one, closure(one, [""])) != closure_digest(other, closure(other, [""]))


NAME = st.sampled_from(["a", "b", "..", ".", "a/b", "../a", "a.yaml", "b.yaml", "/a", "https://h"])
FIELD = st.sampled_from(["resources", "bases", "components", "patches", "crds", "generators"])
VALUE = st.recursive(
    NAME | st.none() | st.integers() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["path", "files", "name", "env"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(FIELD, VALUE, max_size=4), st.dictionaries(FIELD, VALUE, max_size=2))
def test_whatever_a_kustomization_says_nothing_outside_is_read_and_errors_are_sentences(one, two):
    from argosy import yaml

    files = {
        "a/kustomization.yaml": yaml.dump(one).encode(),
        "a/b/kustomization.yaml": yaml.dump(two).encode(),
        "a/a.yaml": b"",
        "b.yaml": b"",
    }
    try:
        found = closure(MemoryTree(files), ["a"])
    except UsageError:
        return
    assert set(found.files) <= set(files)


APPS = {"26.03": (545, 117, "v0.10.1"), "v1.11.0": (535, 116, "v0.10.1")}


@pytest.mark.upstream
@pytest.mark.parametrize("release", APPS)
def test_a_whole_kubeflow_release_closes_with_its_four_remotes(upstream, release):
    files, folders, jobset = APPS[release]
    root = upstream / "github.com/kubeflow/manifests" / release
    found = closure(DirTree(root), ["example"])
    assert (len(found.files), len(found.kustomizations)) == (files, folders)
    argo = "https://github.com/argoproj/argo-workflows"
    assert [met.ref for met in found.remotes] == [
        GitRef(argo, "manifests/base/crds/minimal", "v3.7.3"),
        GitRef(argo, "manifests/cluster-install-no-crds/workflow-controller-rbac", "v3.7.3"),
        GitRef(argo, "manifests/base/workflow-controller", "v3.7.3"),
        FileRef(
            f"https://github.com/kubernetes-sigs/jobset/releases/download/{jobset}/manifests.yaml"
        ),
    ]
    assert all(met.where.line for met in found.remotes)
