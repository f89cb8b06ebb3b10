"""What a diff says: one change to one field, and how a list of them turns old into new."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from argosy.manifests.errors import PathError
from argosy.manifests.paths import Match, Segment, parse_path

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Change", "Op", "apply_changes"]

Op = Literal["add", "remove", "change", "order"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; made of JSON's types.

    Attributes:
        path: the field, as `format_path` writes it; "" is the whole object.
        op: "add" and "remove" for a field or an item, "change" for a value, "order" for a list
            whose items stayed but stand in another order (`old` and `new` are then their names).
        old: the value before; None for "add".
        new: the value after; None for "remove".
        at: for an item that was added, its index in the new list.
    """

    path: str
    op: Op
    old: Any = None
    new: Any = None
    at: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the change for JSON output: no `old` for "add", no `new` for "remove"."""
        out: dict[str, Any] = {"path": self.path, "op": self.op}
        if self.op != "add":
            out["old"] = self.old
        if self.op != "remove":
            out["new"] = self.new
        if self.at is not None:
            out["at"] = self.at
        return out


def apply_changes(old: Any, changes: Iterable[Change]) -> Any:
    """Return a copy of `old` with the changes made in their order.

    Raises:
        PathError: when a change names a place that is not there.
    """
    root = [copy.deepcopy(old)]
    for change in changes:
        segments = (0, *parse_path(change.path))
        parent: Any = root
        for segment in segments[:-1]:
            parent = parent[_key(parent, segment, change)]
        _make(parent, segments[-1], change)
    return root[0]


def _make(parent: Any, last: Segment, change: Change) -> None:
    new = copy.deepcopy(change.new)
    if change.op == "order":
        _reorder(parent[_key(parent, last, change)], change)
    elif change.op == "remove":
        del parent[_key(parent, last, change)]
    elif change.op == "change":
        parent[_key(parent, last, change)] = new
    elif isinstance(parent, list):
        parent.insert(len(parent) if change.at is None else change.at, new)
    else:
        parent[last] = new


def _reorder(items: list[Any], change: Change) -> None:
    wanted = [segment for text in change.new for segment in parse_path(text)]
    indexes = [_key(items, segment, change) for segment in wanted]
    items[:] = [items[index] for index in indexes]


def _key(parent: Any, segment: Segment, change: Change) -> Any:
    if isinstance(segment, Match):
        for index, item in enumerate(parent if isinstance(parent, list) else ()):
            if segment.holds(item):
                return index
    elif isinstance(segment, str):
        if isinstance(parent, dict) and segment in parent:
            return segment
    elif isinstance(parent, list) and 0 <= segment < len(parent):
        return segment
    raise PathError(f"`{change.path}` is not there, so it cannot be changed")
