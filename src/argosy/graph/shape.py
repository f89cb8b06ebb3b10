"""Read manifests that may hold anything: a value of the wrong type reads as nothing.

People's YAML says `spec: yes` at times. Saying so is schema validation's business; here such a
value must neither stop the reading of the rest nor be taken for what it is not.
"""

from __future__ import annotations

from typing import Any

__all__ = ["dig", "entries", "mapping", "string", "strings"]


def dig(node: Any, *keys: str) -> Any:
    """Return the value below a chain of keys, None when the chain breaks."""
    for key in keys:
        if not isinstance(node, dict):
            return None
        node = node.get(key)
    return node


def mapping(node: Any, *keys: str) -> dict[str, Any]:
    """Return the mapping below a chain of keys, an empty one when there is none."""
    found = dig(node, *keys)
    return found if isinstance(found, dict) else {}


def entries(node: Any, *keys: str) -> list[dict[str, Any]]:
    """Return the list of mappings below a chain of keys; what is no mapping becomes empty.

    Positions are kept, so that they can stand in paths.
    """
    found = dig(node, *keys)
    if not isinstance(found, list):
        return []
    return [item if isinstance(item, dict) else {} for item in found]


def string(node: Any, *keys: str) -> str:
    """Return the text below a chain of keys, "" when there is none."""
    found = dig(node, *keys)
    return found if isinstance(found, str) else ""


def strings(node: Any, *keys: str) -> list[str]:
    """Return the list of texts below a chain of keys; what is no text is left out."""
    found = dig(node, *keys)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
