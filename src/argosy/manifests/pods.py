"""Find the pods that an object will run: pod specs wherever they hide, and their containers.

A pod spec is known by its shape (a mapping with a `containers` list of mappings that have a name),
so workloads of custom resources (Notebook, InferenceService, PyTorchJob, Workflow templates) are
found without a table. CRDs only describe such shapes and are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests.identity import Manifest
    from argosy.manifests.paths import Path

__all__ = ["CONTAINER_FIELDS", "Container", "PodTemplate", "containers", "pod_templates"]

CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")
_DATA_ONLY = frozenset({"CustomResourceDefinition", "ConfigMap", "Secret"})


class PodTemplate(NamedTuple):
    """A pod spec in an object.

    Attributes:
        path: where the spec stands.
        spec: the pod spec.
        labels: the labels that its pods get, as far as the template says.
        annotations: the annotations that its pods get.
    """

    path: Path
    spec: dict[str, Any]
    labels: dict[str, str]
    annotations: dict[str, str]


class Container(NamedTuple):
    """A container of a pod spec: its place, its list (`containers`, …) and its definition."""

    path: Path
    field: str
    container: dict[str, Any]


def pod_templates(obj: Manifest) -> Iterator[PodTemplate]:
    """Yield each pod spec of an object with the labels of its template, outermost first."""
    if obj.get("kind") not in _DATA_ONLY:
        yield from _search(obj, ())


def containers(obj: Manifest) -> Iterator[Container]:
    """Yield each container of each pod spec of an object."""
    for template in pod_templates(obj):
        for field in CONTAINER_FIELDS:
            items = template.spec.get(field)
            for index, item in enumerate(items if isinstance(items, list) else ()):
                if isinstance(item, dict):
                    yield Container((*template.path, field, index), field, item)


def _search(value: Any, path: Path) -> Iterator[PodTemplate]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "status" and len(path) == 0:
                continue
            if isinstance(inner, dict) and _is_pod_spec(inner):
                meta = value.get("metadata")
                meta = meta if key in {"spec", "template"} and isinstance(meta, dict) else {}
                yield PodTemplate(
                    (*path, key), inner, _texts(meta, "labels"), _texts(meta, "annotations")
                )
            yield from _search(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _search(inner, (*path, index))


def _is_pod_spec(value: dict[str, Any]) -> bool:
    items = value.get("containers")
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items)
    )


def _texts(meta: dict[str, Any], field: str) -> dict[str, str]:
    found = meta.get(field)
    return found if isinstance(found, dict) else {}
