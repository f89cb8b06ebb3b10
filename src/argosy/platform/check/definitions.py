"""Read CustomResourceDefinitions without their schemas, and one schema when it is asked for.

Schemas are most of a platform's bytes and most of them validate nothing in the tree, so a
definition is parsed as a whole only when there is an object to validate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.graph.shape import entries, mapping, string
from argosy.platform.definitions import outline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.model import RenderedObject

__all__ = ["KIND", "Definition", "definitions"]

KIND = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Definition(NamedTuple):
    """The head of a CustomResourceDefinition.

    Attributes:
        rendered: where it stands.
        head: the parsed definition without its schemas.
    """

    rendered: RenderedObject
    head: Manifest

    @property
    def group(self) -> str:
        """The API group that it defines a kind in."""
        return string(self.head, "spec", "group")

    @property
    def kind(self) -> str:
        """The kind that it defines."""
        return string(self.head, "spec", "names", "kind")

    @property
    def namespaced(self) -> bool:
        """Whether its objects live in namespaces."""
        return string(self.head, "spec", "scope") == "Namespaced"

    def version(self, name: str) -> dict[str, Any] | None:
        """Return a version without its schema, None when there is none of that name."""
        for version in entries(self.head, "spec", "versions"):
            if version.get("name") == name:
                return version
        return None

    def schema(self, version: str) -> dict[str, Any] | None:
        """Return the schema of a version; this parses the whole definition."""
        for entry in entries(self.rendered.object(), "spec", "versions"):
            if entry.get("name") == version:
                return mapping(entry, "schema", "openAPIV3Schema") or None
        return None


def definitions(objects: Iterable[RenderedObject]) -> list[Definition]:
    """Return the heads of all definitions among `objects`.

    Raises:
        YamlError: a definition is not YAML.
    """
    found = []
    for rendered in objects:
        if (rendered.id.group, rendered.id.kind) == KIND:
            head = outline(rendered.text, file=rendered.file)
            if isinstance(head.get("spec"), dict):
                found.append(Definition(rendered, head))
    return found
