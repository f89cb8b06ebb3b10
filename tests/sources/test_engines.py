"""Engines are found, checked, run and stopped; their failures are one sentence."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from argosy.sources.engine_errors import explain
from argosy.sources.engines import (
    Engine,
    Tuning,
    build,
    find_helm,
    find_kustomize,
    run_engine,
    template,
)
from argosy.sources.errors import EngineError
from argosy.sources.fetch import Mirror
from argosy.sources.remote import GitRef
from argosy.sources.resolve import Request, resolve
from argosy.sources.workspace import materialise

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def script(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def test_a_command_on_the_path_is_taken_first_then_argosys_own(tmp_path):
    one = script(tmp_path / "path", "kustomize", "echo v5.8.2")
    two = script(tmp_path / "cache/bin", "kustomize", "echo v5.7.0")
    path = f"{tmp_path / 'path'}:/bin"
    found = find_kustomize(env={"PATH": path}, cache=tmp_path / "cache")
    assert found == Engine("kustomize", (str(one),), "5.8.2")
    one.unlink()
    found = find_kustomize(env={"PATH": "/nowhere"}, cache=tmp_path / "cache")
    assert found == Engine("kustomize", (str(two),), "5.7.0")


def test_an_old_kustomize_gives_way_to_kubectls_own(tmp_path):
    script(tmp_path, "kustomize", "echo '{Version:kustomize/v4.5.7 GitCommit:x}'")
    kubectl = script(tmp_path, "kubectl", """echo '{"kustomizeVersion": "v5.5.0"}'""")
    found = find_kustomize(env={"PATH": f"{tmp_path}:/bin"}, cache=tmp_path / "none")
    assert found == Engine("kubectl", (str(kubectl), "kustomize"), "5.5.0")


def test_engines_that_are_too_old_are_all_named(tmp_path):
    old = script(tmp_path, "kustomize", "echo v5.3.0")
    script(tmp_path, "kubectl", """echo '{"kustomizeVersion": "v5.0.4"}'""")
    script(tmp_path, "helm", "echo v3.9.0")
    env = {"PATH": f"{tmp_path}:/bin"}
    with pytest.raises(EngineError, match=r"5\.4 or newer.*version 5\.3\.0.*5\.0\.4") as caught:
        find_kustomize(env=env, cache=tmp_path / "none")
    assert str(old) in str(caught.value)
    assert caught.value.exit_code == 3
    with pytest.raises(EngineError, match=r"helm 3\.14 or newer.*3\.9\.0"):
        find_helm(env=env, cache=tmp_path / "none")


def test_no_engine_at_all_says_what_to_do(tmp_path):
    with pytest.raises(EngineError, match=r"kustomize 5\.4 or newer is needed; install it"):
        find_kustomize(env={"PATH": str(tmp_path)}, cache=tmp_path)


def test_a_command_that_says_no_version_is_named(tmp_path):
    place = script(tmp_path, "kustomize", "echo hello")
    with pytest.raises(EngineError, match="does not say its version") as caught:
        find_kustomize(env={"PATH": f"{tmp_path}:/bin"}, cache=tmp_path / "none")
    assert str(place) in str(caught.value)


async def test_a_build_gets_little_of_the_users_environment(tmp_path):
    place = script(tmp_path, "kustomize", "/usr/bin/env")
    env = {"PATH": "/bin", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "KUBECONFIG": "y"}
    output = await build(
        Engine("kustomize", (str(place),), "5.8.2"),
        tmp_path,
        env=env,
        tuning=Tuning(gogc=200, maxprocs=1, memory_limit="300MiB"),
    )
    values = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    assert (
        values.items()
        >= {
            "HOME": "/h",
            "GOGC": "200",
            "GOMAXPROCS": "1",
            "GOMEMLIMIT": "300MiB",
        }.items()
    )
    assert not {"AWS_SECRET_ACCESS_KEY", "KUBECONFIG"} & set(values)


@pytest.fixture
def kustomize(tmp_path) -> Engine:
    cache = Path(os.environ.get("ARGOSY_CACHE", Path.home() / ".cache/argosy"))
    try:
        return find_kustomize(env=os.environ, cache=cache)
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture
def helm() -> Engine:
    cache = Path(os.environ.get("ARGOSY_CACHE", Path.home() / ".cache/argosy"))
    try:
        return find_helm(env=os.environ, cache=cache)
    except EngineError as error:
        pytest.skip(str(error))


async def test_a_folder_is_built(kustomize, write):
    root = write("t", {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n"})
    write("t", {"a.yaml": CONFIG_MAP})
    assert "name: x-a" in await build(kustomize, root, env=os.environ)


PATCH = """
resources: [x.yaml]
patches:
- target: {kind: ConfigMap}
  patch: '[{"op": "replace", "path": "/data/x", "value": 1}]'
"""


@pytest.mark.parametrize(
    ("inner", "why"),
    [
        ("resources: [x.yaml]\npatches: [{path: gone.yaml}]", "gone.yaml: no such file"),
        ("resources: [gone.yaml]", "gone.yaml: no such file"),
        ("resources: [x.yaml, x.yaml]", "may not add resource with an already registered id"),
        ("resources: [x.yaml]\nfoo: 1", 'unknown field "foo"'),
        ("resources: [broken.yaml]", "MalformedYAMLError"),
        (PATCH, "doc is missing path: /data/x"),
    ],
)
async def test_a_failing_build_says_app_file_and_kustomizes_own_reason(
    kustomize, write, inner, why
):
    root = write(
        "t",
        {
            "top/kustomization.yaml": "resources: [../mid]",
            "mid/kustomization.yaml": "resources: [in]\nvars: []",
            "mid/in/kustomization.yaml": inner,
            "mid/in/x.yaml": CONFIG_MAP,
            "mid/in/broken.yaml": "a: [",
        },
    )
    with pytest.raises(EngineError) as caught:
        await build(kustomize, root / "top", env=os.environ, root=root, app="web")
    text = str(caught.value)
    assert text.startswith("mid/in/kustomization.yaml: web: kustomize failed: ")
    assert why in text
    assert "accumulating" not in text
    assert "Warning" not in text
    assert str(root) not in text
    assert "\n" not in text


@pytest.mark.parametrize("scheme", ["http", "file"])
async def test_a_build_fetches_nothing_even_when_asked_to(kustomize, write, new_upstream, scheme):
    repository = new_upstream("r")
    repository.commit({"kustomization.yaml": "resources: []"}, tag="v1")
    asked = {
        "http": "http://elsewhere.invalid/x.yaml",
        "file": f"{repository.url}//?ref=v1",
    }
    root = write("t", {"kustomization.yaml": f"resources: ['{asked[scheme]}']"})
    with pytest.raises(EngineError, match=r"proxyconnect|not allowed|git"):
        await build(kustomize, root, env=os.environ, root=root)


def test_an_engine_that_was_killed_is_told_as_such(tmp_path):
    error = explain("/usr/bin/kustomize", -9, b"", tmp_path, "web")
    assert str(error) == "web: kustomize was ended by SIGKILL, perhaps for want of memory"
    assert "exit code 7" in str(explain("helm", 7, b"", tmp_path, ""))


async def test_a_cancelled_build_leaves_no_process(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The child holds the pipe open for as long as it lives.
    place = script(tmp_path, "kustomize", f"exec 3>{pipe}; sleep 600 & echo started >&3; wait")
    task = asyncio.create_task(
        run_engine([str(place)], cwd=tmp_path, env={"PATH": "/bin:/usr/bin"}, app="", root=tmp_path)
    )
    with await asyncio.to_thread(pipe.open) as reader:
        assert await asyncio.to_thread(reader.readline) == "started\n"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(reader.read) == ""


async def test_an_engine_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(EngineError, match="web: /nowhere/kustomize does not run"):
        await build(
            Engine("kustomize", ("/nowhere/kustomize",), "5.8.2"), tmp_path, env={}, app="web"
        )


CHART = {
    "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "web/crds/c.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: c}\n",
    "web/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
    "  name: {{ .Values.name }}\n  namespace: {{ .Release.Namespace }}\ndata:\n"
    "  version: {{ .Capabilities.KubeVersion.Version }}\n"
    '  has: "{{ .Capabilities.APIVersions.Has "x.io/v1" }}"\n',
    "web/values.yaml": "name: a\n",
    "own.yaml": "name: b\n",
}


async def test_a_chart_is_a_function_of_what_is_stated(helm, write):
    root = write("t", CHART)
    stated = {"release": "r", "namespace": "n", "kube_version": "1.35.0", "env": os.environ}
    text = await template(
        helm,
        root / "web",
        values=[root / "own.yaml"],
        api_versions=["x.io/v1"],
        twice=True,
        **stated,
    )
    assert "kind: CustomResourceDefinition" in text
    for line in ("name: b", "namespace: n", "version: v1.35.0", 'has: "true"'):
        assert line in text


async def test_a_chart_that_invents_something_is_refused(helm, write):
    root = write("t", CHART | {"web/templates/b.yaml": "kind: {{ randAlpha 20 }}\n"})
    stated = {"release": "r", "namespace": "n", "kube_version": "1.35.0", "env": os.environ}
    with pytest.raises(EngineError, match="web renders differently each time"):
        await template(helm, root / "web", twice=True, **stated)


async def test_a_chart_without_its_dependency_is_named(helm, write):
    root = write("t", CHART)
    write(
        "t",
        {
            "web/Chart.yaml": CHART["web/Chart.yaml"]
            + "dependencies: [{name: db, version: '1', repository: 'https://x'}]\n"
        },
    )
    stated = {"release": "r", "namespace": "n", "kube_version": "1.35.0", "env": os.environ}
    with pytest.raises(EngineError, match=r"portal: helm failed: .*db"):
        await template(helm, root / "web", app="portal", **stated)


@pytest.mark.upstream
async def test_apps_with_remotes_build_from_the_lock_within_their_own_folders(
    kustomize, upstream, blobs, tmp_path
):
    apps = {
        "applications/pipeline/overlays": "image: quay.io/argoproj/workflow-controller:v3.7.3",
        "applications/trainer/overlays": "name: jobsets.jobset.x-k8s.io",
    }
    asked = [
        Request("kf", GitRef("https://github.com/kubeflow/manifests", "", "26.03"), tuple(apps))
    ]
    lock = resolve(asked, fetcher=Mirror(upstream), blobs=blobs)
    space = materialise(lock, tmp_path / "w", blobs=blobs)
    for path, sign in apps.items():
        text = await build(kustomize, space.path("kf", path), env=os.environ, root=space.dest)
        assert sign in text


async def test_a_build_that_asks_for_all_memory_is_stopped_and_said(tmp_path, engines_env):
    anchors = "".join(
        f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'z'}]\n" for i in range(10)
    )
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\nx:\n"
    (tmp_path / "a.yaml").write_text(head + anchors)
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    engine = find_kustomize(env=engines_env, cache=tmp_path)
    tuning = Tuning(address_space=1500 << 20)
    with pytest.raises(EngineError, match="ran out of the memory that a build may take"):
        await build(engine, tmp_path, env=engines_env, app="x", tuning=tuning)
