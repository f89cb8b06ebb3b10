"""Paths into an object, in the form that people read: `spec.containers[name=main].image`.

A path is a tuple of keys and indexes; a segment of a written path may also be a `Match`, which
picks an item of a list by what it holds. Keys with other characters than letters, digits, `-` and
`_` stand quoted in brackets: `metadata.annotations["a.b/c"]`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.manifests.errors import PathError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Match",
    "Path",
    "Segment",
    "field_of",
    "find_at",
    "format_path",
    "get_at",
    "parse_path",
    "walk",
    "walk_strings",
]

Path = tuple[str | int, ...]
Value = str | int


class Match(NamedTuple):
    """Picks the item of a list whose fields have these values; field "" is a scalar item itself."""

    fields: tuple[tuple[str, Value], ...]

    def holds(self, item: Any) -> bool:
        """Tell whether an item of a list is the one that is meant."""
        for field, wanted in self.fields:
            if field == "":
                if isinstance(item, dict | list) or not _equal(item, wanted):
                    return False
            elif not _equal(field_of(item, field), wanted):
                return False
        return True


Segment = str | int | Match
# what the API fills in, or reads a missing field as
_DEFAULTS = {"protocol": "TCP", "namespace": "", "subresource": ""}
_BARE_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")
_BARE_VALUE = re.compile(r"[A-Za-z0-9_./:@*-]+\Z")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_TOKEN = re.compile(
    r"""\.?(?P<key>[A-Za-z_$][A-Za-z0-9_$-]*)
    |\[(?P<index>-?[0-9]+)\]
    |\[(?P<quoted>"(?:[^"\\]|\\.)*")\]
    |\[(?P<match>(?:[A-Za-z0-9_$.-]*=(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9_./:@*-]+),?)+)\]""",
    re.VERBOSE,
)
_FIELD = re.compile(r'([A-Za-z0-9_$.-]*)=("(?:[^"\\]|\\.)*"|[A-Za-z0-9_./:@*-]+)(?:,|\Z)')


def format_path(path: Sequence[Segment]) -> str:
    """Return a path as people write it; the root is the empty string."""
    parts: list[str] = []
    for segment in path:
        if isinstance(segment, Match):
            inside = ",".join(f"{field}={_written(value)}" for field, value in segment.fields)
            parts.append(f"[{inside}]")
        elif isinstance(segment, int):
            parts.append(f"[{segment}]")
        elif _BARE_KEY.match(segment):
            parts.append(f".{segment}" if parts else segment)
        else:
            parts.append(f"[{json.dumps(segment)}]")
    return "".join(parts)


def parse_path(text: str) -> tuple[Segment, ...]:
    """Return the segments of a written path.

    Raises:
        PathError: when the text is not a path.
    """
    segments: list[Segment] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        dotted = text[at] == "."
        if token is None or (token["key"] and dotted != bool(segments)):
            raise PathError(
                f"`{text}` is not a path: `{text[at:]}` cannot be read",
                hint='write it as in spec.containers[name=main].image or labels["a/b"]',
            )
        segments.append(_segment(token))
        at = token.end()
    return tuple(segments)


def get_at(obj: Any, segments: Sequence[Segment]) -> Any:
    """Return the value at a path.

    Raises:
        PathError: when there is none.
    """
    for position, segment in enumerate(segments):
        found = _step(obj, segment)
        if found is _NOTHING:
            there, missing = format_path(segments[:position]), format_path([segment])
            raise PathError(f"there is no `{missing}` in `{there or 'the object'}`")
        obj = found
    return obj


def find_at(obj: Any, segments: Sequence[Segment], default: Any = None) -> Any:
    """Return the value at a path, or the default when there is none."""
    for segment in segments:
        obj = _step(obj, segment)
        if obj is _NOTHING:
            return default
    return obj


def walk(obj: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each leaf: scalars, empty mappings and empty lists."""
    return _walk(obj, ())


def walk_strings(obj: Any) -> Iterator[tuple[Path, str]]:
    """Yield the path and text of each value that is a string."""
    for path, value in _walk(obj, ()):
        if isinstance(value, str):
            yield path, value


def field_of(item: Any, field: str) -> Any:
    """Return what a field that names items holds; `metadata.name` leads one level down."""
    first, _, rest = field.partition(".")
    value = item.get(first, _DEFAULTS.get(first)) if isinstance(item, dict) else None
    return field_of(value, rest) if rest else value


class _Nothing:
    """What a path that leads nowhere finds; None is a value."""


_NOTHING = _Nothing()


def _walk(obj: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    stack = [(path, obj)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict) and value:
            stack.extend([((*path, key), value[key]) for key in reversed(value)])
        elif isinstance(value, list) and value:
            stack.extend([((*path, i), value[i]) for i in range(len(value) - 1, -1, -1)])
        else:
            yield path, value


def _step(obj: Any, segment: Segment) -> Any:
    if isinstance(segment, Match):
        items = obj if isinstance(obj, list) else []
        return next((item for item in items if segment.holds(item)), _NOTHING)
    if isinstance(segment, str):
        return obj.get(segment, _NOTHING) if isinstance(obj, dict) else _NOTHING
    if isinstance(obj, list) and -len(obj) <= segment < len(obj):
        return obj[segment]
    return _NOTHING


def _segment(token: re.Match[str]) -> Segment:
    if token["key"] is not None:
        return token["key"]
    if token["index"] is not None:
        return int(token["index"])
    if token["quoted"] is not None:
        return str(json.loads(token["quoted"]))
    return Match(tuple((field, _read(raw)) for field, raw in _FIELD.findall(token["match"])))


def _written(value: Value) -> str:
    if isinstance(value, int):
        return str(value)
    if _BARE_VALUE.match(value) and not _INTEGER.match(value):
        return value
    return json.dumps(value)


def _read(raw: str) -> Value:
    if raw.startswith('"'):
        return str(json.loads(raw))
    return int(raw) if _INTEGER.match(raw) else raw


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
