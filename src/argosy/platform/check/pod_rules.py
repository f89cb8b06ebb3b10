"""ARG022: workloads that the API server refuses for reasons that no schema states."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from argosy.graph import containers, matches, pod_template
from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.graph import PodTemplate
    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG022",
    Severity.ERROR,
    "workload that the API server refuses",
    "A container mounts a volume that the pod does not have, two containers or volumes of a pod "
    "have one name, or a workload's selector does not match its own pods. The API server refuses "
    "each of them although the schema allows it.",
)
# volume claim templates become volumes of the same name
SELECTING = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each broken rule."""
    for obj in context.objects:
        template = pod_template(obj)
        if template is None:
            continue
        for path, message in (
            *_selector(obj, template),
            *_mounts(obj, template),
            *_names(template),
        ):
            yield context.finding(SPEC, template.owner, path, message)


def _selector(obj: Manifest, template: PodTemplate) -> Iterator[tuple[str, str]]:
    selector = mapping(obj, "spec", "selector")
    if identity(obj).kind in SELECTING and selector and not matches(selector, template.labels):
        yield (
            "spec.selector",
            "The selector does not match the labels of the pod template; make them agree.",
        )


def _mounts(obj: Manifest, template: PodTemplate) -> Iterator[tuple[str, str]]:
    volumes = {string(volume, "name") for volume in entries(template.spec, "volumes")}
    claims = entries(obj, "spec", "volumeClaimTemplates")
    volumes |= {string(claim, "metadata", "name") for claim in claims}
    for at, container in containers(template.spec):
        for mount in entries(container, "volumeMounts"):
            name = string(mount, "name")
            if name and name not in volumes:
                path = f"{template.path}.{at}.volumeMounts[name={name}]"
                yield path, f"The pod has no volume {name!r}; add it or correct the name."


def _names(template: PodTemplate) -> Iterator[tuple[str, str]]:
    lists: dict[str, list[dict[str, Any]]] = {
        "containers": [container for _, container in containers(template.spec)],
        "volumes": entries(template.spec, "volumes"),
    }
    for field, members in lists.items():
        for name, number in Counter(string(member, "name") for member in members).items():
            if name and number > 1:
                path = f"{template.path}.{field}[name={name}]"
                yield path, f"{number} {field} are named {name!r}; give each its own name."
