"""A stream is cut where its documents end, and nothing is parsed for a name."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.errors import Location
from argosy.manifests import Document, ManifestError, ObjectId, identity, split
from argosy.manifests.documents import _scan
from argosy.yaml import YamlError, dump_all, load, load_all

STREAM = """\
# head
---

apiVersion: apps/v1
kind: Deployment
metadata:
  labels: {name: no}
  name: 'web' # ours
  namespace: team
--- # second
apiVersion: v1
kind: ConfigMap
data:
  script: |
    ---
    kind: Fake
metadata:
  annotations:
    name: no
  name: cm
---
# only a comment
---
"""


def test_documents_know_their_text_and_line():
    found = split(STREAM, file="f.yaml")
    assert [document.line for document in found] == [4, 11]
    assert found[0].text.startswith("apiVersion: apps/v1\n")
    assert found[1].text.endswith("  name: cm\n")
    assert str(found[1].where) == "f.yaml:11"
    assert found[0].digest == hashlib.sha256(found[0].text.encode()).hexdigest()


def test_identities_are_read_without_parsing():
    found = split(STREAM)
    assert [document.id for document in found] == [
        ObjectId("apps", "Deployment", "team", "web"),
        ObjectId("", "ConfigMap", "", "cm"),
    ]
    assert all("_object" not in vars(document) for document in found)
    assert found[0].object() is found[0].object()


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: v1, kind: A, metadata: {name: x}}\n",
        '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}\n',
        "apiVersion: v1\nkind: A\nmetadata: {name: x}\n",
        "apiVersion: v1\nkind: A\nmetadata:\n  ? name\n  : x\n",
        "apiVersion: v1\nkind: A\nmetadata:\n  name: &n x\n",
        'apiVersion: "v\\u0031"\nkind: A\nmetadata:\n  name: x\n',
        "apiVersion: v1\nkind: A\nmetadata:\n  name:\n    x\n",
        "a: &m\n  name: x\napiVersion: v1\nkind: A\nmetadata:\n  <<: *m\n",
        "apiVersion: v1\nkind: A\nmetadata:\n  'name': x\n",
        'apiVersion: v1\nkind: A\nmetadata:\n  note: "a\n  name: no"\n  name: x\n',
    ],
)
def test_an_unusual_layout_is_parsed_instead(text):
    assert _scan(text) is None
    assert Document(text).id == ObjectId("", "A", "", "x")


def test_a_name_that_is_a_boolean_is_refused_with_its_place():
    (document,) = split("---\napiVersion: v1\nkind: A\nmetadata:\n  name: yes\n", file="f.yaml")
    with pytest.raises(ManifestError, match=r"f.yaml:2: the A has a name that is a boolean"):
        _ = document.id


def test_an_error_in_a_document_has_the_line_of_the_file():
    document = split("a: 1\n---\nb: 1\nb: 2\n", file="f.yaml")[1]
    with pytest.raises(YamlError) as caught:
        document.object()
    assert caught.value.where == Location("f.yaml", 4, 1)


def test_content_on_the_line_of_the_separator_belongs_to_the_document():
    (document,) = split("--- {a: 1}\n")
    assert load(document.text) == {"a": 1}
    assert document.line == 1


def test_directives_byte_order_marks_and_windows_line_ends():
    assert [d.object() for d in split("%YAML 1.1\n---\na: 1\n")] == [{"a": 1}]
    assert [d.object() for d in split("\ufeffa: 1\r\n---\r\nb: 2\r\n")] == [{"a": 1}, {"b": 2}]
    assert split("") == []
    assert split("---\n---\n...\n") == []
    assert [d.text for d in split("a: ---b\n---c: 1\n")] == ["a: ---b\n---c: 1\n"]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["kind", "a", "metadata", "%x"]),
            st.sampled_from(["---", "x\n---\ny\n", "\n---", "# c", "", "...", "a\n...\n", 1, None]),
            min_size=1,
        ),
        max_size=5,
    ),
    st.sampled_from(["", "---\n", "# c\n---\n"]),
)
def test_splitting_and_parsing_gives_what_parsing_gives(objects, head):
    text = head + dump_all(objects)
    assert [document.object() for document in split(text)] == load_all(text)
    lines = text.splitlines()
    for document in split(text):
        assert lines[document.line - 1] == document.text.splitlines()[0]


def test_scanned_identities_are_those_of_the_parsed_objects(upstream):
    scanned = total = 0
    for path in sorted((upstream / "github.com" / "kubeflow").rglob("*.yaml"))[::7]:
        for document in split(path.read_text(), file=str(path)):
            found = _scan(document.text)
            total += 1
            if found is not None:
                scanned += 1
                assert found == identity(document.object()), document
    assert scanned > total / 2
