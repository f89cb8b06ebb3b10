"""A kustomization file seen as a list of what it names: files, folders, charts and remotes.

Only the fields that name something are looked at; what kustomize makes of the rest is its own
business. Refuses two kustomization files in one folder, files that are not YAML mappings, and
fields of the wrong shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from argosy import yaml
from argosy.errors import Location
from argosy.sources.errors import KustomizationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.sources.trees import Tree

__all__ = ["FILE_NAMES", "Kustomization", "Reference", "plugin_references", "read_kustomization"]

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

At = tuple[str | int, ...]
What = Literal["file", "dir", "either", "plugin", "chart"]


class Reference(NamedTuple):
    """What a field names.

    `what` is how kustomize will read it: "file"; "dir" (a kustomization); "either" of them;
    "plugin" (either, and a file that may name files itself); "chart" (a folder taken whole).
    """

    value: str
    what: What
    at: At


class Kustomization:
    """A kustomization file.

    Args:
        file: its path in the tree.
        text: its bytes.
        label: how messages call the tree.

    Raises:
        KustomizationError: it is not a mapping, or a field has the wrong shape.
        argosy.yaml.YamlError: it is not YAML.
    """

    def __init__(self, file: str, text: bytes, *, label: str) -> None:
        self.file = file
        self.dir = file.rpartition("/")[0]
        self.text = text
        self.shown = f"{label}/{file}" if label else file
        data = yaml.load(text, file=self.shown)
        if data is None:
            data = {}
        if not isinstance(data, dict):
            raise KustomizationError("a kustomization has to be a mapping", where=self.shown)
        self.data: dict[str, Any] = data
        self.references = list(self._references())

    def where(self, at: At) -> Location:
        """Return where the value at `at` stands."""
        try:
            return yaml.load_marked(self.text, file=self.shown).where(at)
        except (KeyError, IndexError):
            return Location(self.shown)

    def _references(self) -> Iterator[Reference]:
        for field, what in _LISTS.items():
            for index, value in enumerate(self._list(field)):
                if isinstance(value, str) and not (field in _INLINE and _is_inline(value)):
                    yield Reference(value, what, (field, index))
        for field in ("patches", "patchesJson6902", "replacements"):
            yield from self._paths(field)
        for field in ("configMapGenerator", "secretGenerator"):
            for index, entry in enumerate(self._list(field)):
                yield from _generator(entry, (field, index))
        openapi = self.data.get("openapi")
        if isinstance(openapi, dict) and isinstance(openapi.get("path"), str):
            yield Reference(openapi["path"], "file", ("openapi", "path"))
        yield from self._charts()

    def _list(self, field: str) -> list[Any]:
        value = self.data.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise KustomizationError(f"{field} has to be a list", where=self.where((field,)))
        return value

    def _paths(self, field: str) -> Iterator[Reference]:
        for index, entry in enumerate(self._list(field)):
            if isinstance(entry, dict) and isinstance(entry.get("path"), str) and entry["path"]:
                yield Reference(entry["path"], "file", (field, index, "path"))

    def _charts(self) -> Iterator[Reference]:
        settings = self.data.get("helmGlobals")
        home = settings.get("chartHome") if isinstance(settings, dict) else None
        for index, entry in enumerate(self._list("helmCharts")):
            if isinstance(entry, dict):
                yield from _chart(entry, home or "charts", ("helmCharts", index))


_LISTS: dict[str, What] = {
    "resources": "either",
    "bases": "either",
    "components": "dir",
    "patchesStrategicMerge": "file",
    "configurations": "file",
    "crds": "file",
    "generators": "plugin",
    "transformers": "plugin",
    "validators": "plugin",
}
_INLINE = {"patchesStrategicMerge", "generators", "transformers", "validators"}


def _is_inline(value: str) -> bool:
    """Say whether an entry is YAML itself: kustomize takes what parses as an object as such."""
    return "\n" in value or value.lstrip().startswith("{") or ": " in value


def _generator(entry: Any, at: At) -> Iterator[Reference]:
    if not isinstance(entry, dict):
        return
    for field in ("files", "envs"):
        for index, value in enumerate(entry.get(field) or ()):
            if isinstance(value, str):
                # "key=path" for files; kustomize takes the text behind the only "=".
                path = value.partition("=")[2] if field == "files" and "=" in value else value
                yield Reference(path, "file", (*at, field, index))
    if isinstance(entry.get("env"), str) and entry["env"]:
        yield Reference(entry["env"], "file", (*at, "env"))


def _chart(entry: dict[str, Any], home: str, at: At) -> Iterator[Reference]:
    name = entry.get("name")
    if isinstance(name, str) and name:
        yield Reference(f"{home}/{name}", "chart", (*at, "name"))
    if isinstance(entry.get("valuesFile"), str) and entry["valuesFile"]:
        yield Reference(entry["valuesFile"], "file", (*at, "valuesFile"))
    for index, value in enumerate(entry.get("additionalValuesFiles") or ()):
        if isinstance(value, str):
            yield Reference(value, "file", (*at, "additionalValuesFiles", index))


def plugin_references(text: bytes, *, file: str) -> list[Reference]:
    """Return what a generator's or transformer's configuration file names.

    Kustomize reads these paths from the folder of the kustomization that names the file.
    """
    found: list[Reference] = []
    for index, entry in enumerate(yaml.load_all(text, file=file)):
        if not isinstance(entry, dict):
            continue
        at: At = (index,)
        if isinstance(entry.get("path"), str) and entry["path"]:
            found.append(Reference(entry["path"], "file", (*at, "path")))
        for field in ("paths", "replacements"):
            for number, item in enumerate(entry.get(field) or ()):
                value = item.get("path") if isinstance(item, dict) else item
                if isinstance(value, str) and not _is_inline(value):
                    found.append(Reference(value, "file", (*at, field, number)))
        if entry.get("kind") == "HelmChartInflationGenerator":
            found += _chart(entry, str(entry.get("chartHome") or "charts"), at)
        else:
            found += _generator(entry, at)
    return found


def read_kustomization(tree: Tree, folder: str) -> Kustomization | None:
    """Return the kustomization of a folder, None when it has none.

    Raises:
        KustomizationError: two files stand there, or the file is wrong.
    """
    prefix = f"{folder}/" if folder else ""
    found = [name for name in FILE_NAMES if tree.kind(prefix + name) == "file"]
    if not found:
        return None
    if len(found) > 1:
        raise KustomizationError(
            f"there are two kustomization files, {found[0]} and {found[1]}",
            where=f"{tree.label}/{folder}",
            hint="kustomize takes one; remove the other",
        )
    file = prefix + found[0]
    return Kustomization(file, tree.read(file), label=tree.label)
