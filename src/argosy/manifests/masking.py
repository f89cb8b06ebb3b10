"""Decide what nobody may see: the values of Secrets, wherever an object carries them.

A masked value shows eight hex digits, so that a reader sees *that* it changed. They are made with a
salt that is drawn anew in each process: a plain digest of a short password could be looked up in a
table, and an equal digest in two logs would say that two Secrets share their value. So marks can be
compared within one run, between the values of one process, and never across runs.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argosy.manifests.identity import Manifest, ObjectId

__all__ = ["LAST_APPLIED", "MASKED_FIELDS", "is_secret", "mask", "mask_value"]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MASKED_FIELDS = ("data", "stringData")
_SALT = os.urandom(32)  # not a parameter: no caller may choose it, or marks could be looked up


def is_secret(oid: ObjectId) -> bool:
    """Tell whether an object is a core Secret."""
    return oid.kind == "Secret" and oid.group == ""


def mask_value(value: Any) -> str:
    """Return the mark that stands for a secret value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=_SALT, digest_size=4)
    return f"<masked {digest.hexdigest()}>"


def mask(obj: Manifest) -> Manifest:
    """Return an object that may be shown; what needs no masking is shared, not copied.

    The values of a Secret's data and stringData are replaced, and so is a copy of the whole object
    that kubectl left in the last-applied annotation, on any kind.
    """
    if not isinstance(obj, dict):
        return obj
    out = obj
    if obj.get("kind") == "Secret" and obj.get("apiVersion") in {"v1", None, ""}:
        out = dict(obj)
        for field in MASKED_FIELDS:
            if field in out:
                out[field] = _mask_values(out[field])
    metadata = out.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict) and LAST_APPLIED in annotations:
        shown = _mask_last_applied(annotations[LAST_APPLIED], secret=out is not obj)
        if shown is not annotations[LAST_APPLIED]:
            metadata = {**metadata, "annotations": {**annotations, LAST_APPLIED: shown}}
            out = {**out, "metadata": metadata}
    if isinstance(out.get("items"), list) and str(out.get("kind", "")).endswith("List"):
        out = {**out, "items": [mask(item) for item in out["items"]]}
    return out


def _mask_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: mask_value(inner) for key, inner in value.items()}
    return value if value is None else mask_value(value)


def _mask_last_applied(text: Any, *, secret: bool) -> Any:
    try:
        inner = json.loads(text)
    except (TypeError, ValueError):
        return mask_value(text) if secret else text
    if not isinstance(inner, dict):
        return mask_value(text) if secret else text
    if secret:
        inner = {"apiVersion": "v1", **inner, "kind": "Secret"}
    masked = mask(inner)
    return text if masked is inner else json.dumps(masked, separators=(",", ":"))
