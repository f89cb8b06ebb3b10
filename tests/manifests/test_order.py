"""Objects come out in one order, whatever order they came in."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from argosy.manifests import identity, sort_for_apply, sort_for_output

KINDS = [
    ("v1", "Namespace"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("kubeflow.org/v1", "Profile"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
]


def obj(api_version: str, kind: str, name: str = "x") -> dict:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def test_apply_puts_first_what_others_need():
    objects = [obj(*kind) for kind in KINDS]
    shuffled = random.Random(1).sample(objects, len(objects))
    assert sort_for_apply(shuffled) == objects


def test_a_custom_resource_named_like_a_core_kind_is_a_custom_resource():
    service, knative = obj("v1", "Service"), obj("serving.knative.dev/v1", "Service")
    job = obj("batch/v1", "Job")
    assert sort_for_apply([knative, job, service]) == [service, job, knative]


def test_output_is_in_the_order_of_kustomize():
    kinds = [identity(o).kind for o in sort_for_output([obj(*kind) for kind in reversed(KINDS)])]
    assert kinds == [
        "Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "RoleBinding",
        "ConfigMap", "Service", "PriorityClass", "PersistentVolumeClaim", "Deployment",
        "Job", "Profile", "ValidatingWebhookConfiguration",
    ]  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("abc")), unique=True), st.randoms()
)
def test_the_order_does_not_depend_on_the_order_of_the_input(chosen, rng):
    objects = [obj(*kind, name) for kind, name in chosen]
    shuffled = rng.sample(objects, len(objects))
    assert sort_for_apply(shuffled) == sort_for_apply(objects)
    assert sort_for_output(shuffled) == sort_for_output(objects)
