"""What is sent is the rendered object, marked as ours, without what others write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from apply_platforms import crd, objects
from argosy import yaml
from argosy.manifests import ObjectId
from argosy.platform.applyset import PART_OF
from argosy.platform.owners import scaled_by_others, without_foreign_fields
from argosy.platform.payload import payload, payload_digest


def sent(text: str, **options: Any) -> dict[str, Any]:
    (found,) = objects("app", text)
    body = payload(found, "applyset-x-v1", **{"namespaced": True, **options})
    obj = yaml.load(body)
    assert obj["metadata"]["labels"].pop(PART_OF) == "applyset-x-v1"
    return obj


@pytest.mark.parametrize(
    "metadata",
    [
        "metadata:\n  name: things.argosy.test\n",
        "metadata:\n  labels:\n    a: b\n  name: things.argosy.test\n",
        "metadata:\n  creationTimestamp: null\n  name: things.argosy.test\n  labels:\n    a: b\n",
        "metadata:\n  name: things.argosy.test\n  labels: {a: b}\n",
        "metadata: {name: things.argosy.test}\n",
    ],
)
def test_a_definition_is_marked_whatever_its_form(metadata: str) -> None:
    text = crd("things", "Thing").replace("metadata:\n  name: things.argosy.test\n", metadata)
    assert metadata in text
    obj = sent(text, namespaced=False)
    wanted = yaml.load(text.partition("---")[2])
    wanted["metadata"].pop("creationTimestamp", None)
    wanted["metadata"].setdefault("labels", {})
    assert obj == wanted


def test_an_aggregated_roles_rules_are_left_to_their_controller() -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n"
    assert "rules" in sent(f"{role}rules: []\n")
    aggregated = f"{role}rules: []\naggregationRule: {{clusterRoleSelectors: [{{}}]}}\n"
    assert "rules" not in sent(aggregated)


def test_an_authority_that_comes_later_is_not_sent_and_a_real_one_is() -> None:
    hooks = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
        "metadata: {name: a}\nwebhooks:\n- {name: x, clientConfig: {caBundle: Cg==, url: u}}\n"
        "- {name: y, clientConfig: {caBundle: QUJD, url: u}}\n"
    )
    assert [h["clientConfig"] for h in sent(hooks)["webhooks"]] == [
        {"url": "u"},
        {"caBundle": "QUJD", "url": "u"},
    ]


def test_replicas_belong_to_the_autoscaler_where_there_is_one() -> None:
    (scaler,) = objects(
        "app",
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
        "metadata: {name: a, namespace: ns}\n"
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n",
    )
    scaled = scaled_by_others([(scaler.id, scaler.object())])
    web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: ns}\n"
    assert "replicas" not in sent(f"{web}spec: {{replicas: 2}}\n", scaled=scaled)["spec"]
    other = web.replace("web", "api")
    assert sent(f"{other}spec: {{replicas: 2}}\n", scaled=scaled)["spec"]["replicas"] == 2


def test_a_namespace_that_the_kind_cannot_have_is_not_sent() -> None:
    role = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
        "metadata: {name: a, namespace: ns}\n"
    )
    assert "namespace" not in sent(role, namespaced=False)["metadata"]


def test_leaving_fields_out_changes_nothing_in_the_object_itself() -> None:
    obj = {"kind": "Service", "status": {"x": 1}, "spec": {"clusterIP": ""}, "metadata": {}}
    before = msgspec.json.encode(obj)
    kept, rules = without_foreign_fields(ObjectId("", "Service", "ns", "a"), obj)
    assert kept == {"kind": "Service", "spec": {}, "metadata": {}}
    assert len(rules) == 2
    assert all(rule.reason for rule in rules)
    assert msgspec.json.encode(obj) == before


def test_the_digest_of_a_secret_says_nothing_about_its_values() -> None:
    def digest(value: str) -> str:
        text = (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\n"
            f"stringData: {{password: {value}}}\n"
        )
        return payload_digest(objects("app", text)[0], "x")

    assert digest("one") == digest("other")
