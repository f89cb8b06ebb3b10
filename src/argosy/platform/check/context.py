"""What checks look at: the platform's objects, indexed once, each part when it is first wanted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.graph import Index, Reach, references
from argosy.graph.references.network import from_addresses
from argosy.graph.shape import string
from argosy.manifests import ObjectId, identity
from argosy.platform.catalogue import Brings, load_catalogue
from argosy.platform.check.definitions import KIND, Definition, definitions
from argosy.platform.check.finding import Finding, Spec
from argosy.platform.check.validation import Violation, violations
from argosy.yaml import YamlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jsonschema_rs import Draft4Validator

    from argosy.graph import Reference
    from argosy.manifests import Manifest
    from argosy.platform.model import RenderedObject, RenderedPlatform
    from argosy.platform.openapi import OpenApi

__all__ = ["Context"]


class Context:
    """The platform as checks see it.

    Attributes:
        platform: the rendered platform.
        openapi: what the target Kubernetes version has.
        validators: compiled schemas of custom kinds, by group, kind and version.
        broken_schemas: what is wrong with schemas that cannot be compiled.
        withheld: Secrets that are kept beside the tree, each with its app.
    """

    def __init__(
        self,
        platform: RenderedPlatform,
        openapi: OpenApi,
        *,
        withheld: Mapping[ObjectId, str] | None = None,
    ) -> None:
        self.platform = platform
        self.openapi = openapi
        self.withheld = withheld or {}
        self.validators: dict[tuple[str, str, str], Draft4Validator | None] = {}
        self.broken_schemas: list[Violation] = []
        self.rendered: dict[ObjectId, RenderedObject] = {}
        for rendered in platform.objects():
            self.rendered.setdefault(rendered.id, rendered)

    @cached_property
    def definitions(self) -> dict[tuple[str, str], Definition]:
        """The custom kinds that the tree defines, by group and kind."""
        return {(one.group, one.kind): one for one in definitions(self.rendered.values())}

    @cached_property
    def objects(self) -> list[Manifest]:
        """Every object but the CustomResourceDefinitions, of which there are the heads."""
        heads = [definition.head for definition in self.definitions.values()]
        plain = [
            rendered.object()
            for rendered in self.rendered.values()
            if (rendered.id.group, rendered.id.kind) != KIND
        ]
        return [*heads, *plain]

    @cached_property
    def index(self) -> Index:
        """All objects, findable."""
        return Index(self.objects)

    @cached_property
    def mesh_config(self) -> dict[str, Any]:
        """The mesh's configuration, empty when the tree has none."""
        for obj in self.index.of("ConfigMap"):
            text = string(obj, "data", "mesh")
            if identity(obj).name == "istio" and text:
                try:
                    config = yaml.load(text, file="mesh")
                except YamlError:
                    return {}
                return config if isinstance(config, dict) else {}
        return {}

    @cached_property
    def root_namespace(self) -> str:
        """The mesh's root namespace: policies in it hold for the whole mesh."""
        return string(self.mesh_config, "rootNamespace") or "istio-system"

    @cached_property
    def reach(self) -> Reach:
        """Who may reach whom."""
        return Reach(self.index, root_namespace=self.root_namespace)

    @cached_property
    def references(self) -> list[Reference]:
        """Every reference of every object."""
        return [found for obj in self.objects for found in references(obj)]

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """What the objects' schemas say against them."""
        return violations(self)

    @cached_property
    def dangling(self) -> tuple[Reference, ...]:
        """The references that lead nowhere although they must lead somewhere."""
        return tuple(self._dangling())

    def _dangling(self) -> Iterator[Reference]:
        for reference in self.references:
            target = reference.target
            there = self.index.has(target) or target in self.withheld or self.is_brought(target)
            if not (reference.optional or there):
                # a name on the internet, or a class that the cluster brings, says nothing
                if not reference.certain and not self._knows(reference.target):
                    continue
                yield reference

    @cached_property
    def brought(self) -> Brings:
        """What apps bring that are left out because the cluster has them."""
        platform = self.platform
        if not (platform.provided and platform.release):
            return Brings()
        release = load_catalogue(platform.release)
        apps = [release.apps[name].brings for name in platform.provided if name in release.apps]
        return Brings(
            tuple(kind for one in apps for kind in one.kinds),
            tuple(space for one in apps for space in one.namespaces),
        )

    def is_brought(self, wanted: ObjectId) -> bool:
        """Say whether an object may be one of an app that the cluster has already."""
        kind = f"{wanted.kind}.{wanted.group}"
        return wanted.namespace in self.brought.namespaces or kind in self.brought.kinds

    def _knows(self, wanted: ObjectId) -> bool:
        return bool(wanted.namespace) and wanted.namespace in self.index.namespaces

    @cached_property
    def addresses(self) -> list[Reference]:
        """Every Service address that stands in a text."""
        return [
            found
            for obj in self.objects
            if identity(obj).kind != "CustomResourceDefinition"
            for found in from_addresses(obj)
        ]

    def finding(self, spec: Spec, where: ObjectId, path: str, message: str) -> Finding:
        """Return a finding about an object of the tree."""
        rendered = self.rendered[where]
        return Finding(
            code=spec.code,
            severity=spec.severity,
            object=where,
            path=path,
            message=message,
            app=rendered.app,
            file=rendered.file,
        )
