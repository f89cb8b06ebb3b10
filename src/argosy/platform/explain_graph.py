"""Find where an object was written first, and the kustomizations that it passes on its way out.

Reads the app's locked files, builds nothing. A kustomization may be reached on several ways; the
way that gives the object its name and namespace is the one. An object that none of the files
explains (made by a plugin or by a chart inside a kustomization) has no origin here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.errors import UsageError
from argosy.manifests import ObjectId, flatten, identity, split
from argosy.platform.definitions import outline
from argosy.sources.kustomization import Kustomization, read_kustomization
from argosy.sources.lock import start_of
from argosy.sources.paths import join
from argosy.sources.remote import is_remote, parse_remote, remote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from argosy.manifests import Manifest
    from argosy.sources.kustomization import Reference
    from argosy.sources.trees import Tree

__all__ = ["HASH", "Graph", "Level", "Origin", "names_on_the_way", "without_schemas"]

HASH = re.compile(r"-[2456789bcdfghkmt]{10}\Z")  # what kustomize puts behind a generator's name
LINK_HOPS = 40  # what Linux follows before it says ELOOP
CRD = "CustomResourceDefinition"
# kinds whose names kustomize's prefixes and suffixes leave alone
UNPREFIXED = frozenset({"CustomResourceDefinition", "APIService", "Namespace"})
GENERATORS = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}


@dataclass(frozen=True)
class Level:
    """One kustomization on the way."""

    source: str
    file: Kustomization

    @property
    def dir(self) -> str:
        """The kustomization's folder in its source."""
        return self.file.dir

    @property
    def data(self) -> dict[str, Any]:
        """What stands in the file."""
        return self.file.data

    @property
    def is_component(self) -> bool:
        """Say whether it is laid over what its parent has gathered."""
        return self.data.get("kind") == "Component"


@dataclass(frozen=True)
class Origin:
    """Where an object was written first.

    Attributes:
        id: what it is called there; a generator's object has no namespace yet.
        source: the source's name in the lock.
        file: the file in it.
        line: the object's first line.
        text: the document's text, "" for a generator and for an item of a List.
        item: the object, when it is an item of a List.
        at: for a generator, its place in the kustomization.
        chain: the kustomizations on the way, the innermost first; empty for plain YAML.
    """

    id: ObjectId
    source: str
    file: str
    line: int
    text: str = field(default="", repr=False)
    item: Manifest | None = field(default=None, repr=False)
    at: tuple[str | int, ...] = ()
    chain: tuple[Level, ...] = ()

    def object(self) -> Manifest | None:
        """Return the object as it is written there, a definition without its schemas.

        Returns None for a generator.
        """
        if self.text and self.id.kind == CRD:
            return without_schemas(outline(self.text, file=self.file))
        if self.text:
            parsed: Manifest = yaml.load(self.text, file=self.file, line=self.line)
            return parsed
        return self.item


def without_schemas(obj: Manifest) -> Manifest:
    """Return a definition without the schemas of its versions; any other object as it is."""
    spec = obj.get("spec")
    if obj.get("kind") != CRD or not isinstance(spec, dict):
        return obj
    versions = [
        {key: value for key, value in version.items() if key != "schema"}
        for version in spec.get("versions") or ()
    ]
    return {**obj, "spec": {**spec, "versions": versions}}


class Graph:
    """The kustomizations of an app and of what it reaches.

    Args:
        tree: returns a source's files by its name.
    """

    def __init__(self, tree: Callable[[str], Tree]) -> None:
        self._tree = tree
        self._levels: dict[tuple[str, str], Level | None] = {}

    def read(self, source: str, path: str) -> bytes:
        """Return a file's bytes."""
        return self._tree(source).read(self._real(source, path))

    def level(self, source: str, folder: str) -> Level | None:
        """Return the kustomization in a folder; None when there is none."""
        folder = self._real(source, folder)
        key = (source, folder)
        if key not in self._levels:
            tree = self._tree(source)
            found = read_kustomization(tree, folder) if tree.kind(folder) == "dir" else None
            self._levels[key] = Level(source, found) if found else None
        return self._levels[key]

    def levels(self) -> list[Level]:
        """Return every kustomization that was looked at."""
        return [level for level in self._levels.values() if level is not None]

    def components(self, level: Level) -> Iterator[Level]:
        """Yield the components that a kustomization names, in their order."""
        for reference in level.file.references:
            if reference.at[0] == "components":
                found = self.level(*self.target(level, reference))
                if found is not None:
                    yield found

    def target(self, level: Level, reference: Reference) -> tuple[str, str]:
        """Return source and path of what a kustomization names."""
        if is_remote(reference.value):
            met = parse_remote(reference.value, where=level.file.where(reference.at))
            return remote_name(met), start_of(met)
        return level.source, join(level.dir, reference.value)

    def origins(
        self, source: str, path: str, wanted: ObjectId, others: Iterable[ObjectId] = ()
    ) -> list[Origin]:
        """Return where an object may come from, the likeliest first.

        Args:
            source: the app's source.
            path: the app's place in it.
            wanted: the object as rendered.
            others: the other objects of the app: an object that a patch has renamed is the one
                that is left when these have theirs.

        Raises:
            UsageError: a file cannot be read.
        """
        top = self.level(source, path)
        found: list[Origin] = []
        if top is None:
            files = [path] if self._tree(source).kind(path) == "file" else self._plain(source, path)
            for file in files:
                found += self._documents(source, file, wanted, ())
        else:
            found += self._below(top, wanted, (), frozenset())
        named = [one for one in found if _fits(one, wanted)]
        if not named:
            rivals = [id_ for id_ in others if id_[:2] == wanted[:2] and id_ != wanted]
            named = [one for one in found if not any(_fits(one, rival) for rival in rivals)]
        return sorted(named, key=lambda one: not _same_namespace(one, wanted))

    def _plain(self, source: str, folder: str) -> list[str]:
        names = self._tree(source).list(folder)
        return [
            f"{folder}/{name}" if folder else name
            for name in names
            if name.endswith((".yaml", ".yml", ".json"))
        ]

    def _below(
        self, level: Level, wanted: ObjectId, above: tuple[Level, ...], seen: frozenset[str]
    ) -> Iterator[Origin]:
        if level.file.shown in seen:
            return
        seen |= {level.file.shown}
        chain = (level, *above)
        for reference in level.file.references:
            if reference.at[0] not in {"resources", "bases", "components"}:
                continue
            source, path = self.target(level, reference)
            inner = self.level(source, path)
            if inner is not None:
                yield from self._below(inner, wanted, chain, seen)
            elif self._tree(source).kind(self._real(source, path)) == "file":
                yield from self._documents(source, path, wanted, chain)
        yield from self._generated(level, wanted, chain)

    def _documents(
        self, source: str, path: str, wanted: ObjectId, chain: tuple[Level, ...]
    ) -> Iterator[Origin]:
        data = self.read(source, path)
        if wanted.kind.encode() not in data:
            return
        for document in split(data.decode(errors="replace"), file=path):
            if wanted.kind not in document.text:
                continue
            try:
                if document.id[:2] == wanted[:2]:
                    yield Origin(
                        document.id, source, path, document.line, document.text, chain=chain
                    )
                elif document.id.kind.endswith("List"):
                    for item in flatten([document.object()]):
                        own = identity(item)
                        if own[:2] == wanted[:2]:
                            yield Origin(own, source, path, document.line, item=item, chain=chain)
            except UsageError:
                continue  # a patch or a values file that is listed; kustomize refuses it, not we

    def _generated(
        self, level: Level, wanted: ObjectId, chain: tuple[Level, ...]
    ) -> Iterator[Origin]:
        name = GENERATORS.get(wanted.kind)
        if name is None or wanted.group:
            return
        for index, entry in enumerate(level.data.get(name) or ()):
            if isinstance(entry, dict) and entry.get("behavior") in {None, "create"}:
                own = ObjectId("", wanted.kind, "", str(entry.get("name", "")))
                at = (name, index)
                line = level.file.where(at).line
                yield Origin(own, level.source, level.file.file, line, at=at, chain=chain)

    def _real(self, source: str, path: str) -> str:
        """Follow a link; the closure has refused what leads out of the tree."""
        tree = self._tree(source)
        parts: list[str] = []
        for part in path.split("/"):
            here = "/".join([*parts, part])
            for _ in range(LINK_HOPS):
                if tree.kind(here) != "link":
                    break
                here = join("/".join(here.split("/")[:-1]), tree.target(here))
            parts = here.split("/")
        return "/".join(parts)


def names_on_the_way(name: str, kind: str, chain: Iterable[Level]) -> list[str]:
    """Return the name that an object has behind each kustomization, hashes left out."""
    names = []
    for level in chain:
        if kind in UNPREFIXED:
            names.append(name)
            continue
        name = f"{level.data.get('namePrefix') or ''}{name}{level.data.get('nameSuffix') or ''}"
        names.append(name)
    return names


def _fits(origin: Origin, wanted: ObjectId) -> bool:
    """Say whether the way gives the object its name."""
    name = origin.id.name
    last = [name, *names_on_the_way(name, wanted.kind, origin.chain)][-1]
    if last == wanted.name:
        return True
    return bool(origin.at) and HASH.sub("", wanted.name) == last


def _same_namespace(origin: Origin, wanted: ObjectId) -> bool:
    namespace = origin.id.namespace
    for level in origin.chain:
        namespace = str(level.data.get("namespace") or namespace)
    return not wanted.namespace or namespace == wanted.namespace
