"""Explanations of Kubeflow 26.03, each checked by hand against upstream's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from argosy.platform.config import load_platform
from argosy.platform.explain import explain
from argosy.platform.explain_target import parts_of
from argosy.platform.explain_text import lines
from argosy.platform.locking import lock_platform
from argosy.platform.render import render
from argosy.platform.tree import read_index
from argosy.sources.blobs import BlobStore
from argosy.sources.choose import fetcher_for

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.explain_model import Explanation

pytestmark = pytest.mark.upstream

NOTEBOOKS = "applications/jupyter/notebook-controller/upstream"
JUPYTER = "applications/jupyter/jupyter-web-app/upstream"
PIPELINE = "applications/pipeline/upstream"
MULTI_USER = f"{PIPELINE}/base/installs/multi-user"
ARGO = "github.com/argoproj/argo-workflows/v3.7.3"
UPSTREAM = "kubeflow-26.03"
KINDS = ("deployment.apps", "certificate.cert-manager.io")


class Platform(NamedTuple):
    """A rendered platform, and what it takes to explain it."""

    root: Path
    cache: Path
    env: dict[str, str]

    def explain(self, asked: str, namespace: str | None = None) -> Explanation:
        return explain(
            load_platform(self.root),
            asked,
            namespace=namespace,
            cache=self.cache,
            environ=self.env,
        )


@pytest.fixture(scope="module")
def kubeflow(
    upstream: Path, engines_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Platform:
    """Render 26.03 from the mirror."""
    cache = tmp_path_factory.mktemp("cache")
    root = tmp_path_factory.mktemp("platform")
    (root / "platform.yaml").write_text(
        "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: test}\n"
        'kubeflow: "26.03"\nkubernetes: "1.35"\n'
    )
    fetcher = fetcher_for(upstream, cache=cache, env=engines_env)
    lock_platform(root, fetcher=fetcher, blobs=BlobStore(cache))
    render(load_platform(root), cache=cache, env=engines_env, fetcher=fetcher)
    return Platform(root, cache, engines_env)


# (what is asked, source and file:line of the origin, what set it, file:line that set it)
FIELDS = [
    (
        "deployment/ml-pipeline:spec.template.spec.containers[name=ml-pipeline-api-server].image",
        f"{UPSTREAM}: {PIPELINE}/base/pipeline/ml-pipeline-apiserver-deployment.yaml:1",
        "images",
        f"{UPSTREAM}: {PIPELINE}/base/pipeline/kustomization.yaml:46",
    ),
    (
        "svc/ml-pipeline:metadata.labels.app.kubernetes.io/component",
        f"{UPSTREAM}: {PIPELINE}/base/pipeline/ml-pipeline-apiserver-service.yaml:1",
        "labels",
        f"{UPSTREAM}: {MULTI_USER}/kustomization.yaml:34",
    ),
    (
        "deploy/ml-pipeline:spec.template.spec.containers[0].env[name=KUBEFLOW_USERID_HEADER]",
        f"{UPSTREAM}: {PIPELINE}/base/pipeline/ml-pipeline-apiserver-deployment.yaml:1",
        "patch",
        f"{UPSTREAM}: {MULTI_USER}/api-service/deployment-patch.yaml:14",
    ),
    (
        "deploy/cache-server:spec.template.spec.containers[0].args[7]",
        f"{UPSTREAM}: {PIPELINE}/base/cache/cache-deployment.yaml:1",
        "",
        f"{UPSTREAM}: {PIPELINE}/base/cache/cache-deployment.yaml:97",
    ),
    (
        "crd/notebooks.kubeflow.org:spec.preserveUnknownFields",
        f"{UPSTREAM}: {NOTEBOOKS}/crd/bases/kubeflow.org_notebooks.yaml:2",
        "patch",
        f"{UPSTREAM}: {NOTEBOOKS}/crd/patches/trivial_conversion_patch.yaml:7",
    ),
    (
        "gateways/kubeflow-gateway:metadata.namespace",
        f"{UPSTREAM}: common/istio/kubeflow-istio-resources/base/kf-istio-resources.yaml:1",
        "namespace",
        f"{UPSTREAM}: common/istio/kubeflow-istio-resources/base/kustomization.yaml:6",
    ),
    (
        "clusterrolebinding/jupyter-web-app-cluster-role-binding:subjects[0].namespace",
        f"{UPSTREAM}: {JUPYTER}/base/cluster-role-binding.yaml:1",
        "namespace",
        f"{UPSTREAM}: {JUPYTER}/base/kustomization.yaml:19",
    ),
    (
        "deploy/jupyter-web-app-deployment:metadata.name",
        f"{UPSTREAM}: {JUPYTER}/base/deployment.yaml:1",
        "namePrefix",
        f"{UPSTREAM}: {JUPYTER}/base/kustomization.yaml:18",
    ),
    (
        "cm/kserve-models-web-app-config:data.USERID_HEADER",
        f"{UPSTREAM}: applications/kserve/models-web-app/base/kustomization.yaml:15",
        "configMapGenerator",
        f"{UPSTREAM}: applications/kserve/models-web-app/overlays/kubeflow/kustomization.yaml:18",
    ),
    (
        "validatingwebhookconfiguration/validator.trainer.kubeflow.org:metadata.name",
        f"{UPSTREAM}: applications/trainer/upstream/base/webhook/manifests.yaml:2",
        "patch",
        f"{UPSTREAM}: applications/trainer/upstream/base/webhook/patch.yaml:",
    ),
    (
        "certificate/pvcviewer-serving-cert:spec.dnsNames[0]",
        f"{UPSTREAM}: applications/pvcviewer-controller/upstream/certmanager/certificate.yaml:19",
        "vars",
        f"{UPSTREAM}: applications/pvcviewer-controller/upstream/default/kustomization.yaml:",
    ),
    (
        "deploy/mysql:spec.template.spec.containers[name=mysql].env[name=MYSQL_ROOT_PASSWORD]",
        f"{UPSTREAM}: {PIPELINE}/third-party/mysql/base/mysql-deployment.yaml:1",
        "secret",
        "argosy: catalogue/kubeflow-26.03.yaml:",
    ),
    (
        "deploy/katib-controller:spec.replicas",
        f"{UPSTREAM}: applications/katib/upstream/components/controller/controller.yaml:2",
        "",
        f"{UPSTREAM}: applications/katib/upstream/components/controller/controller.yaml:10",
    ),
]


@pytest.mark.parametrize(("asked", "origin", "what", "set_by"), FIELDS, ids=[f[0] for f in FIELDS])
def test_a_field_is_traced_to_its_line(
    kubeflow: Platform, asked: str, origin: str, what: str, set_by: str
) -> None:
    found = kubeflow.explain(asked)
    assert str(found.origin) == origin
    assert str(found.set_by).startswith(set_by)
    assert (found.steps[-1].what if found.steps else "") == what


def test_a_field_that_upstream_patches_and_fills_in_names_both(kubeflow: Platform) -> None:
    found = kubeflow.explain("cm/workflow-controller-configmap:data.artifactRepository")
    assert found.origin is not None
    assert found.origin.source == ARGO
    assert [(step.what, str(step.where).rpartition("/")[2]) for step in found.steps] == [
        ("patch", "workflow-controller-configmap-patch.yaml:16"),
        ("vars", "kustomization.yaml:13"),
        ("vars", "kustomization.yaml:34"),
    ]


def test_a_generated_file_is_named(kubeflow: Platform) -> None:
    index = read_index(kubeflow.root, "default")
    assert index is not None
    files = index.apps["pipelines"].files
    name = next(f for f in files if "kubeflow-pipelines-profile-controller-code" in f)
    name = name.removesuffix(".yaml").rpartition("_")[2]
    found = kubeflow.explain(f"cm/{name}:data.sync.py")
    assert found.said == "configMapGenerator"
    assert str(found.set_by).endswith("pipelines-profile-controller/sync.py:1")


def test_what_nothing_touches_is_as_upstream_wrote_it(kubeflow: Platform) -> None:
    found = kubeflow.explain("ns/kubeflow")
    assert (
        str(found.origin) == f"{UPSTREAM}: common/kubeflow-namespace/base/kubeflow/namespace.yaml:1"
    )
    assert found.steps == []
    assert any("as upstream wrote it" in line for line in lines(found))


def test_links_lead_to_the_line_on_github(kubeflow: Platform) -> None:
    found = kubeflow.explain("ns/kubeflow")
    assert found.origin is not None
    assert found.origin.url.startswith("https://github.com/kubeflow/manifests/blob/")
    assert found.origin.url.endswith("/common/kubeflow-namespace/base/kubeflow/namespace.yaml#L1")


def test_a_secret_is_explained_and_not_shown(kubeflow: Platform) -> None:
    found = kubeflow.explain("secret/mysql-secret:data.password")
    assert [step.what for step in found.steps] == ["secret"]
    assert str(found.value).startswith("<masked")
    assert any("never shown" in note for note in found.notes)


def test_every_object_has_an_origin_and_every_change_a_line(kubeflow: Platform) -> None:
    index = read_index(kubeflow.root, "default")
    assert index is not None
    doubtful = []
    for entry in index.apps.values():
        for file in entry.files:
            kind, namespace, name = parts_of(file)
            if kind not in KINDS:
                continue
            found = kubeflow.explain(f"{kind}/{name}", namespace)
            assert found.origin is not None, file
            doubtful += [(file, s.what) for s in found.steps if not s.sure]
            assert all(step.what != "kustomization" for step in found.steps), file
    assert sorted(doubtful) == [
        ("certificate.cert-manager.io_kubeflow_pvcviewer-serving-cert.yaml", "patch"),
        ("deployment.apps_kubeflow_profiles-deployment.yaml", "patch"),
    ]
