"""No value of a Secret is shown."""

from __future__ import annotations

import json
import subprocess
import sys

from hypothesis import given, settings

from argosy.manifests import is_secret, mask, mask_value
from argosy.manifests.identity import ObjectId
from argosy.manifests.masking import LAST_APPLIED
from manifests_values import objects

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s"},
    "data": {"password": "aHVudGVyMg=="},
    "stringData": {"plain": "hunter2", "empty": None},
}


def test_data_and_string_data_are_masked_and_the_original_stays():
    shown = mask(SECRET)
    text = json.dumps(shown)
    assert "hunter2" not in text
    assert "aHVudGVyMg==" not in text
    assert shown["data"]["password"].startswith("<masked ")
    assert shown["metadata"] == {"name": "s"}
    assert SECRET["stringData"]["plain"] == "hunter2"


def test_the_copy_that_kubectl_leaves_in_an_annotation_is_masked():
    obj = {**SECRET, "metadata": {"annotations": {LAST_APPLIED: json.dumps(SECRET)}}}
    assert "hunter2" not in json.dumps(mask(obj))
    assert "aHVudGVyMg" not in json.dumps(mask(obj))
    broken = {**SECRET, "metadata": {"annotations": {LAST_APPLIED: "hunter2 {"}}}
    assert "hunter2" not in json.dumps(mask(broken))


def test_secrets_in_a_list_are_masked():
    assert "hunter2" not in json.dumps(mask({"kind": "List", "items": [SECRET]}))


def test_marks_tell_values_apart_in_one_run_and_mean_nothing_in_another():
    assert mask_value("a") == mask_value("a") != mask_value("b")
    code = "from argosy.manifests import mask_value; print(mask_value('a'))"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_env()
    ).stdout.strip()
    assert other.startswith("<masked ")
    assert other != mask_value("a")


def _env() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path), "PATH": ""}


def test_only_core_secrets_are_secrets():
    assert is_secret(ObjectId("", "Secret", "n", "x"))
    assert not is_secret(ObjectId("example.com", "Secret", "n", "x"))
    assert not is_secret(ObjectId("", "ConfigMap", "n", "x"))


@settings(deadline=None)
@given(objects)
def test_what_is_no_secret_is_shown_as_it_is(obj):
    if obj["kind"] != "Secret":
        assert mask(obj) is obj
    elif obj["apiVersion"] == "v1" and obj.get("data"):
        assert all(value.startswith("<masked ") for value in mask(obj)["data"].values())
