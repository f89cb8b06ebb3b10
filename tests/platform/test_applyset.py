"""ApplySets are those of KEP-3659, and the inventory survives what people do to it."""

from __future__ import annotations

import base64
import hashlib

from hypothesis import given
from hypothesis import strategies as st

from argosy.manifests import ObjectId
from argosy.platform.applyset import (
    Parent,
    Record,
    applyset_id,
    parent_name,
    read_parent,
    write_parent,
)

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=1, max_size=20)
ids = st.builds(ObjectId, st.sampled_from(["", "apps"]), st.just("Thing"), names, names)
records = st.dictionaries(ids, st.builds(Record, names, names, names), max_size=5)


def test_the_id_is_computed_as_the_kep_says() -> None:
    digest = hashlib.sha256(b"acme.default.katib.argosy-system.ConfigMap.").digest()
    expected = f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"
    assert applyset_id(parent_name("acme", "default", "katib")) == expected
    assert len(expected) <= 63


@given(records)
def test_a_parent_that_is_written_is_read_as_it_was(found: dict[ObjectId, Record]) -> None:
    parent = Parent(
        app="katib",
        id="applyset-x-v1",
        kinds=frozenset({("apps", "Deployment"), ("", "Service")}),
        namespaces=frozenset({"kubeflow"}),
        records=found,
    )
    assert read_parent(write_parent("acme", "default", parent)) == parent


def test_the_parent_says_what_the_kep_asks_for() -> None:
    kinds = frozenset({("apps", "Deployment"), ("", "Service")})
    parent = Parent("katib", "applyset-x-v1", kinds, frozenset({"b", "a", "argosy-system", ""}), {})
    metadata = write_parent("acme", "default", parent)["metadata"]
    assert metadata["labels"]["applyset.kubernetes.io/id"] == "applyset-x-v1"
    annotations = metadata["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "Deployment.apps,Service"
    assert annotations["applyset.kubernetes.io/additional-namespaces"] == "a,b"
    assert annotations["applyset.kubernetes.io/tooling"].startswith("argosy/v")


@given(st.text())
def test_an_inventory_that_somebody_edited_counts_as_empty_and_never_fails(text: str) -> None:
    obj = {"metadata": {"labels": {}}, "data": {"inventory.json": text}}
    assert isinstance(read_parent(obj).records, dict)
