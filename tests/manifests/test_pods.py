"""Pods are found wherever an object hides them, and labels are selected as Kubernetes does."""

from __future__ import annotations

import pytest

from argosy.manifests import ManifestError, containers, pod_templates, selects, selects_labels

SPEC = {"containers": [{"name": "main", "image": "a"}], "initContainers": [{"name": "init"}]}


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({"kind": "Pod", "spec": SPEC}, ("spec",)),
        (
            {"kind": "Deployment", "spec": {"template": {"spec": SPEC}}},
            ("spec", "template", "spec"),
        ),
        (
            {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": SPEC}}}}},
            ("spec", "jobTemplate", "spec", "template", "spec"),
        ),
        (
            {
                "kind": "PyTorchJob",
                "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": SPEC}}}},
            },
            ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec"),
        ),
        (
            {"kind": "JobSet", "spec": {"replicatedJobs": [{"template": {"spec": SPEC}}]}},
            ("spec", "replicatedJobs", 0, "template", "spec"),
        ),
        ({"kind": "InferenceService", "spec": {"predictor": SPEC}}, ("spec", "predictor")),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_a_pod_spec_is_known_by_its_shape(obj, path):
    assert [template.path for template in pod_templates(obj)] == [path]
    assert [(c.field, c.container["name"]) for c in containers(obj)] == [
        ("initContainers", "init"),
        ("containers", "main"),
    ]


def test_a_template_brings_its_labels():
    obj = {
        "kind": "Deployment",
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}},
    }
    assert next(pod_templates(obj)).labels == {"a": "b"}


def test_definitions_and_data_hold_no_pods():
    assert not list(pod_templates({"kind": "CustomResourceDefinition", "spec": {"x": SPEC}}))
    assert not list(pod_templates({"kind": "ConfigMap", "data": {"containers": "x"}}))


LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "api"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}]}, True),
        ({"matchExpressions": [{"key": "no", "operator": "In", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        (
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "x", "operator": "Exists"}],
            },
            False,
        ),
    ],
)
def test_a_selector_selects_as_kubernetes_does(selector, expected):
    assert selects(selector, LABELS) is expected


def test_an_unknown_operator_is_refused():
    with pytest.raises(ManifestError, match="`Like` is not an operator"):
        selects({"matchExpressions": [{"key": "app", "operator": "Like"}]}, LABELS)


def test_the_selector_of_a_service_wants_each_label():
    assert selects_labels({"app": "web"}, LABELS)
    assert not selects_labels({"app": "web", "x": "y"}, LABELS)
