"""Images are found wherever they hide, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from argosy import yaml
from argosy.graph import images, parse_image

DIGEST = "sha256:" + "0" * 64


def found(text: str) -> dict[str, str]:
    return {one.path: one.image for one in images(yaml.load(text))}


def config(**data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
        "data": data,
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mysql", ("docker.io", "library/mysql", "", "")),
        ("mysql:8.0", ("docker.io", "library/mysql", "8.0", "")),
        ("kserve/agent:v1", ("docker.io", "kserve/agent", "v1", "")),
        ("ghcr.io/a/b/c:v1", ("ghcr.io", "a/b/c", "v1", "")),
        ("localhost:5000/a:b", ("localhost:5000", "a", "b", "")),
        (f"gcr.io/a/b@{DIGEST}", ("gcr.io", "a/b", "", DIGEST)),
        (f"gcr.io/a/b:t@{DIGEST}", ("gcr.io", "a/b", "t", DIGEST)),
    ],
)
def test_a_reference_is_taken_apart(text: str, parts: tuple[str, ...]) -> None:
    assert parse_image(text) == parts


@pytest.mark.parametrize("text", ["", "Not An Image", "$IMAGE", "a b", "UPPER/case", ":tag"])
def test_what_is_no_reference_is_none(text: str) -> None:
    assert parse_image(text) is None


def test_images_in_containers_environment_arguments_and_custom_fields() -> None:
    text = """
    apiVersion: example.com/v1
    kind: Runtime
    metadata: {name: r}
    spec:
      container: {name: x, image: kserve/storage:v1}
      template:
        containers:
        - name: main
          image: mysql
          args: [--executor-image, "quay.io/argo/exec:v3", --solver-image=quay.io/jetstack/s:v1]
          env: [{name: V2_DRIVER_IMAGE, value: ghcr.io/kubeflow/driver:2.16.0},
                {name: URL, value: "http://ml-pipeline.kubeflow:8888"},
                {name: PATHS, value: "a/b:c/d"}]
    """
    assert set(found(text).values()) == {
        "kserve/storage:v1",
        "mysql",
        "quay.io/argo/exec:v3",
        "quay.io/jetstack/s:v1",
        "ghcr.io/kubeflow/driver:2.16.0",
    }
    assert "spec.template.containers[name=main].image" in found(text)


def test_images_in_yaml_and_json_that_a_configmap_carries_as_text() -> None:
    obj = config(
        agent='{"image": "kserve/agent:v1", "port": 80}',
        runtime="runtime:\n  suggestions:\n  - image: ghcr.io/k/katib:v1\n",
        nested="template: |\n  spec:\n    image: ghcr.io/k/inner:v1\n",
        options="image:\n  options:\n  - ghcr.io/k/notebook:v1\n",
        cacheImage="ghcr.io/containerd/busybox",
        script="#!/bin/sh\necho gcr.io/ml-pipeline/x:1.0\n",
    )
    assert {one.image for one in images(obj)} == {
        "kserve/agent:v1",
        "ghcr.io/k/katib:v1",
        "ghcr.io/k/inner:v1",
        "ghcr.io/k/notebook:v1",
        "ghcr.io/containerd/busybox",
        "gcr.io/ml-pipeline/x:1.0",
    }
    places = {one.image: one.path for one in images(obj)}
    assert places["ghcr.io/k/katib:v1"] == "data.runtime:runtime.suggestions[0].image"


def test_parts_of_names_examples_and_definitions_are_left_alone() -> None:
    chart = config(values="global:\n  hub: gcr.io/istio\n  proxy: {image: proxyv2}\n")
    assert [one.image for one in images(chart)] == ["gcr.io/istio"]  # a registry to rewrite
    assert not list(images(config(_example="image: ghcr.io/a/b:v1\nmore: yes\n")))
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "d"},
        "spec": {"description": "such as docker.io/library/mysql:8"},
    }
    assert not list(images(definition))


def test_text_that_only_looks_like_yaml_is_scanned_as_text() -> None:
    obj = config(code="image: [unclosed\nuses ghcr.io/a/b:v1 here\n")
    assert [one.image for one in images(obj)] == ["ghcr.io/a/b:v1"]
