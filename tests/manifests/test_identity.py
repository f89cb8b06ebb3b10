"""Who an object is, and what is none."""

from __future__ import annotations

import pytest

from argosy.errors import Location
from argosy.manifests import ManifestError, ObjectId, flatten, identity


def test_an_identity_reads_like_kubectl():
    assert str(ObjectId("apps", "Deployment", "kubeflow", "x")) == "Deployment.apps kubeflow/x"
    assert str(ObjectId("", "Service", "kubeflow", "x")) == "Service kubeflow/x"
    assert str(ObjectId("", "Namespace", "", "kubeflow")) == "Namespace kubeflow"


def test_the_version_is_no_part_of_it():
    for version in ("v1", "v1beta1"):
        obj = {
            "apiVersion": f"kubeflow.org/{version}",
            "kind": "Profile",
            "metadata": {"name": "x"},
        }
        assert identity(obj) == ObjectId("kubeflow.org", "Profile", "", "x")


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ([], "must be a mapping, not a list"),
        ({}, "no apiVersion"),
        ({"apiVersion": "v1"}, "no kind"),
        ({"apiVersion": 1, "kind": "A"}, "an apiVersion that is a number, not a text"),
        ({"apiVersion": "v1", "kind": "A"}, "the A has no metadata"),
        ({"apiVersion": "v1", "kind": "A", "metadata": {}}, "the A has no name"),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": 5}}, "a name that is a number"),
        (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "namespace": True}},
            "the A `x` has a namespace that is a boolean",
        ),
    ],
)
def test_what_is_no_object_is_refused_with_its_place(obj, message):
    with pytest.raises(ManifestError) as caught:
        identity(obj, where=Location("f.yaml", 3))
    assert str(caught.value).startswith("f.yaml:3: ")
    assert message in str(caught.value)


def test_lists_are_taken_apart():
    a, b = {"kind": "A"}, {"kind": "B"}
    nested = {"kind": "List", "items": [b, {"kind": "BList", "items": [a]}]}
    assert list(flatten([a, None, nested])) == [a, b, a]
    assert list(flatten([{"kind": "Playlist"}])) == [{"kind": "Playlist"}]
