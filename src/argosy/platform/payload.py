"""Turn a rendered object into the bytes that are sent, marked as a member of its ApplySet.

Pure. Definitions stay text: the mark is written into it, since parsing a megabyte of schema to
add one label is what takes the time. Everything else is parsed, loses the fields of others and
goes as JSON.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from argosy.platform.applyset import PART_OF
from argosy.platform.owners import rules_digest, without_foreign_fields

if TYPE_CHECKING:
    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.model import RenderedObject

__all__ = ["desired", "payload", "payload_digest"]

VALUES = ("data", "stringData")
CRD = "CustomResourceDefinition"
_METADATA = re.compile(r"^metadata:[ \t]*\n((?:[ \t].*\n|[ \t]*\n)*)", re.MULTILINE)
_LABELS = re.compile(r"^  labels:[ \t]*\n", re.MULTILINE)
_OTHER_LABELS = re.compile(r"^  labels:", re.MULTILINE)
_NULLS = re.compile(r"^  creationTimestamp: *(?:null|~)?[ \t]*\n", re.MULTILINE)
# a definition's status is written by the server; a rendered one, or an authority, means parsing
_NEEDS_PARSING = re.compile(r"^status:|^ +caBundle:", re.MULTILINE)


def payload_digest(rendered: RenderedObject, part_of: str, *, extra: str = "") -> str:
    """Return the digest of what `payload` sends, without making it.

    Args:
        rendered: the object.
        part_of: the ApplySet that it is a member of.
        extra: what else decides (the digest of values that are not in the tree).
    """
    own = _without_values(rendered) if rendered.id[:2] == ("", "Secret") else rendered.digest
    text = f"{own}\n{part_of}\n{rules_digest()}\n{extra}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_values(rendered: RenderedObject) -> str:
    """Return what a Secret's digest is made of: a digest of values could be tried out."""
    obj = rendered.object()
    keys = {field: sorted(obj.get(field) or ()) for field in VALUES}
    rest = {key: value for key, value in obj.items() if key not in VALUES}
    return msgspec.json.encode([rest, keys], order="deterministic").decode()


def payload(
    rendered: RenderedObject,
    part_of: str,
    *,
    namespaced: bool,
    scaled: frozenset[ObjectId] = frozenset(),
) -> bytes:
    """Return what is sent to the API server for an object.

    Args:
        rendered: the object.
        part_of: the ApplySet that it becomes a member of.
        namespaced: whether its kind lives in namespaces; if not, a namespace is left out.
        scaled: what autoscalers scale.

    Raises:
        YamlError: its text is not YAML.
    """
    if rendered.id.kind == CRD:
        marked = _mark_text(rendered.text, part_of)
        if marked is not None:
            return marked.encode()
    obj = desired(rendered.id, rendered.object(), namespaced=namespaced, scaled=scaled)
    metadata = obj["metadata"]
    labels = {**(metadata.get("labels") or {}), PART_OF: part_of}
    return msgspec.json.encode({**obj, "metadata": {**metadata, "labels": labels}})


def desired(
    id_: ObjectId,
    obj: Manifest,
    *,
    namespaced: bool = True,
    scaled: frozenset[ObjectId] = frozenset(),
) -> Manifest:
    """Return what we want of an object: without others' fields, nor a namespace it cannot have."""
    kept = without_foreign_fields(id_, obj, scaled=scaled).obj
    metadata = kept.get("metadata") or {}
    if not namespaced and "namespace" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**kept, "metadata": metadata}


def _mark_text(text: str, part_of: str) -> str | None:
    """Return the text of a definition with the label in it, None when its form is unusual."""
    found = _METADATA.search(text)
    if found is None or _NEEDS_PARSING.search(text):
        return None
    block = _NULLS.sub("", found.group(1))
    labels = _LABELS.search(block)
    line = f"    {PART_OF}: {part_of}\n"
    if labels:
        block = block[: labels.end()] + line + block[labels.end() :]
    elif _OTHER_LABELS.search(block):
        return None
    else:
        block = f"  labels:\n{line}{block}"
    return f"{text[: found.start(1)]}{block}{text[found.end(1) :]}"
