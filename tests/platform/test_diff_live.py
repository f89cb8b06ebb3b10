"""Against a real API server: no noise behind an apply, drift with its author, prunes named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from argosy.kube import KubeApi, load_kubeconfig
from argosy.manifests import split
from argosy.platform.apply import Applying, prepare
from argosy.platform.diff_live import against_cluster, live_diff
from argosy.platform.model import RenderedApp, RenderedObject, RenderedPlatform

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from argosy.platform.diff import ObjectDiff, PlatformDiff
    from devcluster_fixtures import TestCluster

pytestmark = pytest.mark.apiserver

OBJECTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NS}
data: {mode: fast}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec:
  selector: {app: web}
  ports:
  - {port: 80}
"""


def platform(namespace: str, text: str = OBJECTS) -> RenderedPlatform:
    objects = tuple(
        RenderedObject(d.id, f"rendered/default/a/{d.id.name}.yaml", d.text, d.digest, "a")
        for d in split(text.replace("NS", namespace))
    )
    return RenderedPlatform(namespace, "default", "1.35", (RenderedApp("a", (), objects),))


@pytest.fixture
async def api(devcluster: TestCluster, tmp_path: Path) -> AsyncIterator[KubeApi]:
    async with KubeApi(load_kubeconfig(devcluster.kubeconfig), cache=tmp_path / "cache") as client:
        yield client


async def apply(api: KubeApi, wanted: RenderedPlatform) -> None:
    await Applying(api, await prepare(api, wanted)).run()


def told(found: PlatformDiff) -> dict[str, ObjectDiff]:
    return {one.id.kind: one for one in found.objects()}


async def test_behind_an_apply_nothing_differs(api: KubeApi, namespace: str) -> None:
    before = await live_diff(api, platform(namespace))
    assert {one.op for one in before.objects()} == {"add"}
    await apply(api, platform(namespace))
    assert not (await live_diff(api, platform(namespace))).differs


async def test_drift_is_told_with_its_author(
    api: KubeApi, namespace: str, devcluster: TestCluster
) -> None:
    await apply(api, platform(namespace))
    resource = await api.resource("", None, "ConfigMap")
    await api.patch(
        resource, "settings", namespace, {"data": {"mode": "slow"}}, form="merge", manager="ann"
    )
    service = await api.resource("", None, "Service")
    await api.delete(service, "web", namespace)
    found = told(await live_diff(api, platform(namespace)))
    drifted = found["ConfigMap"]
    assert [(c.path, c.old, c.new) for c in drifted.changes] == [("data.mode", "slow", "fast")]
    assert "ann" in drifted.note
    assert found["Service"].op == "add"


async def test_what_is_rendered_no_more_would_be_pruned(api: KubeApi, namespace: str) -> None:
    await apply(api, platform(namespace))
    less = platform(namespace, OBJECTS.partition("---")[0])
    (one,) = (await live_diff(api, less)).objects()
    assert (one.op, one.id.name, one.note) == ("remove", "web", "would be pruned")


async def test_what_the_server_refuses_is_told_with_its_reason(
    api: KubeApi, namespace: str
) -> None:
    await apply(api, platform(namespace))
    wrong = platform(namespace, OBJECTS.replace("port: 80", "port: 99999"))
    (one,) = (await live_diff(api, wrong)).objects()
    assert "refuses" in one.note
    assert any("port" in change.path for change in one.changes)


async def test_nothing_is_written(api: KubeApi, namespace: str) -> None:
    await apply(api, platform(namespace))
    resource = await api.resource("", None, "ConfigMap")
    before = await api.get(resource, "settings", namespace)
    await live_diff(api, platform(namespace, OBJECTS.replace("fast", "slow")))
    assert await api.get(resource, "settings", namespace) == before


def test_a_cluster_that_does_not_answer_is_an_error_from_outside(tmp_path: Path) -> None:
    from argosy.kube import Unreachable
    from argosy.platform.tree import Index, write_tree

    write_tree(tmp_path, "default", Index(1, "t", "", "1.35", {}, {}), {})
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        "clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: x, user: {token: t}}]\n"
        "contexts: [{name: x, context: {cluster: x, user: x}}]\n"
    )
    with pytest.raises(Unreachable) as error:
        against_cluster(tmp_path, "default", kubeconfig=kubeconfig, environ=os.environ)
    assert error.value.exit_code == 3
