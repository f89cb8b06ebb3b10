"""What needs care in an upgrade is named before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from argosy import yaml
from argosy.manifests import ObjectId, identity
from argosy.platform.hazards import Hazard, hazards, platform_hazards, removal_hazard, short


def compare(old: str, new: str) -> list[Hazard]:
    before, after = yaml.load(old), yaml.load(new)
    return list(hazards(identity(after), before, after))


def workload(kind: str, image: str, name: str = "db", **spec: Any) -> str:
    return yaml.dump(
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "n"},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
                **spec,
            },
        }
    )


def definition(*versions: str, storage: str, stored: tuple[str, ...] = ()) -> str:
    return yaml.dump(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.argosy.test"},
            "spec": {
                "group": "argosy.test",
                "scope": "Namespaced",
                "names": {"kind": "Thing", "plural": "things"},
                "versions": [
                    {"name": v, "served": True, "storage": v == storage} for v in versions
                ],
            },
            "status": {"storedVersions": list(stored)},
        }
    )


def claim(size: str, storage_class: str = "fast") -> str:
    return yaml.dump(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "n"},
            "spec": {
                "storageClassName": storage_class,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        }
    )


BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a, namespace: ns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ROLE}
"""
OLD = workload("Deployment", "web:1", "web")
CASES = [
    (OLD, OLD, []),
    (OLD, OLD.replace("web:1", "web:2"), []),
    (OLD, OLD.replace("app: web", "app: other"), [("immutable-field", "spec.selector")]),
    (
        workload("StatefulSet", "web:1", serviceName="a"),
        workload("StatefulSet", "web:1", serviceName="b"),
        [("immutable-field", "spec.serviceName")],
    ),
    (BINDING, BINDING.replace("ROLE", "other"), [("immutable-field", "roleRef")]),
    (claim("10Gi"), claim("20Gi"), []),
    (claim("10Gi"), claim("10240Mi"), []),
    (claim("10Gi"), claim("5Gi"), [("pvc-shrinks", "spec.resources.requests.storage")]),
    (claim("1Gi"), claim("1Gi", "slow"), [("immutable-field", "spec.storageClassName")]),
    (
        definition("v1alpha1", "v1", storage="v1", stored=("v1alpha1", "v1")),
        definition("v1", storage="v1"),
        [("crd-stored-version", "status.storedVersions")],
    ),
    (
        definition("v1alpha1", "v1", storage="v1", stored=("v1",)),
        definition("v1", storage="v1"),
        [("crd-version-removed", "spec.versions")],
    ),
    (
        definition("v1alpha1", "v1", storage="v1alpha1", stored=("v1alpha1",)),
        definition("v1alpha1", "v1", storage="v1"),
        [("crd-storage-version", "spec.versions")],
    ),
    (
        workload("Deployment", "mysql:8.0.29"),
        workload("Deployment", "mysql:8.4"),
        [("database-major-version", "spec.template.spec.containers[name=main].image")],
    ),
    (workload("Deployment", "mysql:8.4.1"), workload("Deployment", "mysql:8.4.2"), []),
    (workload("Deployment", "postgres:16.1"), workload("Deployment", "postgres:16.4"), []),
]


@pytest.mark.parametrize(("old", "new", "found"), CASES)
def test_a_change_names_its_hazards(old: str, new: str, found: list[tuple[str, str]]) -> None:
    assert [(h.code, h.path) for h in compare(old, new)] == found


def test_what_the_server_defaulted_is_no_change() -> None:
    old = yaml.load(OLD)
    old["spec"]["selector"]["matchLabels"]["app"] = "web"
    old["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    assert list(hazards(identity(old), old, yaml.load(OLD))) == []


def test_a_replacement_says_what_is_lost() -> None:
    (hazard,) = compare(claim("1Gi"), claim("1Gi", "slow"))
    assert "--replace PersistentVolumeClaim/n/data" in hazard.advice
    assert "THE DATA" in hazard.advice


def test_going_from_minio_to_seaweedfs_copies_nothing() -> None:
    minio = yaml.load(workload("Deployment", "minio/minio:1", "minio"))
    weed = yaml.load(workload("Deployment", "chrislusf/seaweedfs:4.0", "seaweedfs"))
    (hazard,) = platform_hazards({identity(minio): minio}, {identity(weed): weed})
    assert hazard.code == "minio-to-seaweedfs"
    both = {identity(minio): minio, identity(weed): weed}
    assert list(platform_hazards(both, both)) == []


def test_what_takes_others_with_it_is_a_hazard_when_it_goes() -> None:
    namespace = identity(yaml.load("{apiVersion: v1, kind: Namespace, metadata: {name: a}}"))
    assert short(namespace) == "Namespace/a"
    assert removal_hazard(namespace) is not None
    assert removal_hazard(namespace._replace(kind="ConfigMap")) is None


def test_a_service_that_goes_is_told_by_the_host_that_people_may_have_stored() -> None:
    found = removal_hazard(ObjectId("", "Service", "kubeflow", "minio-service"))
    assert found is not None
    assert (found.code, found.severity) == ("service-removed", "notice")
    assert "minio-service.kubeflow" in found.message
    knative = ObjectId("serving.knative.dev", "Service", "a", "b")
    assert removal_hazard(knative) is None
