"""Helm apps: where charts come from, what they are told, and what becomes of their hooks."""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from argosy import yaml
from argosy.dev import toolchain
from argosy.errors import ArgosyError
from argosy.platform.config import load_platform
from argosy.platform.hooks import translate_hooks
from argosy.platform.locking import lock_platform
from argosy.platform.render import RenderReport, render
from argosy.sources.blobs import BlobStore
from argosy.sources.fetch import Mirror
from argosy.sources.network import Network
from platforms import write_files, write_platform

if TYPE_CHECKING:
    from pathlib import Path

    from repositories import Repository

Env = dict[str, str]

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\n",
    "values.yaml": "replicas: 1\nhost: none\nextra: {}\n",
    "templates/deployment.yaml": """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: "{{ .Release.Name }}"}
        spec:
          replicas: {{ add .Values.replicas 0 }}
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}, annotations: {host: "{{ .Values.host | b64enc }}"}}
            spec: {containers: [{name: web, image: "example.com/web:1"}]}
        """,
    "templates/role.yaml": """\
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: web}
        """,
    "crds/thing.yaml": """\
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata:
          name: things.example.com
        spec:
          group: example.com
          names:
            kind: Thing
            plural: things
          scope: Cluster
        """,
    "templates/thing.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\n",
}
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
  annotations: {"helm.sh/hook": "HOOK"MORE}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/a:1"}]}}
"""


def job(hook: str, more: str = "") -> str:
    name = hook.replace(",", "-")
    return JOB.replace("NAME", name).replace("HOOK", hook).replace("MORE", more)


@pytest.fixture(scope="session")
def helm_env(engines_env: Env) -> Env:
    """Return an environment with the helm that argosy builds in front of the PATH."""
    helm = toolchain.ensure("helm", env=os.environ)
    return {**engines_env, "PATH": f"{helm.parent}:{engines_env['PATH']}"}


def write_chart(root: Path, files: dict[str, str] | None = None) -> None:
    write_files(root, {**CHART, **(files or {})})


def run(root: Path, env: Env, fetcher: Mirror | None = None) -> RenderReport:
    return render(load_platform(root), cache=root.parent / "cache", env=env, fetcher=fetcher)


def objects(root: Path, app: str = "web") -> dict[str, Any]:
    folder = root / "rendered" / "default" / app
    return {file.stem: yaml.load(file.read_text()) for file in folder.glob("*.yaml")}


def platform(tmp_path: Path, app: str, more: str = "", **chart: str) -> Path:
    root = write_platform(tmp_path / "p", app, more=more)
    write_chart(root / "charts/web", chart)
    return root


def test_a_chart_beside_platform_yaml_is_rendered_with_its_definitions(
    tmp_path: Path, helm_env: Env
) -> None:
    root = platform(tmp_path, "{name: web, path: charts/web, chart: web, namespace: team}")
    run(root, helm_env)
    assert sorted(objects(root)) == [
        "clusterrole.rbac.authorization.k8s.io__web",
        "customresourcedefinition.apiextensions.k8s.io__things.example.com",
        "deployment.apps_team_web",
        "thing.example.com__one",
    ]


def test_a_chart_without_a_namespace_goes_where_helm_would_put_it(
    tmp_path: Path, helm_env: Env
) -> None:
    root = platform(tmp_path, "{name: web, path: charts/web, chart: web}")
    run(root, helm_env)
    assert "deployment.apps_default_web" in objects(root)


def test_placeholders_in_helm_values_are_filled_before_helm_sees_them(
    tmp_path: Path, helm_env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = platform(
        tmp_path,
        "{name: web, path: charts/web, chart: web, valuesFiles: [web.yaml],"
        " values: {host: <<__domain__>>}}",
        "values: {domain: ml.acme.com, size: 3}\n",
    )
    write_files(root, {"web.yaml": "replicas: <<__size__>>\nhost: loses\n"})
    monkeypatch.chdir(root)  # platform.yaml is then found by a relative path
    found = load_platform(root.relative_to(root))
    render(found, cache=tmp_path / "cache", env=helm_env)
    web = objects(root)["deployment.apps_default_web"]
    assert web["spec"]["replicas"] == 3
    assert web["spec"]["template"]["metadata"]["annotations"] == {"host": "bWwuYWNtZS5jb20="}
    assert run(root, helm_env).built == {}
    text = (root / "platform.yaml").read_text()
    (root / "platform.yaml").write_text(text.replace("size: 3", "size: 4"))
    assert set(run(root, helm_env).built) == {"web"}
    assert objects(root)["deployment.apps_default_web"]["spec"]["replicas"] == 4


def test_an_overlay_is_laid_over_what_a_chart_gives(tmp_path: Path, helm_env: Env) -> None:
    root = platform(
        tmp_path,
        "{name: web, path: charts/web, chart: web, namespace: team}",
        "  overlays: {web: overlays/web}\n",
    )
    write_files(
        root,
        {
            "overlays/web/kustomization.yaml": """\
                apiVersion: kustomize.config.k8s.io/v1alpha1
                kind: Component
                images: [{name: example.com/web, newTag: "2"}]
                """
        },
    )
    run(root, helm_env)
    pod = objects(root)["deployment.apps_team_web"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "example.com/web:2"


@pytest.mark.parametrize(
    ("app", "files", "message"),
    [
        ("{name: web, path: charts/web}", {}, "charts/web holds a Helm chart; add `chart: web`"),
        (
            "{name: web, path: charts/web, chart: db}",
            {},
            r"platform.yaml:7:\d+: app 'web': the chart in charts/web has name web, not db",
        ),
        (
            "{name: web, path: charts/web, chart: web, version: 9.9.9}",
            {},
            "has version 1.2.3, not 9.9.9",
        ),
        ("{name: web, path: charts, chart: web}", {"../a.yaml": ""}, "there is no chart in charts"),
        (
            "{name: web, path: charts/web, chart: web, valuesFiles: [gone.yaml]}",
            {},
            r"platform.yaml:7:\d+: there is no values file 'gone.yaml'",
        ),
        (
            "{name: web, path: charts/web, chart: web, valuesFiles: [../secret.yaml]}",
            {},
            "'../secret.yaml' lies outside the platform's directory",
        ),
        (
            "{name: web, path: charts/web, chart: web, valuesFiles: [charts/bad.yaml]}",
            {"../bad.yaml": "a: [\n"},
            "charts/bad.yaml:",
        ),
        ("{name: web, path: charts/web, chart: web, namespace: A B}", {}, "cannot be a name"),
        (
            "{name: web, path: charts/web, chart: web}",
            {"Chart.yaml": CHART["Chart.yaml"] + "dependencies: [{name: db, version: 1.0.0}]\n"},
            "web: helm failed: .*missing in charts/ directory: db",
        ),
        (
            "{name: web, path: charts/web, chart: web}",
            {"templates/secret.yaml": "kind: Secret\napiVersion: v1\nmetadata: {name: a}\n"
             "stringData: {key: '{{ randAlphaNum 20 }}'}\n"},
            "web: the chart web renders differently each time; it invents passwords, keys or dates",
        ),
        (
            "{name: web, path: charts/web, chart: web}",
            {"templates/bad.yaml": "{{ fail `no host given` }}"},
            "web: helm failed: .*no host given",
        ),
    ],
)  # fmt: skip
def test_a_chart_that_cannot_be_rendered_is_said_in_one_sentence(
    tmp_path: Path, helm_env: Env, app: str, files: dict[str, str], message: str
) -> None:
    root = platform(tmp_path, app, **files)
    (tmp_path / "secret.yaml").write_text("a: 1\n")
    with pytest.raises(ArgosyError, match=message) as caught:
        run(root, helm_env)
    assert "\n" not in str(caught.value)
    assert not (root / "rendered").exists()


def test_a_values_file_behind_a_link_out_of_the_platform_is_refused(
    tmp_path: Path, helm_env: Env
) -> None:
    root = platform(tmp_path, "{name: web, path: charts/web, chart: web, valuesFiles: [in.yaml]}")
    (tmp_path / "out.yaml").write_text("host: secret\n")
    (root / "in.yaml").symlink_to(tmp_path / "out.yaml")
    with pytest.raises(ArgosyError, match=r"'in\.yaml' lies outside the platform's directory"):
        run(root, helm_env)


def test_hooks_of_a_chart_become_argo_cds_and_what_has_no_place_is_told(
    tmp_path: Path, helm_env: Env
) -> None:
    names = ("pre-install,pre-upgrade", "post-install", "post-delete", "test")
    root = platform(
        tmp_path,
        "{name: web, path: charts/web, chart: web, namespace: team}",
        **{f"templates/{number}.yaml": job(hook) for number, hook in enumerate(names)},
    )
    report = run(root, helm_env)
    jobs = {
        name.rpartition("_")[2]: obj["metadata"].get("annotations")
        for name, obj in objects(root).items()
        if name.startswith("job")
    }
    assert jobs == {
        "pre-install-pre-upgrade": {"argocd.argoproj.io/hook": "PreSync"},
        "post-install": {"argocd.argoproj.io/hook": "PostSync"},
    }
    assert report.left_out == ("web: Job.batch post-delete",)


@pytest.mark.parametrize(
    ("hook", "more", "annotations"),
    [
        ("pre-install", "", {"argocd.argoproj.io/hook": "PreSync"}),
        ("pre-upgrade", "", {"argocd.argoproj.io/hook": "PreSync"}),
        ("post-upgrade", "", {"argocd.argoproj.io/hook": "PostSync"}),
        ("post-install, pre-delete", "", {"argocd.argoproj.io/hook": "PostSync"}),
        ("pre-install,post-install", "", {"argocd.argoproj.io/hook": "PreSync,PostSync"}),
        ("crd-install", ', "helm.sh/hook-weight": "1"', None),
        (
            "pre-install",
            (
                ', "helm.sh/hook-weight": "-5", "keep": "me", '
                '"helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"'
            ),
            {
                "keep": "me",
                "argocd.argoproj.io/hook": "PreSync",
                "argocd.argoproj.io/sync-wave": "-5",
                "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation,HookSucceeded",
            },
        ),
    ],
)
def test_hooks_are_translated_by_argo_cds_own_table(
    hook: str, more: str, annotations: dict[str, str] | None
) -> None:
    translated = translate_hooks(yaml.load(job(hook, more)))
    assert translated is not None
    assert translated["metadata"].get("annotations") == annotations


@pytest.mark.parametrize(
    "hook", ["test", "test-success", "pre-delete", "post-delete", "pre-rollback", "post-rollback"]
)
def test_hooks_of_tests_rollbacks_and_removal_are_left_out(hook: str) -> None:
    assert translate_hooks(yaml.load(job(hook))) is None


def pack(files: dict[str, str], name: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_a_packed_chart_from_a_repository_is_locked_and_rendered_from_a_mirror(
    tmp_path: Path, helm_env: Env
) -> None:
    root = write_platform(
        tmp_path / "p",
        "{name: web, source: acme, chart: web, version: 1.2.3, values: {replicas: 5}}",
        more="sources:\n  acme: {helm: https://charts.acme.com}\n",
    )
    write_chart(tmp_path / "chart")
    texts = {path: (tmp_path / "chart" / path).read_text() for path in CHART}
    archive = tmp_path / "mirror/charts.acme.com/web-1.2.3.tgz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(pack(texts, "web"))
    mirror, blobs = Mirror(tmp_path / "mirror"), BlobStore(tmp_path / "cache")
    lock_platform(root, fetcher=mirror, blobs=blobs)
    run(root, helm_env)
    assert objects(root)["deployment.apps_default_web"]["spec"]["replicas"] == 5


def test_a_kustomization_may_inflate_a_chart_of_its_own_tree(tmp_path: Path, helm_env: Env) -> None:
    root = write_platform(tmp_path / "p", "{name: site, path: site, namespace: team}")
    write_chart(root / "site/charts/web", {"templates/1.yaml": job("post-install")})
    write_files(
        root,
        {
            "site/kustomization.yaml": "helmCharts: [{name: web, releaseName: inner}]\n",
        },
    )
    run(root, helm_env)
    found = objects(root, "site")
    assert "deployment.apps_team_inner" in found
    assert found["job.batch_team_post-install"]["metadata"]["annotations"] == {
        "argocd.argoproj.io/hook": "PostSync"
    }


def test_a_chart_in_a_git_repository_is_locked_whole_and_rendered(
    tmp_path: Path, helm_env: Env, repository: Repository
) -> None:
    write_chart(repository.root / "charts/web")
    repository.commit("v1.0.0")
    root = write_platform(
        tmp_path / "p",
        "{name: web, source: acme, path: charts/web, chart: web, values: {replicas: 7}}",
        more=f"sources:\n  acme: {{git: {repository.url}, ref: v1.0.0}}\n",
    )
    network = Network(tmp_path / "cache", env=os.environ)
    lock, _ = lock_platform(root, fetcher=network, blobs=BlobStore(tmp_path / "cache"))
    assert set(lock.get("acme-v1.0.0").files) == {f"charts/web/{path}" for path in CHART}
    run(root, helm_env)
    assert objects(root)["deployment.apps_default_web"]["spec"]["replicas"] == 7
