"""Say why a workload is not ready, from its pods and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.kube import ApiError, Resource
from argosy.platform.health import assess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.kube import KubeApi
    from argosy.manifests import Manifest

__all__ = ["why_not_ready"]

PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet", namespaced=True)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
SHOWN = 2  # reasons in one line; the rest say the same in most cases


async def why_not_ready(api: KubeApi, workload: Manifest) -> str:
    """Return what containers, conditions and warnings say about a workload, "" for nothing.

    An answer that cannot be had is no answer: this is only for the reader.
    """
    namespace = workload["metadata"].get("namespace")
    labels = ((workload.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    try:
        pods = [pod async for pod in api.list(PODS, namespace, label_selector=selector)]
        reasons = list(dict.fromkeys(text for pod in pods for text in _of_pod(pod)))
        if not reasons:
            behind = [("Pod", pod["metadata"]["name"]) for pod in pods] or [
                ("ReplicaSet", name) for name in await _replica_sets(api, namespace, selector)
            ]
            itself = (str(workload.get("kind", "")), workload["metadata"]["name"])
            reasons = await _warnings(api, namespace, {itself, *behind})
        reasons = reasons or [text for pod in pods for text in _unready(pod)]
    except ApiError:
        return ""
    return "; ".join(reasons[:SHOWN])


def _of_pod(pod: Manifest) -> Iterator[str]:
    name = pod["metadata"]["name"]
    status: dict[str, Any] = pod.get("status") or {}
    for container in [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            message = f": {waiting['message']}" if waiting.get("message") else ""
            said = f"{waiting['reason']}{message}{_ended(container)}"
            yield f"pod {name}, container {container['name']}: {said}"
    if not status.get("containerStatuses"):
        reason = assess(pod).reason
        if reason:
            yield f"pod {name}: {reason}"


def _ended(container: dict[str, Any]) -> str:
    """Say how a container ended that is about to be started again."""
    ended = (container.get("lastState") or {}).get("terminated") or {}
    if "exitCode" not in ended:
        return ""
    message = str(ended.get("message") or "").strip().rpartition("\n")[2]
    return f" (it exited with {ended['exitCode']}{f': {message}' if message else ''})"


def _unready(pod: Manifest) -> Iterator[str]:
    """Name the containers that run and are not ready; a readiness probe may say no events."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        if not container.get("ready") and (container.get("state") or {}).get("running"):
            yield f"pod {pod['metadata']['name']}, container {container['name']} is not ready"


async def _replica_sets(api: KubeApi, namespace: str, selector: str) -> list[str]:
    found = api.list(REPLICA_SETS, namespace, label_selector=selector, metadata_only=True)
    return [obj["metadata"]["name"] async for obj in found]


async def _warnings(api: KubeApi, namespace: str, of: set[tuple[str, str]]) -> list[str]:
    """Return the last warning about each of some objects; others may bear the same name."""
    latest: dict[tuple[str, str], str] = {}
    async for event in api.list(EVENTS, namespace, field_selector="type=Warning"):
        about = event.get("involvedObject") or {}
        one = (str(about.get("kind", "")), str(about.get("name", "")))
        if one in of:
            latest[one] = f"{event.get('reason')}: {event.get('message')}"
    return list(dict.fromkeys(latest.values()))
