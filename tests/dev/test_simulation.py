"""Simulated pods and volumes live as their annotations and owners say."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.apiserver

CONTAINER = {"name": "main", "image": "nothing:1"}


def _pod(name, annotations=None, **spec):
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"containers": [CONTAINER], **spec},
    }


def _has(kind):
    def good(found):
        conditions = (found or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == kind and c["status"] == "True" for c in conditions)

    return good


def _in_phase(*phases):
    return lambda found: found is not None and found["status"].get("phase") in phases


@pytest.mark.parametrize("kind", ["deployments", "statefulsets", "daemonsets"])
def test_workloads_get_their_pods(devcluster, namespace, kind):
    path = f"/apis/apps/v1/namespaces/{namespace}/{kind}"
    labels = {"app": "web"}
    body = {
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}},
        },
    }
    devcluster.api.create(path, body)
    wanted = "numberAvailable" if kind == "daemonsets" else "availableReplicas"
    devcluster.api.wait(path, "web", lambda found: found["status"].get(wanted, 0) >= 1)


def _job(devcluster, namespace, annotations):
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [CONTAINER], "restartPolicy": "Never"},
    }
    devcluster.api.create(
        path, {"metadata": {"name": "job"}, "spec": {"backoffLimit": 0, "template": template}}
    )
    return path


def test_a_job_completes(devcluster, namespace):
    devcluster.api.wait(_job(devcluster, namespace, {}), "job", _has("Complete"))


def test_a_job_told_to_fail_fails_with_its_exit_code(devcluster, namespace):
    annotations = {"argosy.dev/simulate": "fail", "argosy.dev/exit-code": "7"}
    devcluster.api.wait(_job(devcluster, namespace, annotations), "job", _has("Failed"))
    (pod,) = devcluster.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 7


@pytest.mark.parametrize("owner", ["Workflow", "TaskRun", "ProwJob"])
def test_what_runs_once_completes(devcluster, namespace, owner):
    path = f"/api/v1/namespaces/{namespace}/pods"
    body = _pod("step", restartPolicy="Never")
    api_version = "example.dev/v1"
    owned_by = {"apiVersion": api_version, "kind": owner, "name": "x", "uid": "1"}
    # the garbage collector knows no such kind and leaves the pod alone
    body["metadata"]["ownerReferences"] = [owned_by]
    devcluster.api.create(path, body)
    devcluster.api.wait(path, "step", _in_phase("Succeeded"))


def test_a_pod_told_to_complete_does_so_after_its_time(devcluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    annotations = {"argosy.dev/simulate": "complete", "argosy.dev/run-for": "300ms"}
    devcluster.api.create(path, _pod("slow", annotations))
    devcluster.api.wait(path, "slow", _in_phase("Running"))
    devcluster.api.wait(path, "slow", _in_phase("Succeeded"))


@pytest.mark.parametrize(
    ("simulate", "reason"), [("fail", "CrashLoopBackOff"), ("image-pull", "ImagePullBackOff")]
)
def test_a_pod_that_is_restarted_for_ever_waits(devcluster, namespace, simulate, reason):
    path = f"/api/v1/namespaces/{namespace}/pods"
    devcluster.api.create(path, _pod("broken", {"argosy.dev/simulate": simulate}))

    def waits(found):
        statuses = found["status"].get("containerStatuses", [])
        return any(s["state"].get("waiting", {}).get("reason") == reason for s in statuses)

    found = devcluster.api.wait(path, "broken", waits)
    assert not _has("Ready")(found)


def test_a_pod_can_be_told_never_to_be_ready(devcluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    devcluster.api.create(path, _pod("shy", {"argosy.dev/simulate": "never-ready"}))
    assert not _has("Ready")(devcluster.api.wait(path, "shy", _in_phase("Running")))


def test_a_deleted_pod_goes_and_its_job_makes_another(devcluster, namespace):
    pods = f"/api/v1/namespaces/{namespace}/pods"
    path = _job(devcluster, namespace, {"argosy.dev/run-for": "1h"})
    devcluster.api.merge(f"{path}/job", {"spec": {"backoffLimit": 3}})
    devcluster.api.wait(path, "job", lambda found: found["status"].get("ready") == 1)
    (first,) = devcluster.api.get(pods)["items"]
    devcluster.api.delete(f"{pods}/{first['metadata']['name']}")
    devcluster.api.wait(pods, first["metadata"]["name"], lambda found: found is None)
    devcluster.api.wait(path, "job", lambda found: found["status"].get("failed") == 1)


def test_a_claim_is_bound_grows_and_is_deleted_with_its_files(devcluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    request = {"requests": {"storage": "1Gi"}}
    body = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": request},
    }
    devcluster.api.create(path, body)
    bound = devcluster.api.wait(path, "data", _in_phase("Bound"))
    volume = bound["spec"]["volumeName"]
    assert (devcluster.dir / "volumes" / volume).is_dir()
    devcluster.api.merge(f"{path}/data", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    devcluster.api.wait(path, "data", lambda found: found["status"]["capacity"]["storage"] == "2Gi")
    devcluster.api.delete(f"{path}/data")
    devcluster.api.wait("/api/v1/persistentvolumes", volume, lambda found: found is None)
    assert not (devcluster.dir / "volumes" / volume).exists()


def test_an_unknown_storage_class_is_left_alone(devcluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "gp3",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    devcluster.api.create(path, {"metadata": {"name": "theirs"}, "spec": spec})
    spec = {**spec, "storageClassName": "standard"}
    devcluster.api.create(path, {"metadata": {"name": "ours"}, "spec": spec})
    devcluster.api.wait(path, "ours", _in_phase("Bound"))
    assert devcluster.api.get(f"{path}/theirs")["status"]["phase"] == "Pending"


def test_cluster_roles_are_aggregated(devcluster, namespace):
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    rule = {"apiGroups": ["example.dev"], "resources": ["things"], "verbs": ["get"]}
    label = {f"argosy.dev/{namespace}": "true"}
    part = {"metadata": {"name": f"{namespace}-part", "labels": label}, "rules": [rule]}
    whole = {
        "metadata": {"name": f"{namespace}-whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": label}]},
        "rules": [],
    }
    for role in (part, whole):
        devcluster.api.create(roles, role)
    devcluster.api.wait(roles, f"{namespace}-whole", lambda found: found["rules"] == [rule])
