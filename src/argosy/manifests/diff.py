"""The differences of two objects, field by field, as a person would tell them.

Items of lists that have names are compared by name; lists of scalars as sets whose order is noted;
other lists by the items that stayed equal. Equal objects give no changes, and
`apply_changes(old, diff(old, new)) == new` always holds (without `semantic` and `mask`).
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.manifests.changes import Change, Op
from argosy.manifests.listkeys import find_keys, matches
from argosy.manifests.masking import mask as masked
from argosy.manifests.paths import Match, Segment, format_path
from argosy.manifests.semantics import means_same, without_nulls

if TYPE_CHECKING:
    from argosy.manifests.identity import Manifest

__all__ = ["diff"]

_SCALARS = (str, int, float, bool, type(None))
_MAX_ALIGNED = 2000  # items; aligning is quadratic in the worst case
_encode = msgspec.json.Encoder().encode
Place = tuple[Segment, ...]


def diff(
    old: Manifest, new: Manifest, *, semantic: bool = False, mask: bool = False
) -> list[Change]:
    """Return what turns one object into the other; empty when they are equal.

    Args:
        old: the object before.
        new: the object after.
        semantic: values that the API server takes for the same (`1000m` and `1`, a null field and
            none) are no difference.
        mask: values of Secrets are masked; for everything that is shown.
    """
    if mask:
        old, new = masked(old), masked(new)
    if _identical(old, new):
        return []
    if semantic:
        old, new = without_nulls(old), without_nulls(new)
    kind = new.get("kind") if isinstance(new, dict) else None
    differ = _Differ(kind if isinstance(kind, str) else "", semantic=semantic)
    differ.value(old, new, ())
    return differ.changes


def _identical(old: Any, new: Any) -> bool:
    # == takes True for 1; the encodings tell them apart and cost a third of a walk
    return old is new or (bool(old == new) and _encode(old) == _encode(new))


class _Differ:
    def __init__(self, kind: str, *, semantic: bool) -> None:
        self.changes: list[Change] = []
        self._kind = kind
        self._semantic = semantic

    def value(self, old: Any, new: Any, path: Place) -> None:
        if old is new:
            return
        if isinstance(old, dict) and isinstance(new, dict):
            self._mapping(old, new, path)
        elif isinstance(old, list) and isinstance(new, list):
            self._list(old, new, path)
        elif not _equal(old, new) and not (self._semantic and means_same(old, new, path)):
            self._note(path, "change", old, new)

    def _note(self, path: Place, op: Op, old: Any, new: Any, at: int | None = None) -> None:
        self.changes.append(Change(format_path(path), op, old, new, at))

    def _mapping(self, old: dict[str, Any], new: dict[str, Any], path: Place) -> None:
        for key, value in old.items():
            if key in new:
                other = new[key]
                kind = type(value)
                if kind is not type(other) or kind is dict or kind is list or value != other:
                    self.value(value, other, (*path, key))
            else:
                self._note((*path, key), "remove", value, None)
        for key, value in new.items():
            if key not in old:
                self._note((*path, key), "add", None, value)

    def _list(self, old: list[Any], new: list[Any], path: Place) -> None:
        if old == new and _identical(old, new):
            return
        keys = find_keys(path, self._kind, old, new)
        if keys is not None:
            self._named(old, new, matches(old, keys), matches(new, keys), path)
        elif _is_set(old) and _is_set(new):
            self._named(old, new, _scalars(old), _scalars(new), path)
        else:
            self._aligned(old, new, path)

    def _named(
        self, old: list[Any], new: list[Any], names: list[Match], others: list[Match], path: Place
    ) -> None:
        before = dict(zip(names, old, strict=True))
        after = dict(zip(others, new, strict=True))
        for name, item in before.items():
            if name in after:
                self.value(item, after[name], (*path, name))
            else:
                self._note((*path, name), "remove", item, None)
        for index, (name, item) in enumerate(after.items()):
            if name not in before:
                self._note((*path, name), "add", None, item, index)
        stayed = [name for name in names if name in after]
        if stayed != [name for name in others if name in before]:
            # the additions stand where they belong already; the order of all is what is applied
            now = _inserted(stayed, others, before)
            self._note(path, "order", [format_path([n]) for n in now],
                       [format_path([n]) for n in others])  # fmt: skip

    def _aligned(self, old: list[Any], new: list[Any], path: Place) -> None:
        """Compare by position, after taking out items that stand in one list alone."""
        if len(old) * len(new) > _MAX_ALIGNED**2:
            self._note(path, "change", old, new)
            return
        blocks = SequenceMatcher(
            None, [_encode(item) for item in old], [_encode(item) for item in new], autojunk=False
        ).get_opcodes()
        removed: list[int] = []
        added: list[int] = []
        paired: list[tuple[int, int]] = []
        for _, start, end, other_start, other_end in (b for b in blocks if b[0] != "equal"):
            both = min(end - start, other_end - other_start)
            paired += [(start + i, other_start + i) for i in range(both)]
            removed += range(start + both, end)
            added += range(other_start + both, other_end)
        for index in reversed(removed):
            self._note((*path, index), "remove", old[index], None)
        for index in added:
            self._note((*path, index), "add", None, new[index], index)
        for one, other in paired:
            self.value(old[one], new[other], (*path, other))


def _inserted(stayed: list[Match], others: list[Match], before: dict[Match, Any]) -> list[Match]:
    now = list(stayed)
    for index, name in enumerate(others):
        if name not in before:
            now.insert(index, name)
    return now


def _equal(old: Any, new: Any) -> bool:
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def _is_set(items: list[Any]) -> bool:
    """Tell whether a list holds scalars that name themselves: texts, whole numbers, no doubles."""
    return all(type(item) is str or type(item) is int for item in items) and len(set(items)) == len(
        items
    )


def _scalars(items: list[Any]) -> list[Match]:
    return [Match((("", item),)) for item in items]
