"""Say in a few lines how a CustomResourceDefinition changed.

Pure. Schemas are large and mostly the same: they are told apart by their text, and only the
versions whose schema differs are parsed. What is said of a schema is its fields: which came,
which went, which changed their type, became required, or lost a value that they could have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy import yaml
from argosy.manifests import Change, diff
from argosy.platform.crds import MARKER, SchemaStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest

__all__ = ["DefinitionChange", "SchemaChange", "compare_definitions", "compare_parsed"]

_SHAPE = frozenset({"properties", "items", "additionalProperties", "required", "enum", "type"})


class SchemaChange(NamedTuple):
    """How the schema of one version changed; fields as `spec.template.name`, items as `x[]`.

    Attributes:
        version: the version's name.
        added: fields that came.
        removed: fields that went: the API server drops them from what is stored.
        retyped: fields with another type, with both.
        required: fields that were optional, or came with their parent already there.
        narrowed: fields that lost a value of their enumeration.
        texts: how many other things differ (descriptions, defaults, validation rules).
    """

    version: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    retyped: tuple[str, ...]
    required: tuple[str, ...]
    narrowed: tuple[str, ...]
    texts: int


class DefinitionChange(NamedTuple):
    """How a definition changed: both outlines (without schemas), and each version's schema."""

    old: Manifest
    new: Manifest
    changes: list[Change]
    schemas: tuple[SchemaChange, ...]


def compare_definitions(old: str, new: str, *, file: str = "") -> DefinitionChange:
    """Return what differs between two texts of one definition.

    Raises:
        YamlError: one of them is not YAML.
    """
    store = SchemaStore()
    return _compare_all(_loaded(old, store, file), _loaded(new, store, file), store)


def compare_parsed(old: Manifest, new: Manifest) -> DefinitionChange:
    """Return what differs between two states of one definition, as an API server gives them."""
    return _compare_all(old, new, SchemaStore())


def _compare_all(old: Manifest, new: Manifest, store: SchemaStore) -> DefinitionChange:
    before, old_schemas = _outline(old)
    after, new_schemas = _outline(new)
    schemas = [
        _compare(version, _schema(old_schemas[version], store), _schema(schema, store))
        for version, schema in new_schemas.items()
        if version in old_schemas and old_schemas[version] != schema
    ]
    return DefinitionChange(before, after, diff(before, after), tuple(schemas))


def _loaded(text: str, store: SchemaStore, file: str) -> Manifest:
    """Read a definition; large schemas stay text, with their digest in their place."""
    cut = store.cut(text.encode())
    loaded: Manifest = yaml.load(text if cut is None else cut, file=file)
    return loaded


def _outline(whole: Manifest) -> tuple[Manifest, dict[str, Any]]:
    """Return a definition without its schemas, and the schema of each version."""
    schemas: dict[str, Any] = {}
    spec = whole.get("spec") or {}
    versions = []
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        schemas[str(version.get("name"))] = schema
        versions.append({key: value for key, value in version.items() if key != "schema"})
    return {**whole, "spec": {**spec, "versions": versions}}, schemas


def _schema(schema: Any, store: SchemaStore) -> Any:
    marker = schema.get(MARKER)
    return yaml.load(store.text(marker))["openAPIV3Schema"] if marker else schema


def _compare(version: str, old: Any, new: Any) -> SchemaChange:
    before, after = dict(_fields(old, "")), dict(_fields(new, ""))
    added = _tops(sorted(after.keys() - before.keys()))
    removed = _tops(sorted(before.keys() - after.keys()))
    retyped, required, narrowed, texts = [], [], [], 0
    for path, was in before.items():
        now = after.get(path)
        if now is None:
            continue
        if _type(was) != _type(now):
            retyped.append(f"{path or 'the object'} ({_type(was)} -> {_type(now)})")
        if set(was.get("enum") or ()) - set(now.get("enum") or was.get("enum") or ()):
            narrowed.append(path)
        fresh = set(now.get("required") or ()) - set(was.get("required") or ())
        required += [f"{path}.{name}" if path else name for name in sorted(fresh)]
        one, other = _rest(was), _rest(now)
        texts += sum(one.get(key) != other.get(key) for key in {*one, *other})
    return SchemaChange(
        version, added, removed, tuple(retyped), tuple(required), tuple(narrowed), texts
    )


def _fields(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name, below in (schema.get("properties") or {}).items():
        yield from _fields(below, f"{path}.{name}" if path else name)
    yield from _fields(schema.get("items"), f"{path}[]")
    yield from _fields(schema.get("additionalProperties"), f"{path}{{}}")


def _tops(paths: list[str]) -> tuple[str, ...]:
    """Leave out fields whose parent is in the list as well."""
    kept: list[str] = []
    for path in paths:
        if not (kept and path.startswith((f"{kept[-1]}.", f"{kept[-1]}[", f"{kept[-1]}{{"))):
            kept.append(path)
    return tuple(kept)


def _type(schema: dict[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(schema.get("type", "any"))


def _rest(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _SHAPE}
