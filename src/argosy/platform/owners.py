"""Leave out of an object what somebody else writes: the table is `data/owners.yaml`.

Pure. What is left out is neither applied nor compared, so that argosy does not fight with
controllers and reports no drift where there is none.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from argosy import yaml
from argosy.manifests import ObjectId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest

__all__ = ["Rule", "owner_rules", "rules_digest", "scaled_by_others", "without_foreign_fields"]

TABLE = Path(__file__).parent / "data" / "owners.yaml"
# what manifests write where the real value comes later: nothing, and base64 of an empty line
PLACEHOLDERS = (None, "", "Cg==", "\n")


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table; the file's head says what the columns mean."""

    kinds: tuple[str, ...]
    path: str
    manager: str
    reason: str
    when: str = ""
    value: Literal["", "placeholder"] = ""
    scaled: bool = False

    def covers(self, id_: ObjectId) -> bool:
        """Say whether the rule is about objects of this kind."""
        name = f"{id_.kind}.{id_.group}" if id_.group else id_.kind
        return name in self.kinds or "*" in self.kinds


class LeftOut(NamedTuple):
    """An object without the fields of others, and the rules that took something out of it."""

    obj: Manifest
    rules: tuple[Rule, ...]


@cache
def owner_rules() -> tuple[Rule, ...]:
    """Return the table."""
    return tuple(msgspec.convert(yaml.load(TABLE.read_bytes(), file=str(TABLE)), list[Rule]))


@cache
def rules_digest() -> str:
    """Return a digest of the table: what was applied under another one is applied again."""
    return hashlib.sha256(TABLE.read_bytes()).hexdigest()[:16]


def scaled_by_others(objects: Iterable[tuple[ObjectId, Manifest]]) -> frozenset[ObjectId]:
    """Return what the autoscalers among some objects scale."""
    found = set()
    for id_, obj in objects:
        if id_.kind == "HorizontalPodAutoscaler":
            ref = (obj.get("spec") or {}).get("scaleTargetRef") or {}
            group = str(ref.get("apiVersion", "")).rpartition("/")[0]
            name, kind = str(ref.get("name", "")), str(ref.get("kind", ""))
            found.add(ObjectId(group, kind, id_.namespace, name))
    return frozenset(found)


def without_foreign_fields(
    id_: ObjectId, obj: Manifest, *, scaled: frozenset[ObjectId] = frozenset()
) -> LeftOut:
    """Return a copy of an object without what others write; the object itself stays as it is.

    Args:
        id_: which object it is.
        obj: the object, rendered or live.
        scaled: what autoscalers scale, from `scaled_by_others`.
    """
    used = []
    for rule in owner_rules():
        if not rule.covers(id_) or (rule.scaled and id_ not in scaled):
            continue
        if rule.when and not _at(obj, rule.when.split(".")):
            continue
        without = _without(obj, rule.path.split("."), placeholder=rule.value == "placeholder")
        if without is not obj:
            used.append(rule)
            obj = without
    return LeftOut(obj, tuple(used))


def _at(node: Any, path: list[str]) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _without(node: Any, path: list[str], *, placeholder: bool) -> Any:
    """Return `node` without the field, the same object when there is nothing to leave out."""
    if not isinstance(node, dict):
        return node
    step, *rest = path
    name = step.removesuffix("[*]")
    if name not in node:
        return node
    value = node[name]
    if not rest:
        if placeholder and value not in PLACEHOLDERS:
            return node
        return {key: v for key, v in node.items() if key != name}
    if step.endswith("[*]"):
        if not isinstance(value, list):
            return node
        inner: Any = [_without(item, rest, placeholder=placeholder) for item in value]
        changed = any(new is not old for new, old in zip(inner, value, strict=True))
    else:
        inner = _without(value, rest, placeholder=placeholder)
        changed = inner is not value
    return {**node, name: inner} if changed else node
