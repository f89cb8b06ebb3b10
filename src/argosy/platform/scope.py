"""Give every rendered object its resource in the API, and the identity that it has there.

A kind's resource comes from the cluster, or from the tree's own definition when the cluster does
not serve the kind yet. An object of a kind without namespaces loses the one that its manifest
claims: several of Kubeflow's do that.

Refuses kinds that neither the cluster nor the tree defines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from argosy.errors import UsageError
from argosy.kube import Resource
from argosy.platform.definitions import definition
from argosy.platform.model import RenderedApp, RenderedPlatform

if TYPE_CHECKING:
    from argosy.kube import ResourceIndex
    from argosy.manifests import ObjectId
    from argosy.platform.model import RenderedObject

__all__ = ["Scoped", "UnknownKind", "scope"]

CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


class UnknownKind(UsageError):
    """Neither the cluster nor the rendered tree defines a kind."""


class Scoped:
    """A platform whose objects have the identities that they have in a cluster.

    Attributes:
        platform: the platform.
        resources: each object's resource, in the version that the server prefers.
    """

    def __init__(self, platform: RenderedPlatform, resources: dict[ObjectId, Resource]) -> None:
        self.platform = platform
        self.resources = resources


def scope(
    platform: RenderedPlatform, index: ResourceIndex, *, namespace: str = "default"
) -> Scoped:
    """Return a platform with each object's resource.

    Args:
        platform: the rendered tree.
        index: what the cluster serves.
        namespace: where an object goes that needs a namespace and names none, as with kubectl.

    Raises:
        UnknownKind: a kind is not served and the tree does not define it.
    """
    kinds: dict[tuple[str, str], Resource] = {}
    own = _Own(platform)
    resources: dict[ObjectId, Resource] = {}
    apps: list[RenderedApp] = []
    for app in platform.apps:
        objects: list[RenderedObject] = []
        for found in app.objects:
            key = (found.id.group, found.id.kind)
            if key not in kinds:
                kinds[key] = index.find(key[0], None, key[1]) or own.resource(found)
            resource = kinds[key]
            placed = found.id.namespace or namespace if resource.namespaced else ""
            if placed != found.id.namespace:
                found = replace(found, id=found.id._replace(namespace=placed))  # noqa: PLW2901
            objects.append(found)
            resources[found.id] = resource
        apps.append(RenderedApp(app.name, app.needs, tuple(objects)))
    scoped = RenderedPlatform(
        platform.name, platform.env, platform.kubernetes, tuple(apps), platform.release
    )
    return Scoped(scoped, resources)


class _Own:
    """The kinds that the tree defines, read when one is asked for that the cluster lacks."""

    def __init__(self, platform: RenderedPlatform) -> None:
        self._platform = platform
        self._made: dict[tuple[str, str], Resource] | None = None

    def resource(self, found: RenderedObject) -> Resource:
        if self._made is None:
            definitions = [
                definition(o.id, o.text, file=o.file)
                for o in self._platform.objects()
                if o.id[:2] == CRD
            ]
            self._made = {
                (d.group, d.kind): Resource(
                    d.group, d.storage, d.plural, d.kind, namespaced=d.namespaced
                )
                for d in definitions
            }
        made = self._made.get((found.id.group, found.id.kind))
        if made is None:
            kind = f"{found.id.kind}.{found.id.group}" if found.id.group else found.id.kind
            raise UnknownKind(
                f"nothing defines the kind {kind}: the cluster does not serve it and no app has "
                "its CustomResourceDefinition",
                where=found.file,
                hint="add the app that brings it, or install it first",
            )
        return made
