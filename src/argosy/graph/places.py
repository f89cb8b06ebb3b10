"""Write a path through an object the way people name places: list items by their name.

`spec.containers[name=main].image` survives an added container; `spec.containers[1].image` does
not, so findings and waivers would point elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.manifests import Match, format_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from argosy.manifests import Segment

__all__ = ["place"]


def place(obj: Any, steps: Sequence[str | int]) -> str:
    """Return the path as text, with items of lists by their `name` where they have one."""
    segments: list[Segment] = []
    node = obj
    for step in steps:
        node = _down(node, step)
        name = node.get("name") if isinstance(node, dict) else None
        if isinstance(step, int) and isinstance(name, str) and name:
            segments.append(Match((("name", name),)))
        else:
            segments.append(step)
    return format_path(segments)


def _down(node: Any, step: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int) and -len(node) <= step < len(node):
        return node[step]
    return None
