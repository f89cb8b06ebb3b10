"""A diff tells what a person would tell, and loses nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from argosy.manifests import LIST_KEYS, Change, PathError, apply_changes, diff, parse_path
from argosy.manifests.paths import format_path
from manifests_values import anything, objects


def exact(value: object) -> str:
    return json.dumps(value, sort_keys=True)  # tells true from 1


def deployment(*containers: dict, **spec: object) -> dict:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {"template": {"spec": {"containers": list(containers)}}, **spec},
    }


def paths(old: object, new: object, **options: bool) -> list[str]:
    return [f"{change.op} {change.path}" for change in diff(old, new, **options)]


POD = "spec.template.spec.containers"


def test_an_image_is_one_change_with_the_containers_name():
    old = deployment({"name": "main", "image": "a:1"}, {"name": "side"})
    new = deployment({"name": "main", "image": "a:2"}, {"name": "side"})
    assert diff(old, new) == [Change(f"{POD}[name=main].image", "change", "a:1", "a:2")]


def test_a_container_in_front_does_not_change_the_others():
    old = deployment({"name": "main"})
    new = deployment({"name": "proxy"}, {"name": "main"})
    assert diff(old, new) == [
        Change(f"{POD}[name=proxy]", "add", None, {"name": "proxy"}, at=0),
    ]


def test_another_order_of_named_items_is_one_change():
    old = deployment({"name": "a"}, {"name": "b"})
    new = deployment({"name": "b"}, {"name": "a"})
    assert diff(old, new) == [
        Change(POD, "order", ["[name=a]", "[name=b]"], ["[name=b]", "[name=a]"]),
    ]


def test_ports_are_known_by_number_and_protocol():
    def service(*ports: dict) -> dict:
        return {"apiVersion": "v1", "kind": "Service", "spec": {"ports": list(ports)}}

    old = service({"port": 53, "protocol": "UDP"}, {"port": 53, "name": "dns-tcp"})
    new = service({"port": 53, "protocol": "UDP"}, {"port": 53, "name": "tcp"})
    assert paths(old, new) == ["change spec.ports[port=53,protocol=TCP].name"]


def test_environment_and_mounts_are_known_by_name_and_path():
    old = deployment({"name": "m", "env": [{"name": "A", "value": "1"}],
                      "volumeMounts": [{"mountPath": "/a", "name": "x"}]})  # fmt: skip
    new = deployment({"name": "m", "env": [{"name": "B"}, {"name": "A", "value": "2"}],
                      "volumeMounts": [{"mountPath": "/a", "name": "y"}]})  # fmt: skip
    assert paths(old, new) == [
        f"change {POD}[name=m].env[name=A].value",
        f"add {POD}[name=m].env[name=B]",
        f"change {POD}[name=m].volumeMounts[mountPath=/a].name",
    ]


def test_two_items_of_one_name_are_compared_by_position():
    old = deployment({"name": "m", "env": [{"name": "A", "value": "1"}, {"name": "A"}]})
    new = deployment({"name": "m", "env": [{"name": "A", "value": "2"}, {"name": "A"}]})
    assert paths(old, new) == [f"change {POD}[name=m].env[0].value"]


def test_a_field_of_the_same_name_in_a_custom_resource_is_not_misread():
    old = {"kind": "Custom", "spec": {"ports": [{"port": 1}, {"port": 2}]}}
    new = {"kind": "Custom", "spec": {"ports": [{"port": 3}, {"port": 2}]}}
    assert paths(old, new) == ["change spec.ports[0].port"]


def test_a_rule_in_front_does_not_change_the_rules_behind_it():
    old = {"kind": "Role", "rules": [{"verbs": ["get"]}, {"verbs": ["list"]}]}
    new = {"kind": "Role", "rules": [{"verbs": ["watch"]}, {"verbs": ["get"]}, {"verbs": ["list"]}]}
    assert paths(old, new) == ["add rules[0]"]


def test_lists_of_texts_are_sets_whose_order_is_noted():
    old = {"metadata": {"finalizers": ["a", "b", "c"]}}
    assert paths(old, {"metadata": {"finalizers": ["a", "c", "d"]}}) == [
        "remove metadata.finalizers[=b]",
        "add metadata.finalizers[=d]",
    ]
    assert paths(old, {"metadata": {"finalizers": ["c", "b", "a"]}}) == [
        "order metadata.finalizers"
    ]


def test_true_is_not_one():
    assert paths({"a": True, "b": [1]}, {"a": 1, "b": [True]}) == ["change a", "change b[0]"]
    assert paths({"a": 1}, {"a": 1.0}) == []


def test_keys_with_dots_are_quoted():
    old = {"metadata": {"annotations": {"a.b/c": "1"}}}
    assert paths(old, {"metadata": {"annotations": {"a.b/c": "2"}}}) == [
        'change metadata.annotations["a.b/c"]'
    ]


def test_what_means_the_same_is_no_difference_when_asked():
    old = deployment({"name": "m", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}})
    new = deployment(
        {"name": "m", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}, extra=None
    )
    assert diff(old, new, semantic=True) == []
    assert len(diff(old, new)) == 3
    probe = {"httpGet": {"port": "8080", "path": "/"}}
    other = {"httpGet": {"port": 8080, "path": "/"}}
    assert diff({"p": probe}, {"p": other}, semantic=True) == []
    assert paths({"value": "1000m"}, {"value": "1"}, semantic=True) == ["change value"]


def test_values_of_secrets_are_masked():
    def secret(value: str) -> dict:
        return {"apiVersion": "v1", "kind": "Secret", "data": {"password": value}}

    (change,) = diff(secret("aGVsbG8="), secret("d29ybGQ="), mask=True)
    assert change.path == "data.password"
    assert str(change.old).startswith("<masked ")
    assert change.old != change.new
    assert "aGVsbG8=" not in json.dumps(change.to_dict())


def test_changes_are_json():
    assert Change("a", "add", None, 1, at=2).to_dict() == {
        "path": "a",
        "op": "add",
        "new": 1,
        "at": 2,
    }
    assert Change("a", "remove", None).to_dict() == {"path": "a", "op": "remove", "old": None}
    assert Change("a", "change", None, 1).to_dict() == {
        "path": "a", "op": "change", "old": None, "new": 1,
    }  # fmt: skip


def test_a_change_of_what_is_not_there_is_refused():
    with pytest.raises(PathError):
        apply_changes({"a": 1}, [Change("b.c", "change", 1, 2)])


def test_each_list_key_says_where_it_comes_from():
    assert all(line.source and line.keys for line in LIST_KEYS)


@settings(max_examples=300, deadline=None)
@given(objects, objects)
def test_the_changes_turn_old_into_new(old, new):
    changes = diff(old, new)
    assert exact(apply_changes(old, changes)) == exact(new)
    assert [format_path(parse_path(change.path)) for change in changes] == [
        change.path for change in changes
    ]


@settings(max_examples=200, deadline=None)
@given(anything, anything)
def test_any_two_values_can_be_compared(old, new):
    assert exact(apply_changes(old, diff(old, new))) == exact(new)


@settings(max_examples=300, deadline=None)
@given(objects)
def test_equal_objects_have_no_changes(obj):
    twin = json.loads(json.dumps(obj))
    assert diff(obj, twin) == []
    assert diff(obj, twin, semantic=True) == []
    assert diff(obj, twin, mask=True) == []
