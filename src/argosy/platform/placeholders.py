"""Find `<<__key__>>` in text and in objects, and put values in their place.

Pure. A scalar that is one placeholder and nothing else takes the value with its type, so that
`replicas: <<__replicas__>>` becomes a number; inside longer text, and wherever Kubernetes wants
text (annotations, labels, environment, arguments, ConfigMap data), the value is written out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MARK", "keys_in", "substitute"]

MARK = "<<__"
_PLACEHOLDER = re.compile(r"<<__([A-Za-z0-9](?:[A-Za-z0-9_.-]*?[A-Za-z0-9])?)__>>")
# the parents under which Kubernetes' API takes strings alone
_TEXT_PARENTS = frozenset(
    {
        "annotations",
        "labels",
        "matchLabels",
        "nodeSelector",
        "data",
        "stringData",
        "args",
        "command",
    }
)

Scalar = str | int | float | bool


def keys_in(text: str) -> Iterator[str]:
    """Yield the key of every placeholder in `text`, in order, repeated as they are."""
    for found in _PLACEHOLDER.finditer(text):
        yield found.group(1)


def substitute(value: Any, values: Mapping[str, Scalar]) -> Any:
    """Return a copy of a manifest (or any part of one) with the known placeholders filled in.

    Placeholders without a value stay as they are, for `argosy check` to report.
    """
    return _fill(value, values, text=False)


def _fill(value: Any, values: Mapping[str, Scalar], *, text: bool) -> Any:
    if isinstance(value, dict):
        return {
            _in_text(key, values): _fill(
                item,
                values,
                text=text or key in _TEXT_PARENTS or (key == "value" and "name" in value),
            )
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_fill(item, values, text=text) for item in value]
    if not isinstance(value, str) or MARK not in value:
        return value
    whole = _PLACEHOLDER.fullmatch(value)
    if whole and not text and whole.group(1) in values:
        return values[whole.group(1)]
    return _in_text(value, values)


def _in_text(text: str, values: Mapping[str, Scalar]) -> str:
    if MARK not in text:
        return text

    def fill(found: re.Match[str]) -> str:
        key = found.group(1)
        return _spell(values[key]) if key in values else found.group()

    return _PLACEHOLDER.sub(fill, text)


def _spell(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
