"""The vendored OpenAPI of Kubernetes versions."""

from __future__ import annotations

import pytest

from argosy.platform.openapi import VersionError, available, load_openapi


def test_five_minor_versions_are_there_newest_first() -> None:
    assert available() == ["1.35", "1.34", "1.33", "1.32", "1.31"]


@pytest.mark.parametrize("text", ["1.35", "v1.35", "1.35.2", " 1.35 "])
def test_a_version_may_be_written_in_any_usual_form(text: str) -> None:
    assert load_openapi(text) is load_openapi("1.35")


@pytest.mark.parametrize("text", ["1.20", "", "latest", "1", "1.35rc"])
def test_an_unknown_version_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(VersionError, match=r"set `kubernetes:` to one of 1\.35, 1\.34"):
        load_openapi(text)


@pytest.mark.parametrize("minor", available())
def test_each_version_has_the_kinds_that_every_cluster_has(minor: str) -> None:
    openapi = load_openapi(minor)
    deployment = openapi.find("apps", "v1", "Deployment")
    role = openapi.find("rbac.authorization.k8s.io", "v1", "ClusterRole")
    assert deployment is not None
    assert role is not None
    assert (deployment.namespaced, role.namespaced) == (True, False)
    assert deployment.served_by_default
    assert openapi.find("policy", "v1beta1", "PodDisruptionBudget") is None


def test_quantities_and_ports_take_numbers_and_text() -> None:
    openapi = load_openapi("1.35")
    service = openapi.find("", "v1", "Service")
    assert service is not None
    for port in (80, "http"):
        spec = {"ports": [{"port": 1, "targetPort": port}]}
        assert openapi.validator(service).is_valid({"kind": "Service", "spec": spec})
    claim = openapi.find("", "v1", "PersistentVolumeClaim")
    assert claim is not None
    for size in (1, 1.5, "10Gi"):
        spec = {"resources": {"requests": {"storage": size}}}
        assert openapi.validator(claim).is_valid({"kind": "PersistentVolumeClaim", "spec": spec})
