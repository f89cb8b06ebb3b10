"""Name the resources of an API server: group, version, plural, kind, scope; and find them.

Pure. `discovery` fills the index; a caller that knows a resource can write it down itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Resource", "ResourceIndex", "split_api_version"]


class Resource(Struct, frozen=True, order=True):
    """One resource of the API: what a URL needs, and what may be done with it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    singular: str = ""
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """Return the manifest's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, sub: str = "") -> str:
        """Return the URL's path of the collection, of one object, or of its subresource."""
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace:
            path += f"/namespaces/{quote(namespace, safe='')}"
        path += f"/{self.plural}"
        if name is not None:
            path += f"/{quote(name, safe=':@')}"
        return f"{path}/{sub}" if sub else path

    def title(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return what a person calls it: `Deployment.apps team/web`."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        place = "/".join(p for p in (namespace if self.namespaced else "", name) if p)
        return f"{kind} {place}" if place else kind


class ResourceIndex:
    """All resources that a server serves; versions of a group in the server's preference."""

    def __init__(self, resources: Iterable[Resource], *, incomplete: Iterable[str] = ()) -> None:
        self._all = tuple(resources)
        self.incomplete = tuple(incomplete)
        self._exact: dict[tuple[str, str, str], Resource] = {}
        self._preferred: dict[tuple[str, str], Resource] = {}
        for r in self._all:
            self._exact.setdefault((r.group, r.version, r.kind), r)
            self._preferred.setdefault((r.group, r.kind), r)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def find(self, group: str, version: str | None, kind: str) -> Resource | None:
        """Return the resource of a kind, None when it is not served.

        Args:
            group: the API group, "" for core.
            version: the version; None takes the one that the server prefers.
            kind: the kind as manifests write it.
        """
        if version is None:
            return self._preferred.get((group, kind))
        return self._exact.get((group, version, kind))

    def find_name(self, name: str) -> list[Resource]:
        """Return what a person may mean by `deploy`, `pods`, `Service` or `jobs.batch`.

        Preferred versions alone, core first; [] when nothing is called so.
        """
        wanted, _, group = name.lower().partition(".")
        found = [
            r
            for r in self._preferred.values()
            if wanted in {r.plural, r.singular, r.kind.lower(), *r.short_names}
            and (not group or r.group == group or r.group.startswith(f"{group}."))
        ]
        return sorted(found, key=lambda r: (bool(r.group), r.group))


def split_api_version(api_version: str) -> tuple[str, str]:
    """Return group and version of a manifest's `apiVersion`."""
    group, _, version = api_version.rpartition("/")
    return group, version
