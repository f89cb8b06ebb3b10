"""Decide which object a manifest is: group, kind, namespace and name.

The version is left out on purpose: the same object is served under several. An object without kind
or name has no identity and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.manifests.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.errors import Location

__all__ = ["Manifest", "ObjectId", "flatten", "identity"]

Manifest = dict[str, Any]


class ObjectId(NamedTuple):
    """What an object is called in any cluster; group and namespace are "" when there is none."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return `Deployment.apps kubeflow/ml-pipeline`, `Service kubeflow/x`, `Namespace x`."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{kind} {name}"


def identity(obj: Manifest, *, where: Location | None = None) -> ObjectId:
    """Return the identity of an object.

    Args:
        obj: the object.
        where: its place, for errors.

    Raises:
        ManifestError: when apiVersion, kind or name is missing or is no text.
    """
    if not isinstance(obj, dict):
        raise ManifestError(f"a Kubernetes object must be a mapping, not {_type(obj)}", where=where)
    api_version = _text(obj, "apiVersion", where)
    kind = _text(obj, "kind", where)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ManifestError(f"the {kind} has no metadata", where=where)
    name = metadata.get("name") or metadata.get("generateName")
    if not isinstance(name, str):
        what = "no name" if name is None else f"a name that is {_type(name)}, not a text"
        raise ManifestError(f"the {kind} has {what}", where=where)
    namespace = metadata.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        raise ManifestError(
            f"the {kind} `{name}` has a namespace that is {_type(namespace)}, not a text",
            where=where,
        )
    group = api_version.rpartition("/")[0]
    return ObjectId(group, kind, namespace or "", name)


def flatten(objects: Iterable[Any]) -> Iterator[Manifest]:
    """Yield objects, with the items of a List in its place and None left out."""
    for obj in objects:
        if obj is None:
            continue
        if _is_list(obj):
            yield from flatten(obj["items"] or [])
        else:
            yield obj


def _is_list(obj: Any) -> bool:
    if not isinstance(obj, dict) or not isinstance(obj.get("items", ()), list | None):
        return False
    kind = obj.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and "items" in obj


def _text(obj: Manifest, field: str, where: Location | None) -> str:
    value = obj.get(field)
    if isinstance(value, str) and value:
        return value
    what = f"no {field}" if not value else f"an {field} that is {_type(value)}, not a text"
    raise ManifestError(f"the object has {what}", where=where)


def _type(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}
    return "empty" if value is None else names.get(type(value), "a number")
