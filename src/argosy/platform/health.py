"""Say how healthy an object is, with Argo CD's words and Argo CD's rules.

Pure: takes a live object, returns a state and the reason for it. The rules for built-in kinds are
those of Argo CD's engine; custom resources go by their conditions, from the table below. A kind
without a rule has no health of its own and counts as healthy, as in Argo CD.

Worst first: missing and degraded need a person, progressing and unknown need time, suspended
was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from argosy.platform.conditions import Conditions, condition_rule, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from argosy.manifests import Manifest

__all__ = ["Health", "State", "assess", "has_health", "lacks_metrics", "worst"]

State = Literal["healthy", "suspended", "progressing", "unknown", "missing", "degraded"]
ORDER: tuple[State, ...] = (
    "healthy",
    "suspended",
    "progressing",
    "unknown",
    "missing",
    "degraded",
)


class Health(NamedTuple):
    """A state and the reason for it; the reason is "" when there is nothing to add."""

    state: State
    reason: str = ""


HEALTHY = Health("healthy")


def worst(states: Iterable[State]) -> State:
    """Return the state that says most about the whole: degraded before missing before the rest."""
    return max(states, key=ORDER.index, default="healthy")


def assess(live: Manifest | None) -> Health:
    """Return the health of a live object; None stands for one that is not there.

    Args:
        live: the object as the API server returned it, status included.
    """
    if live is None:
        return Health("missing", "it is not in the cluster")
    metadata = live.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        held = ", ".join(metadata.get("finalizers") or ())
        return Health("progressing", f"being deleted{f', held by {held}' if held else ''}")
    group = str(live.get("apiVersion", "")).rpartition("/")[0]
    kind = str(live.get("kind", ""))
    rule = _RULES.get((group, kind))
    if rule is not None:
        return rule(live, live.get("spec") or {}, live.get("status") or {})
    conditions = condition_rule(group, kind)
    if conditions is None:
        return HEALTHY
    return _by_conditions(conditions, live)


def has_health(group: str, kind: str) -> bool:
    """Say whether a kind has a rule of its own, apart from the table of conditions."""
    return (group, kind) in _RULES


def _by_conditions(rule: Conditions, live: Manifest) -> Health:
    status = live.get("status") or {}
    observed = status.get("observedGeneration")
    generation = (live.get("metadata") or {}).get("generation")
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        return Health("progressing", "the controller has not seen the last change")
    conditions = status.get("conditions") or []
    for waiting in rule.waiting:
        found = named(conditions, waiting)
        if found and found.get("status") == "True":
            return Health("progressing", _says(found))
    for failed in rule.failed:
        found = named(conditions, failed)
        if found and found.get("status") == "True":
            return Health("degraded", _says(found))
    ready = named(conditions, rule.ready)
    if ready is None:
        return Health(rule.absent, rule.waiting_for if rule.absent == "progressing" else "")
    if ready.get("status") == "True":
        return HEALTHY
    if ready.get("status") == "False":
        return Health("degraded", _says(ready))
    return Health("progressing", _says(ready))


def _says(condition: dict[str, Any]) -> str:
    return str(condition.get("message") or condition.get("reason") or condition.get("type") or "")


def _deployment(live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if spec.get("paused"):
        return Health("suspended", "the Deployment is paused")
    if _unseen(live, status):
        return Health("progressing", "the rollout has not begun")
    progressing = named(status.get("conditions") or [], "Progressing") or {}
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Health("degraded", _says(progressing))
    wanted, updated = spec.get("replicas", 1), status.get("updatedReplicas", 0)
    if updated < wanted:
        return Health("progressing", f"{updated} of {wanted} new replicas have been made")
    if status.get("replicas", 0) > updated:
        old = status["replicas"] - updated
        return Health("progressing", f"{old} old replicas are on their way out")
    available = status.get("availableReplicas", 0)
    if available < updated:
        return Health("progressing", f"{available} of {updated} new replicas are available")
    return HEALTHY


def _stateful_set(live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if not status.get("observedGeneration") or _unseen(live, status):
        return Health("progressing", "the rollout has not begun")
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    if ready < wanted:
        return Health("progressing", f"{ready} of {wanted} pods are ready")
    strategy = spec.get("updateStrategy") or {}
    updated = status.get("updatedReplicas", 0)
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "RollingUpdate" and rolling:
        partition = rolling.get("partition") or 0
        if updated < wanted - partition:
            return Health("progressing", f"{updated} of {wanted - partition} pods are updated")
        return HEALTHY
    if strategy.get("type") == "OnDelete":
        return HEALTHY
    if status.get("updateRevision") != status.get("currentRevision"):
        return Health("progressing", f"{updated} of {wanted} pods are updated")
    return HEALTHY


def _daemon_set(live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if _unseen(live, status):
        return Health("progressing", "the rollout has not begun")
    if (spec.get("updateStrategy") or {}).get("type") == "OnDelete":
        return HEALTHY
    wanted = status.get("desiredNumberScheduled", 0)
    updated = status.get("updatedNumberScheduled", 0)
    if updated < wanted:
        return Health("progressing", f"{updated} of {wanted} nodes have the new pod")
    available = status.get("numberAvailable", 0)
    if available < wanted:
        return Health("progressing", f"{available} of {wanted} pods are available")
    return HEALTHY


def _replica_set(live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if _unseen(live, status):
        return Health("progressing", "the change has not been seen")
    failure = named(status.get("conditions") or [], "ReplicaFailure")
    if failure and failure.get("status") == "True":
        return Health("degraded", _says(failure))
    wanted, available = spec.get("replicas", 1), status.get("availableReplicas", 0)
    if available < wanted:
        return Health("progressing", f"{available} of {wanted} pods are available")
    return HEALTHY


def _unseen(live: Manifest, status: dict[str, Any]) -> bool:
    generation = int((live.get("metadata") or {}).get("generation") or 0)
    return generation > int(status.get("observedGeneration") or 0)


def _job(_live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    for condition in status.get("conditions") or ():
        if condition.get("status") != "True":
            continue
        if condition.get("type") == "Failed":
            return Health("degraded", _says(condition))
        if condition.get("type") in {"Complete", "SuccessCriteriaMet"}:
            return HEALTHY
        if condition.get("type") == "Suspended":
            return Health("suspended", "the Job is suspended")
    if spec.get("suspend"):
        return Health("suspended", "the Job is suspended")
    return Health("progressing", f"{status.get('active', 0)} pods are running")


def _cron_job(_live: Manifest, spec: dict[str, Any], _status: dict[str, Any]) -> Health:
    return Health("suspended", "the CronJob is suspended") if spec.get("suspend") else HEALTHY


_BAD_WAITING = (
    "BackOff",
    "Error",
)  # how the kubelet's reasons end: CrashLoopBackOff, RunContainerError


def _pod(_live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    always = spec.get("restartPolicy", "Always") == "Always"
    containers = status.get("containerStatuses") or []
    if always:
        broken = [_waiting(c) for c in containers if _is_broken(c)]
        if broken:
            return Health("degraded", ", ".join(broken))
    phase = status.get("phase")
    if phase == "Succeeded":
        return HEALTHY
    if phase == "Failed":
        both = [*(status.get("initContainerStatuses") or []), *containers]
        reasons = [text for c in both if (text := _terminated(c))]
        return Health("degraded", status.get("message") or next(iter(reasons), "the pod failed"))
    if phase == "Running" and always:
        ready = named(status.get("conditions") or [], "Ready")
        if ready and ready.get("status") == "True":
            return HEALTHY
        if any((c.get("lastState") or {}).get("terminated") for c in containers):
            return Health("degraded", _says(ready or {}) or "a container was restarted")
    if phase in {"Pending", "Running"}:
        scheduled = named(status.get("conditions") or [], "PodScheduled")
        unscheduled = scheduled if scheduled and scheduled.get("status") == "False" else {}
        return Health("progressing", status.get("message") or _says(unscheduled))
    return Health("unknown", status.get("message") or "")


def _is_broken(container: dict[str, Any]) -> bool:
    reason = str(((container.get("state") or {}).get("waiting") or {}).get("reason") or "")
    return reason.startswith("Err") or reason.endswith(_BAD_WAITING)


def _waiting(container: dict[str, Any]) -> str:
    waiting = container["state"]["waiting"]
    return f"{container.get('name')}: {waiting.get('message') or waiting.get('reason')}"


def _terminated(container: dict[str, Any]) -> str:
    ended = (container.get("state") or {}).get("terminated") or {}
    if ended.get("message"):
        return str(ended["message"])
    if ended.get("reason") == "OOMKilled":
        return f"{container.get('name')} ran out of memory"
    code = ended.get("exitCode")
    return f"{container.get('name')} exited with {code}" if code else ""


def _claim(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    phase = status.get("phase")
    if phase == "Bound":
        return HEALTHY
    if phase == "Lost":
        return Health("degraded", "its volume is lost")
    return Health("progressing" if phase == "Pending" else "unknown", "no volume is bound to it")


def _service(_live: Manifest, spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if spec.get("type") != "LoadBalancer" or (status.get("loadBalancer") or {}).get("ingress"):
        return HEALTHY
    return Health("progressing", "the load balancer has no address yet")


def _ingress(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if (status.get("loadBalancer") or {}).get("ingress"):
        return HEALTHY
    return Health("progressing", "the ingress controller has not given it an address")


_HPA_BAD = {
    ("AbleToScale", "FailedGetScale"),
    ("AbleToScale", "FailedUpdateScale"),
    ("ScalingActive", "FailedGetResourceMetric"),
    ("ScalingActive", "InvalidSelector"),
}


def _autoscaler(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    conditions = status.get("conditions") or []
    for condition in conditions:
        if (condition.get("type"), condition.get("reason")) in _HPA_BAD:
            return Health("degraded", _says(condition))
    for condition in conditions:
        if condition.get("type") == "ScalingLimited" or (
            condition.get("type") == "AbleToScale" and condition.get("status") == "True"
        ):
            return HEALTHY
    return Health("progressing", "waiting for the first scaling decision")


def lacks_metrics(live: Manifest) -> bool:
    """Say whether a live object is an autoscaler that knows nothing of its pods."""
    return live.get("kind") == "HorizontalPodAutoscaler" and any(
        condition.get("reason") == "FailedGetResourceMetric"
        for condition in (live.get("status") or {}).get("conditions") or ()
    )


def _api_service(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    available = named(status.get("conditions") or [], "Available")
    if available is None:
        return Health("progressing", "waiting to be processed")
    if available.get("status") == "True":
        return HEALTHY
    return Health("progressing", _says(available))


def _definition(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    conditions = status.get("conditions") or []
    if not conditions:
        return Health("progressing", "the API server has not looked at it")
    if (found := named(conditions, "Terminating")) and found.get("status") == "True":
        return Health("progressing", f"being deleted: {_says(found)}")
    if (found := named(conditions, "NamesAccepted")) and found.get("status") == "False":
        return Health("degraded", f"its names are not accepted: {_says(found)}")
    established = named(conditions, "Established")
    if not established or established.get("reason") == "Installing":
        return Health("progressing", "the API server is about to serve it")
    if established.get("status") != "True":
        return Health("degraded", f"not established: {_says(established or {})}")
    if (found := named(conditions, "NonStructuralSchema")) and found.get("status") == "True":
        return Health("degraded", f"its schema is not structural: {_says(found)}")
    return HEALTHY


def _namespace(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    if status.get("phase", "Active") == "Active":
        return HEALTHY
    return Health("progressing", "being deleted")


def _workflow(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    phase, message = status.get("phase") or "", str(status.get("message") or "")
    if phase in {"", "Pending", "Running"}:
        return Health("progressing", message)
    if phase == "Succeeded":
        return HEALTHY
    if phase in {"Failed", "Error"}:
        return Health("degraded", message)
    return Health("unknown", message)


_APPLICATION: dict[str, State] = {
    "Healthy": "healthy",
    "Progressing": "progressing",
    "Degraded": "degraded",
    "Suspended": "suspended",
    "Missing": "missing",
}


def _application(_live: Manifest, _spec: dict[str, Any], status: dict[str, Any]) -> Health:
    health = status.get("health") or {}
    if not health:
        return Health("progressing", "Argo CD has not looked at it")
    return Health(
        _APPLICATION.get(str(health.get("status")), "unknown"), health.get("message") or ""
    )


_RULES: dict[tuple[str, str], Callable[[Manifest, dict[str, Any], dict[str, Any]], Health]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("", "Namespace"): _namespace,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("argoproj.io", "Workflow"): _workflow,
    ("argoproj.io", "Application"): _application,
}
