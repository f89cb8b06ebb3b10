"""A rendered platform as data: apps, the objects in them, and where each one stands.

Everything behind `render` (check, diff, apply, delete, status, explain) reads these and nothing
else. Objects are parsed when somebody asks for them: large CRDs are most of the bytes and are
mostly passed on as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from argosy import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest, ObjectId

__all__ = ["RenderedApp", "RenderedObject", "RenderedPlatform"]


@dataclass(frozen=True)
class RenderedObject:
    """One object of the rendered tree.

    Attributes:
        id: group, kind, namespace and name.
        file: its path relative to the platform's directory, as people type it.
        text: the YAML text of the object alone.
        digest: sha256 of the text, hexadecimal.
        app: the name of the app that renders it.
    """

    id: ObjectId
    file: str
    text: str = field(repr=False)
    digest: str
    app: str

    @cached_property
    def _parsed(self) -> Any:
        return yaml.load(self.text, file=self.file)

    def object(self) -> Manifest:
        """Return the parsed object, the same one at each call: do not change it.

        Raises:
            YamlError: the text is not YAML.
        """
        parsed: Manifest = self._parsed
        return parsed


@dataclass(frozen=True)
class RenderedApp:
    """One app's part of the rendered tree; `needs` names the apps that must stand before it."""

    name: str
    needs: tuple[str, ...]
    objects: tuple[RenderedObject, ...]


@dataclass(frozen=True)
class RenderedPlatform:
    """The rendered tree of one environment.

    Attributes:
        name: `metadata.name` of platform.yaml.
        env: the environment that was rendered.
        kubernetes: the Kubernetes minor version that it is meant for, such as "1.35".
        apps: in an order in which each one stands after those that it needs.
        release: the Kubeflow release of the catalogue, "" when there is none.
        provided: apps that are left out although others need them: the cluster has them.
    """

    name: str
    env: str
    kubernetes: str
    apps: tuple[RenderedApp, ...]
    release: str = ""
    provided: tuple[str, ...] = ()

    def objects(self) -> Iterator[RenderedObject]:
        """Yield every object of every app, in the apps' order."""
        for app in self.apps:
            yield from app.objects

    def app(self, name: str) -> RenderedApp:
        """Return one app.

        Raises:
            KeyError: there is none of that name.
        """
        for app in self.apps:
            if app.name == name:
                return app
        raise KeyError(name)

    def only(self, names: frozenset[str]) -> RenderedPlatform:
        """Return the platform with the apps named alone (all when `names` is empty)."""
        if not names:
            return self
        kept = tuple(app for app in self.apps if app.name in names)
        return replace(self, apps=kept)
