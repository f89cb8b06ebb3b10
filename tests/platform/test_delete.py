"""Delete takes down what argosy applied, in reverse, and nothing else; status says how it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from apply_platforms import crd, deployment, platform
from argosy.kube import KubeApi, load_kubeconfig
from argosy.manifests import ObjectId
from argosy.platform.apply import Applying, prepare
from argosy.platform.applyset import Parent
from argosy.platform.delete import (
    DeleteOptions,
    Deleting,
    Gone,
    StillThere,
    plan_deletion,
    read_members,
)
from argosy.platform.finalizers import held_by
from argosy.platform.live import LiveObject, LiveState
from argosy.platform.status import read_status, status_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from argosy.platform.model import RenderedPlatform
    from devcluster_fixtures import TestCluster


@pytest.fixture
async def api(devcluster: TestCluster, tmp_path: Path) -> AsyncIterator[KubeApi]:
    async with KubeApi(load_kubeconfig(devcluster.kubeconfig), cache=tmp_path / "cache") as client:
        yield client


def small(name: str, extra: str = "") -> RenderedPlatform:
    """A platform with a namespace of its own, named after it."""
    text = (
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: {name}}}\n"
        "data: {text: x}\n"
        f"---\napiVersion: v1\nkind: PersistentVolumeClaim\n"
        f"metadata: {{name: data, namespace: {name}}}\n"
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
    )
    return platform({"app": text + deployment("web", name) + extra}, name=name)


async def apply(api: KubeApi, found: RenderedPlatform) -> None:
    await Applying(api, await prepare(api, found), timeout=60).run()


async def delete(api: KubeApi, name: str, *, timeout: float = 30, **options: Any) -> Gone:
    state, index = await read_members(api, name, "default")
    deletion = plan_deletion(state, options=DeleteOptions(**options))
    deleting = Deleting(
        api, name, "default", deletion=deletion, state=state, index=index, timeout=timeout
    )
    return await deleting.run()


def names(cluster: TestCluster, namespace: str, plural: str) -> set[str]:
    items = cluster.api.get(f"/api/v1/namespaces/{namespace}/{plural}")["items"]
    return {o["metadata"]["name"] for o in items if not o["metadata"].get("deletionTimestamp")}


@pytest.mark.apiserver
async def test_claims_and_namespaces_stay_until_they_are_named(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("de-keep"))
    devcluster.api.create(
        "/api/v1/namespaces/de-keep/configmaps", {"metadata": {"name": "not-ours"}}
    )
    gone = await delete(api, "de-keep")
    assert {id_.kind for id_ in gone.deleted} == {"ConfigMap", "Deployment"}
    assert {id_.kind for id_ in gone.kept} == {"Namespace", "PersistentVolumeClaim"}
    assert "not-ours" in names(devcluster, "de-keep", "configmaps")
    assert names(devcluster, "de-keep", "persistentvolumeclaims") == {"data"}
    again = await delete(api, "de-keep", names=frozenset({"PersistentVolumeClaim/de-keep/data"}))
    assert [id_.name for id_ in again.deleted] == ["data"]
    last = await delete(api, "de-keep", namespaces=True)
    assert [id_.kind for id_ in last.deleted] == ["Namespace"]
    assert not any(
        name.startswith("de-keep.") for name in names(devcluster, "argosy-system", "configmaps")
    )


@pytest.mark.apiserver
async def test_what_was_deleted_can_be_applied_again(api: KubeApi) -> None:
    await apply(api, small("de-again"))
    await delete(api, "de-again")
    await apply(api, small("de-again"))
    status = await read_status(api, small("de-again"))
    assert status.well


@pytest.mark.apiserver
async def test_what_does_not_go_says_which_controller_is_missing_and_the_next_run_goes_on(
    api: KubeApi, devcluster: TestCluster
) -> None:
    thing = (
        crd("holds", "Hold")
        + "---\napiVersion: argosy.test/v1\nkind: Hold\n"
        + "metadata: {name: h, namespace: de-held, finalizers: [trainer.kubeflow.org/x]}\n"
    )
    await apply(api, small("de-held", thing))
    with pytest.raises(StillThere) as held:
        await delete(api, "de-held", timeout=1)
    assert (
        "Hold.argosy.test de-held/h: finalizer trainer.kubeflow.org/x: Kubeflow Trainer "
        "(kubeflow-trainer-controller-manager) does not run"
    ) in str(held.value)
    assert "c" in names(devcluster, "de-held", "configmaps"), "controllers' needs go later"
    path = "/apis/argosy.test/v1/namespaces/de-held/holds/h"
    devcluster.api.merge(path, {"metadata": {"finalizers": []}})
    await delete(api, "de-held")
    assert "c" not in names(devcluster, "de-held", "configmaps")


@pytest.mark.apiserver
async def test_what_is_on_its_way_out_is_not_healthy_and_leaves_no_inventory_behind(
    api: KubeApi, devcluster: TestCluster
) -> None:
    thing = (
        crd("stays", "Stay")
        + "---\napiVersion: argosy.test/v1\nkind: Stay\n"
        + "metadata: {name: s, namespace: de-way, finalizers: [who.knows/x]}\n"
    )
    await apply(api, small("de-way", thing))
    with pytest.raises(StillThere, match="1 object did not go in 1 s"):
        await delete(api, "de-way", timeout=1)
    (app,) = (await read_status(api, small("de-way", thing))).apps
    told = {u.object: u.reason for u in app.unwell}
    assert told["Stay.argosy.test de-way/s"] == "being deleted, held by who.knows/x"
    path = "/apis/argosy.test/v1/namespaces/de-way/stays/s"
    devcluster.api.merge(path, {"metadata": {"finalizers": []}})
    everything = {"crds": True, "namespaces": True, "pvcs": True}
    await delete(api, "de-way", **everything)
    await delete(api, "de-way", **everything)
    parents = names(devcluster, "argosy-system", "configmaps")
    assert not [name for name in parents if name.startswith("de-way.")]


@pytest.mark.apiserver
async def test_an_inventory_that_an_interrupted_delete_has_emptied_goes(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("de-empty"))
    for path in (
        "/apis/apps/v1/namespaces/de-empty/deployments/web",
        "/api/v1/namespaces/de-empty/persistentvolumeclaims/data",
        "/api/v1/namespaces/de-empty",
    ):
        devcluster.api.delete(path)
    state, _ = await read_members(api, "de-empty", "default")
    assert set(state.parents) == {"app"}
    await delete(api, "de-empty", namespaces=True)
    parents = names(devcluster, "argosy-system", "configmaps")
    assert not [name for name in parents if name.startswith("de-empty.")]


@pytest.mark.apiserver
async def test_an_autoscaler_of_simulated_pods_is_no_defect(
    api: KubeApi, devcluster: TestCluster
) -> None:
    scaler = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: st-hpa}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 9}}
"""
    await apply(api, small("st-hpa", scaler))
    failed = {
        "type": "ScalingActive",
        "status": "False",
        "reason": "FailedGetResourceMetric",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    path = "/apis/autoscaling/v2/namespaces/st-hpa/horizontalpodautoscalers/web/status"
    status = {"currentMetrics": [], "desiredReplicas": 1, "conditions": [failed]}
    devcluster.api.merge(path, {"status": status})
    found = await read_status(api, small("st-hpa", scaler))
    assert found.well
    reasons = [u.reason for u in found.apps[0].unwell if "Autoscaler" in u.object]
    assert reasons == ["its pods are simulated, and nobody measures them"]


@pytest.mark.apiserver
async def test_status_names_what_is_missing_drifted_and_left_over(
    api: KubeApi, devcluster: TestCluster
) -> None:
    extra = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, namespace: st-all}\n"
    await apply(api, small("st-all", extra))
    assert (await read_status(api, small("st-all", extra))).well
    path = "/api/v1/namespaces/st-all/configmaps/c?fieldManager=somebody"
    devcluster.api.merge(path, {"data": {"text": "theirs"}})
    devcluster.api.delete("/apis/apps/v1/namespaces/st-all/deployments/web")
    status = await read_status(api, small("st-all"))
    (app,) = status.apps
    assert not status.well
    assert [u.object for u in app.unwell if u.state == "missing"] == ["Deployment.apps st-all/web"]
    assert [(d.object, d.fields) for d in app.drift] == [("ConfigMap st-all/c", ("data.text",))]
    assert app.extra == ["ConfigMap st-all/old"]
    assert any("somebody owns data.text" in line for line in status_lines(status))


def live(kind: str, name: str, group: str = "", **changed: Any) -> LiveObject:
    id_ = ObjectId(group, kind, "", name)
    given = {"uid": name, "version": "1", "part_of": "x", "fields": "f", "managers": ()}
    return LiveObject(id=id_, deleting=False, **{**given, **changed})


def test_deletion_goes_in_reverse_and_needs_mark_and_membership() -> None:
    found = [
        live("ServiceAccount", "a"),
        live("Deployment", "b", "apps"),
        live("ValidatingWebhookConfiguration", "c", "admissionregistration.k8s.io"),
        live("Thing", "d", "argosy.test"),
        live("EndpointSlice", "e", "discovery.k8s.io", fields=""),
        live("ConfigMap", "f", part_of="somebody-else"),
    ]
    parent = Parent("app", "x", frozenset(), frozenset(), {})
    state = LiveState({o.id: o for o in found}, {"app": parent}, frozenset())
    deletion = plan_deletion(state, options=DeleteOptions())
    assert [[o.id.name for o in layer] for layer in deletion.layers] == [["c"], ["d"], ["b"], ["a"]]


@pytest.mark.parametrize(
    ("finalizer", "running", "said"),
    [
        ("profile-finalizer", {"profiles-deployment"}, "has not taken it off yet"),
        ("profile-finalizer", set(), "(profiles-deployment) does not run"),
        ("kubernetes.io/pvc-protection", set(), "a pod still uses the claim"),
        ("who.knows/x", set(), "whose controller is not known"),
    ],
)
def test_a_finalizer_says_who_takes_it_off(finalizer: str, running: set[str], said: str) -> None:
    assert said in held_by([finalizer], running)
