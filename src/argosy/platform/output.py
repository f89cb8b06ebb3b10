"""Turn what an engine printed into the files of an app: one object a file.

Pure. Objects keep the engine's text unless something in them has to change: a placeholder, a
missing namespace, or (Helm and plain YAML) a layout of their own. CustomResourceDefinitions are
never parsed. Secrets with data are handed back apart, since they do not enter the tree. Refuses
an object that comes twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from argosy import yaml
from argosy.errors import UsageError
from argosy.manifests import ManifestError, ObjectId, flatten, identity, is_secret, split
from argosy.platform.hooks import HOOK_MARK, translate_hooks
from argosy.platform.placeholders import MARK, keys_in, substitute
from argosy.platform.tree import file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from argosy.manifests import Document, Manifest

__all__ = ["AppOutput", "OutputError", "identity_of", "split_output", "value_digests"]

CRD = "CustomResourceDefinition"


class OutputError(UsageError):
    """What an app's build gave cannot be a part of the platform."""


@dataclass(frozen=True)
class AppOutput:
    """The objects of one app.

    Attributes:
        files: file name to text.
        ids: file name to identity.
        secrets: Secrets with data, which do not enter the tree.
        keys: placeholders that the output used or still holds.
        left_out: Helm hooks that have no place in a rendered tree.
    """

    files: dict[str, str] = field(default_factory=dict)
    ids: dict[str, ObjectId] = field(default_factory=dict)
    secrets: list[Manifest] = field(default_factory=list)
    keys: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()


def split_output(
    text: str,
    *,
    app: str,
    values: Mapping[str, str | int | float | bool],
    namespace: str = "",
    is_namespaced: Callable[[ObjectId], bool] | None = None,
    tidy: bool = False,
    hooks: bool = False,
    keys: frozenset[str] = frozenset(),
) -> AppOutput:
    """Return the objects in an engine's output.

    Args:
        text: YAML documents.
        app: the app's name, for messages.
        values: what stands for placeholders.
        namespace: for namespaced objects that name none; needs `is_namespaced`.
        is_namespaced: says whether objects of a kind live in a namespace.
        tidy: print every object anew, for engines that keep their sources' layout.
        hooks: turn Helm's hooks into Argo CD's.
        keys: placeholders that were filled in before the engine ran.

    Raises:
        OutputError: an object comes twice.
        UsageError: a document is no object.
    """
    output = AppOutput()
    used = keys.union(keys_in(text))
    left_out: list[str] = []
    for document in split(text, file=f"the output of {app}"):
        if hooks and HOOK_MARK in document.text:
            hooked = translate_hooks(document.object())
            if hooked is None:
                left_out.append(str(document.id))
                continue
            document = split(yaml.dump(hooked))[0]  # noqa: PLW2901 (the same document, translated)
        for id_, body, parsed in _objects(document, values, namespace, is_namespaced, tidy=tidy):
            name = file_name(id_)
            if name in output.files or any(identity(s) == id_ for s in output.secrets):
                raise OutputError(f"app {app} renders {id_} twice")
            if is_secret(id_) and (parsed.get("data") or parsed.get("stringData")):
                output.secrets.append(parsed)
            else:
                output.files[name] = body
                output.ids[name] = id_
    return AppOutput(
        dict(sorted(output.files.items())), output.ids, output.secrets, used, tuple(left_out)
    )


def value_digests(
    keys: frozenset[str], values: Mapping[str, str | int | float | bool]
) -> dict[str, str]:
    """Return a digest of each key's value (and type), "" for a key without a value."""
    return {
        key: hashlib.sha256(msgspec.json.encode(values[key])).hexdigest() if key in values else ""
        for key in sorted(keys)
    }


def _objects(
    document: Document,
    values: Mapping[str, str | int | float | bool],
    namespace: str,
    is_namespaced: Callable[[ObjectId], bool] | None,
    *,
    tidy: bool,
) -> list[tuple[ObjectId, str, Manifest]]:
    """Return identity, text and (for Secrets alone, else empty) content of a document's objects."""
    id_ = identity_of(document)
    filled = MARK in document.text
    tidy = tidy or "\r" in document.text or document.text.lstrip().startswith("{")
    homeless = bool(namespace) and is_namespaced is not None and not (id_ and id_.namespace)
    if id_ is not None and not id_.kind.endswith("List"):
        keeps = id_.kind == CRD and "\r" not in document.text
        if not filled and (keeps or not (homeless or tidy or is_secret(id_))):
            text = document.text if document.text.endswith("\n") else f"{document.text}\n"
            return [(id_, text, {})]
    found = []
    for obj in flatten([document.object()]):
        new = substitute(obj, values) if filled else obj
        own = identity(new, where=document.where)
        if homeless and not own.namespace and is_namespaced and is_namespaced(own):
            new = {**new, "metadata": {**new["metadata"], "namespace": namespace}}
            own = identity(new)
        kept = document.text if new is obj and not tidy and own == id_ else yaml.dump(_first(new))
        found.append((own, kept if kept.endswith("\n") else f"{kept}\n", new))
    return found


def identity_of(document: Document) -> ObjectId | None:
    """Return a document's identity; None for a List, whose items are the objects.

    Raises:
        ManifestError: the document is no object.
        YamlError: it must be parsed and is not YAML.
    """
    try:
        return document.id
    except ManifestError:
        obj = document.object()
        if str(obj.get("kind", "")).endswith("List") and isinstance(obj.get("items"), list):
            return None
        raise


def _first(obj: Manifest) -> Manifest:
    """Return the object with apiVersion, kind and metadata in front."""
    front: Manifest = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
    return {**front, **{key: value for key, value in obj.items() if key not in front}}
