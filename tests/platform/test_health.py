"""Health is what Argo CD would say of the same object."""

from __future__ import annotations

from typing import Any

import pytest

from argosy.platform.health import assess, worst


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def live(api_version: str, kind: str, spec: Any = None, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "generation": 2},
        "spec": spec or {},
        "status": status,
    }


def deployment(spec: Any = None, **status: Any) -> dict[str, Any]:
    base = {"observedGeneration": 2, "updatedReplicas": 1, "replicas": 1, "availableReplicas": 1}
    return live("apps/v1", "Deployment", spec, **{**base, **status})


def pod(restart: str, phase: str, **status: Any) -> dict[str, Any]:
    return live("v1", "Pod", {"restartPolicy": restart}, phase=phase, **status)


def waiting(reason: str) -> list[dict[str, Any]]:
    return [{"name": "main", "state": {"waiting": {"reason": reason}}}]


CERTIFICATE = "cert-manager.io/v1"
CASES = [
    (deployment(), "healthy"),
    (deployment(observedGeneration=1), "progressing"),
    (deployment({"replicas": 3}), "progressing"),
    (deployment(replicas=2), "progressing"),
    (deployment(availableReplicas=0), "progressing"),
    (deployment({"paused": True}), "suspended"),
    (
        deployment(conditions=[condition("Progressing", "False", "ProgressDeadlineExceeded")]),
        "degraded",
    ),
    (live("apps/v1", "StatefulSet"), "progressing"),
    (
        live("apps/v1", "StatefulSet", {"replicas": 1}, observedGeneration=2, readyReplicas=1),
        "healthy",
    ),
    (live("apps/v1", "StatefulSet", {"replicas": 2}, observedGeneration=2), "progressing"),
    (
        live(
            "apps/v1",
            "StatefulSet",
            observedGeneration=2,
            readyReplicas=1,
            updateRevision="b",
            currentRevision="a",
        ),
        "progressing",
    ),
    (live("apps/v1", "DaemonSet", observedGeneration=2, desiredNumberScheduled=1), "progressing"),
    (live("apps/v1", "DaemonSet", observedGeneration=2), "healthy"),
    (live("batch/v1", "Job"), "progressing"),
    (live("batch/v1", "Job", {"suspend": True}), "suspended"),
    (live("batch/v1", "Job", conditions=[condition("Complete", "True")]), "healthy"),
    (live("batch/v1", "Job", conditions=[condition("Failed", "True")]), "degraded"),
    (pod("Always", "Running", containerStatuses=waiting("CrashLoopBackOff")), "degraded"),
    (pod("Never", "Running", containerStatuses=waiting("ImagePullBackOff")), "progressing"),
    (pod("Always", "Running", conditions=[condition("Ready", "True")]), "healthy"),
    (pod("Never", "Succeeded"), "healthy"),
    (pod("Never", "Failed"), "degraded"),
    (pod("Always", "Pending"), "progressing"),
    (pod("Always", "Unknown"), "unknown"),
    (live("v1", "PersistentVolumeClaim", phase="Bound"), "healthy"),
    (live("v1", "PersistentVolumeClaim", phase="Pending"), "progressing"),
    (live("v1", "PersistentVolumeClaim", phase="Lost"), "degraded"),
    (live("v1", "Service", {"type": "ClusterIP"}), "healthy"),
    (live("v1", "Service", {"type": "LoadBalancer"}), "progressing"),
    (
        live(
            "v1",
            "Service",
            {"type": "LoadBalancer"},
            loadBalancer={"ingress": [{"ip": "192.0.2.1"}]},
        ),
        "healthy",
    ),
    (live("networking.k8s.io/v1", "Ingress"), "progressing"),
    (
        live(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            conditions=[condition("ScalingActive", "False", "FailedGetResourceMetric")],
        ),
        "degraded",
    ),
    (
        live(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            conditions=[condition("AbleToScale", "True", "SucceededRescale")],
        ),
        "healthy",
    ),
    (
        live(
            "apiregistration.k8s.io/v1", "APIService", conditions=[condition("Available", "True")]
        ),
        "healthy",
    ),
    (live("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "progressing"),
    (
        live(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions=[condition("Established", "True")],
        ),
        "healthy",
    ),
    (
        live(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions=[condition("Established", "False", reason="Installing")],
        ),
        "progressing",
    ),
    (
        live(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            conditions=[condition("NamesAccepted", "False"), condition("Established", "True")],
        ),
        "degraded",
    ),
    (live("v1", "Namespace", phase="Active"), "healthy"),
    (live("v1", "Namespace", phase="Terminating"), "progressing"),
    (live(CERTIFICATE, "Certificate"), "progressing"),
    (live(CERTIFICATE, "Certificate", conditions=[condition("Ready", "True")]), "healthy"),
    (live(CERTIFICATE, "Certificate", conditions=[condition("Ready", "False")]), "degraded"),
    (
        live(
            CERTIFICATE,
            "Certificate",
            conditions=[condition("Ready", "False"), condition("Issuing", "True")],
        ),
        "progressing",
    ),
    (
        live("serving.knative.dev/v1", "Service", conditions=[condition("Ready", "Unknown")]),
        "progressing",
    ),
    (
        live(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            conditions=[condition("Ready", "False")],
        ),
        "degraded",
    ),
    (live("kubeflow.org/v1", "Profile"), "healthy"),
    (live("kubeflow.org/v1", "Profile", conditions=[condition("Failed", "True")]), "degraded"),
    (live("argoproj.io/v1alpha1", "Workflow", phase="Succeeded"), "healthy"),
    (live("argoproj.io/v1alpha1", "Workflow", phase="Error"), "degraded"),
    (live("argoproj.io/v1alpha1", "Application", health={"status": "Missing"}), "missing"),
    (live("v1", "ConfigMap"), "healthy"),
    (live("example.com/v1", "Anything", conditions=[condition("Ready", "False")]), "healthy"),
]


@pytest.mark.parametrize(("obj", "state"), CASES, ids=[f"{o['kind']}-{s}" for o, s in CASES])
def test_an_object_is_as_healthy_as_argo_cd_says(obj: dict[str, Any], state: str) -> None:
    assert assess(obj).state == state


def test_what_is_not_there_is_missing() -> None:
    assert assess(None).state == "missing"


def test_what_is_being_deleted_says_what_holds_it() -> None:
    obj = live("v1", "ConfigMap")
    obj["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    assert assess(obj) == ("progressing", "being deleted, held by a/b")


def test_a_broken_container_gives_the_reason() -> None:
    health = assess(pod("Always", "Running", containerStatuses=waiting("ErrImagePull")))
    assert health.reason == "main: ErrImagePull"


def test_the_worst_object_stands_for_the_app() -> None:
    assert worst(["healthy", "progressing", "degraded", "suspended"]) == "degraded"
    assert worst([]) == "healthy"
