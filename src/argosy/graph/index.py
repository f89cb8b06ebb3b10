"""All objects of a platform, findable by what they are and by what selects them.

Pure and built once from parsed objects. Of CustomResourceDefinitions only the head is needed
(names, scope, versions, conversion), so callers may leave their schemas out.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from argosy.graph.made import made_by_cluster
from argosy.graph.pods import PodTemplate, pod_template
from argosy.graph.selectors import is_subset, matches
from argosy.graph.shape import mapping, string
from argosy.manifests import ObjectId, identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.manifests import Manifest

__all__ = ["Index"]


class Index:
    """The objects of a platform.

    Attributes:
        objects: every object by its identity; of two with one identity the last.
    """

    def __init__(self, objects: Iterable[Manifest]) -> None:
        self.objects: dict[ObjectId, Manifest] = {}
        self._names: set[tuple[str, str, str]] = set()
        self._kinds: dict[tuple[str, str], list[ObjectId]] = defaultdict(list)
        for obj in objects:
            key = identity(obj)
            if key not in self.objects:
                self._kinds[key.group, key.kind].append(key)
            self.objects[key] = obj
            self._names.add((key.group, key.kind, key.name))

    def of(self, kind: str, *, group: str = "", namespace: str | None = None) -> list[Manifest]:
        """Return the objects of a kind, of one namespace when it is named."""
        return [
            self.objects[key]
            for key in self._kinds.get((group, kind), ())
            if namespace is None or key.namespace == namespace
        ]

    def has(self, wanted: ObjectId) -> bool:
        """Say whether an object is in the tree, or is made by somebody at run time.

        What is wanted without a namespace is cluster-scoped, and is found as well when its
        manifest carries a namespace by mistake: the API server drops that.
        """
        anywhere = not wanted.namespace
        return (
            (anywhere and (wanted.group, wanted.kind, wanted.name) in self._names)
            or wanted in self.objects
            or wanted in self.issued
            or made_by_cluster(wanted) is not None
        )

    @cached_property
    def issued(self) -> dict[ObjectId, ObjectId]:
        """The Secrets that Certificates make, each with its Certificate."""
        secrets: dict[ObjectId, ObjectId] = {}
        for obj in self.of("Certificate", group="cert-manager.io"):
            source = identity(obj)
            name = string(obj, "spec", "secretName")
            if name:
                secrets[ObjectId("", "Secret", source.namespace, name)] = source
        return secrets

    @cached_property
    def pods(self) -> dict[str, list[PodTemplate]]:
        """The pod templates of all workloads by namespace."""
        found: dict[str, list[PodTemplate]] = defaultdict(list)
        for obj in self.objects.values():
            template = pod_template(obj)
            if template is not None:
                found[template.namespace].append(template)
        return found

    @cached_property
    def namespaces(self) -> dict[str, dict[str, str]]:
        """The labels of the namespaces in the tree, the one that Kubernetes adds included."""
        return {
            identity(obj).name: {
                "kubernetes.io/metadata.name": identity(obj).name,
                **mapping(obj, "metadata", "labels"),
            }
            for obj in self.of("Namespace")
        }

    def behind(self, service: Manifest) -> list[PodTemplate]:
        """Return the pods that a Service sends traffic to."""
        selector = mapping(service, "spec", "selector")
        if not selector:
            return []
        return [
            template
            for template in self.pods.get(identity(service).namespace, ())
            if is_subset(selector, template.labels)
        ]

    def selected(
        self, selector: Mapping[str, Any] | None, *, namespace: str | None
    ) -> list[PodTemplate]:
        """Return the pods that a LabelSelector matches, in one namespace or (None) in all."""
        spaces = self.pods.values() if namespace is None else [self.pods.get(namespace, [])]
        return [
            template
            for templates in spaces
            for template in templates
            if matches(selector, template.labels)
        ]
