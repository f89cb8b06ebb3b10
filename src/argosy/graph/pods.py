"""Find the pod template in a workload, and the containers in a pod spec.

Knows the workloads that Kubernetes itself has. Custom resources that carry pod specs are left to
their controllers: where those resolve names is theirs to decide (`argosy.graph.images` looks
into them all the same, since an image is an image).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argosy.graph.shape import entries, mapping, string
from argosy.manifests import ObjectId, identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from argosy.manifests import Manifest

__all__ = ["PodTemplate", "containers", "pod_template"]

# (group, kind) -> where the pod template (with metadata and spec) stands
TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "Job"): ("spec", "template"),
}
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True)
class PodTemplate:
    """The pods that a workload makes.

    Attributes:
        owner: the workload.
        path: where the template's spec stands in the workload, such as `spec.template.spec`.
        namespace: where the pods run.
        labels: the pods' labels.
        annotations: the pods' annotations.
        spec: the pod spec.
    """

    owner: ObjectId
    path: str
    namespace: str
    labels: Mapping[str, str] = field(repr=False)
    annotations: Mapping[str, str] = field(repr=False)
    spec: Mapping[str, Any] = field(repr=False)

    @property
    def service_account(self) -> str:
        """The name of the ServiceAccount that the pods run as."""
        spec = self.spec
        return string(spec, "serviceAccountName") or string(spec, "serviceAccount") or "default"

    def ports(self) -> dict[str, int]:
        """Return the pods' named ports."""
        return {
            string(port, "name"): port["containerPort"]
            for _, container in containers(self.spec)
            for port in entries(container, "ports")
            if string(port, "name") and isinstance(port.get("containerPort"), int)
        }


def pod_template(obj: Manifest) -> PodTemplate | None:
    """Return the pod template of a workload, None when the object makes no pods by itself."""
    source = identity(obj)
    steps = TEMPLATES.get((source.group, source.kind))
    if steps is None:
        return None
    node = mapping(obj, *steps)
    if not isinstance(node.get("spec"), dict):
        return None
    return PodTemplate(
        owner=source,
        path=".".join((*steps, "spec")),
        namespace=source.namespace,
        labels=mapping(node, "metadata", "labels"),
        annotations=mapping(node, "metadata", "annotations"),
        spec=node["spec"],
    )


def containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each container of a pod spec with its path, such as `containers[name=main]`."""
    for key in CONTAINER_LISTS:
        for number, container in enumerate(entries(spec, key)):
            name = string(container, "name")
            yield f"{key}[name={name}]" if name else f"{key}[{number}]", container
