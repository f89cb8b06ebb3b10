"""Options name objects as kubectl does, and a name that means nothing is told."""

from __future__ import annotations

import pytest

from argosy.manifests import ObjectId
from argosy.platform.named import is_named, names_nothing

WEB = ObjectId("apps", "Deployment", "example", "web")
SPACE = ObjectId("", "Namespace", "", "extra")
POLICY = ObjectId("networking.k8s.io", "NetworkPolicy", "example", "web")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Deployment/example/web", WEB),
        ("deployment/example/web", WEB),
        ("deploy/example/web", WEB),
        ("deployments.apps/example/web", WEB),
        ("ns/extra", SPACE),
        ("netpol/example/web", POLICY),
        ("networkpolicies.networking/example/web", POLICY),
    ],
)
def test_an_object_is_named_as_kubectl_would(name: str, meant: ObjectId) -> None:
    assert [id_ for id_ in (WEB, SPACE, POLICY) if is_named(id_, [name])] == [meant]


@pytest.mark.parametrize("name", ["deploy/web", "deploy.batch/example/web", "web", "deploy/", "/"])
def test_what_is_named_by_halves_means_nothing(name: str) -> None:
    assert not is_named(WEB, [name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deploy/web", "; did you mean 'Deployment/example/web'?"),
        ("Deployment/example/wep", "; did you mean 'Deployment/example/web'?"),
        ("crd/things.example.com", ""),
    ],
)
def test_a_name_that_means_nothing_says_what_is_near(name: str, said: str) -> None:
    told = list(names_nothing([name], [WEB], option="--replace", what="is rendered"))
    assert told == [f"--replace {name}: nothing of this name is rendered{said}"]
    assert not list(names_nothing(["deploy/example/web"], [WEB], option="-x", what="is"))
