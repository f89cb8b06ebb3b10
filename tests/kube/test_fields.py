"""managedFields: who owns what, and taking over from client-side tools."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from argosy.kube.errors import plain_path
from argosy.kube.fields import (
    LAST_APPLIED,
    adoption_patch,
    last_applied_managers,
    owned_paths,
    owners,
    union,
)

POD = {
    "f:metadata": {
        "f:labels": {".": {}, "f:app.kubernetes.io/name": {}},
        "f:finalizers": {".": {}, 'v:"example.com/guard"': {}},
    },
    "f:spec": {
        "f:containers": {
            'k:{"name":"web"}': {
                ".": {},
                "f:image": {},
                "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:name": {}}},
                "f:command": {},
            }
        },
        "f:odd": {"i:0": {}},
    },
}


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def live(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": "7", "managedFields": list(entries)}}


def test_owned_paths_are_written_for_people() -> None:
    assert owned_paths({"fieldsV1": POD}) == {
        "metadata.labels",
        "metadata.labels.app.kubernetes.io/name",
        "metadata.finalizers",
        "metadata.finalizers[=example.com/guard]",
        "spec.containers[name=web]",
        "spec.containers[name=web].image",
        "spec.containers[name=web].ports[containerPort=80,protocol=TCP]",
        "spec.containers[name=web].ports[containerPort=80,protocol=TCP].name",
        "spec.containers[name=web].command",
        "spec.odd[0]",
    }


def test_a_path_of_a_conflict_is_written_the_same_way() -> None:
    path = '.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].name'
    assert plain_path(path) in owned_paths({"fieldsV1": POD})
    assert plain_path('.metadata.finalizers[="a/b"]') == "metadata.finalizers[=a/b]"


def test_owners_of_a_field_are_those_of_the_field_and_of_what_is_below() -> None:
    obj = live(
        entry("one", "Apply", POD),
        entry("two", "Update", {"f:spec": {"f:nodeName": {}}}),
        entry("three", "Update", {"f:status": {"f:phase": {}}}, subresource="status"),
    )
    assert [o.manager for o in owners(obj, "spec.nodeName")] == ["two"]
    assert [o.manager for o in owners(obj, "spec")] == ["one", "two"]
    assert [(o.manager, o.subresource) for o in owners(obj, "status")] == [("three", "status")]
    assert owners(obj, "spec.node") == []


def test_client_side_managers_are_found_by_the_annotation_they_own() -> None:
    annotated = {"f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}}}
    obj = live(entry("old-tool", "Update", annotated), entry("x", "Update", {"f:spec": {}}))
    assert last_applied_managers(obj) == {"old-tool"}


# -- taking over: the cases of client-go's csaupgrade --------------------------------------------


def test_a_client_side_entry_becomes_ours() -> None:
    fields = {"f:data": {".": {}, "f:a": {}}}
    patch = adoption_patch(
        live(
            entry("kubectl-client-side-apply", "Update", fields),
            entry("kubelet", "Update", {"f:status": {}}, subresource="status"),
        ),
        manager="ours",
    )
    assert patch is not None
    assert patch[0]["value"] == [
        entry("ours", "Apply", fields),
        entry("kubelet", "Update", {"f:status": {}}, subresource="status"),
    ]
    assert patch[1] == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_a_client_side_entry_is_united_with_ours() -> None:
    patch = adoption_patch(
        live(
            entry("ours", "Apply", {"f:data": {"f:a": {}}}),
            entry("kubectl-client-side-apply", "Update", {"f:data": {".": {}, "f:b": {}}}),
        ),
        manager="ours",
    )
    assert patch is not None
    assert patch[0]["value"] == [
        entry("ours", "Apply", {"f:data": {"f:a": {}, ".": {}, "f:b": {}}})
    ]


def test_entries_of_other_versions_go_without_being_united() -> None:
    patch = adoption_patch(
        live(
            entry("ours", "Apply", {"f:data": {"f:a": {}}}),
            entry("old", "Update", {"f:data": {"f:b": {}}}, apiVersion="v1beta1"),
        ),
        manager="ours",
        legacy=("old",),
    )
    assert patch is not None
    assert patch[0]["value"] == [entry("ours", "Apply", {"f:data": {"f:a": {}}})]


def test_the_newest_of_several_entries_is_taken() -> None:
    patch = adoption_patch(
        live(
            entry("old", "Update", {"f:data": {"f:b": {}}}, apiVersion="v2"),
            entry("old", "Update", {"f:data": {"f:c": {}}}, apiVersion="v1"),
        ),
        manager="ours",
        legacy=("old",),
    )
    assert patch is not None
    assert patch[0]["value"] == [entry("ours", "Apply", {"f:data": {"f:b": {}}}, apiVersion="v2")]


def test_another_tools_server_side_apply_is_taken_over_when_asked() -> None:
    obj = live(entry("argocd-controller", "Apply", {"f:data": {}}))
    assert adoption_patch(obj, manager="ours") is None
    patch = adoption_patch(obj, manager="ours", applied=("argocd-controller",))
    assert patch is not None
    assert patch[0]["value"] == [entry("ours", "Apply", {"f:data": {}})]


def test_entries_of_subresources_and_others_are_left_alone() -> None:
    obj = live(
        entry("kubectl-client-side-apply", "Update", {"f:status": {}}, subresource="status"),
        entry("kubectl-client-side-apply", "Apply", {"f:data": {}}),
    )
    before = repr(obj)
    assert adoption_patch(obj, manager="ours") is None
    assert repr(obj) == before


SETS = st.recursive(
    st.just({}),
    lambda below: st.dictionaries(
        st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:0"]), below, max_size=4
    ).flatmap(lambda d: st.sampled_from([d, {".": {}, **d}]) if d else st.just(d)),
    max_leaves=12,
)


@given(one=SETS, other=SETS)
def test_a_union_owns_what_either_owns(one: dict[str, Any], other: dict[str, Any]) -> None:
    # wrapped, since an empty set at the root is no path at all
    one, other = {"f:r": one}, {"f:r": other}
    both = owned_paths({"fieldsV1": union(one, other)})
    assert both == owned_paths({"fieldsV1": one}) | owned_paths({"fieldsV1": other})
