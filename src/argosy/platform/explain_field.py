"""Find the field that a person means in an object, and where it stands in a text.

Paths are taken as `format_path` writes them, and as people type them: keys with dots and slashes
need no quotes where the object shows what is meant (`metadata.labels.app.kubernetes.io/name`).
Refuses a field that is not there and says which one is near.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.errors import UsageError
from argosy.manifests import Match, PathError, find_at, format_path, parse_path
from argosy.manifests.listkeys import find_keys, matches
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from argosy.manifests import Manifest, Segment

__all__ = ["FieldError", "line_of", "locate"]

SHOWN = 12  # fields that are listed
_BRACKETS = re.compile(r"\[(?:\"(?:[^\"\\]|\\.)*\"|[^\]\"]|\"(?:[^\"\\]|\\.)*\")*\]")


class FieldError(UsageError):
    """The object has no such field."""


def locate(obj: Manifest, text: str) -> tuple[Segment, ...]:
    """Return the path of the field that is meant, items of lists by what names them.

    Raises:
        FieldError: there is no such field.
    """
    here: Any = obj
    path: tuple[Segment, ...] = ()
    rest = text
    while rest:
        rest = rest.removeprefix(".")
        if rest.startswith("["):
            segment, rest = _bracket(rest, text)
        elif isinstance(here, dict):
            segment, rest = _key(here, rest, path)
        else:
            segment, rest = _index(rest)
        step = _step(here, segment, path, obj)
        if step is None:
            raise _missing(here, segment, path)
        here = find_at(here, [step])
        path = (*path, step)
    return path


def line_of(text: str, path: tuple[Segment, ...], *, line: int = 1) -> int:
    """Return the line of a field in a document's text; 0 when the field is not there.

    Args:
        text: one document.
        path: the field.
        line: the number of the text's first line in its file.

    Raises:
        YamlError: the text is not YAML.
    """
    marked = yaml.load_marked(text)
    here: Any = marked.value
    plain: list[str | int] = []
    for segment in path:
        if isinstance(segment, Match):
            items = here if isinstance(here, list) else []
            index = next((i for i, item in enumerate(items) if segment.holds(item)), None)
            if index is None:
                return 0
            plain.append(index)
        else:
            plain.append(segment)
        here = find_at(here, [segment], default=_NOTHING)
        if here is _NOTHING:
            return 0
    return line + marked.where(plain, key=True).line - 1


_NOTHING = object()


def _bracket(rest: str, text: str) -> tuple[Segment, str]:
    found = _BRACKETS.match(rest)
    try:
        segments = parse_path(found.group()) if found else ()
    except PathError as error:
        raise FieldError(error.message, hint=error.hint) from None
    if len(segments) != 1 or found is None:
        raise FieldError(
            f"`{text}` is not a path: `{rest}` cannot be read",
            hint='write it as in spec.containers[name=main].image or labels["a/b"]',
        )
    return segments[0], rest[found.end() :]


def _key(here: dict[str, Any], rest: str, path: tuple[Segment, ...]) -> tuple[str, str]:
    """Return the longest key of a mapping that the rest of a path begins with."""
    fits = [key for key in here if rest == key or (rest.startswith(key) and rest[len(key)] in ".[")]
    if fits:
        key = max(fits, key=len)
        return key, rest[len(key) :]
    wrong = re.split(r"[.\[]", rest, maxsplit=1)[0]
    raise _missing(here, wrong, path)


def _index(rest: str) -> tuple[Segment, str]:
    word = re.split(r"[.\[]", rest, maxsplit=1)[0]
    segment: Segment = int(word) if word.isdigit() else word
    return segment, rest[len(word) :]


def _step(here: Any, segment: Segment, path: tuple[Segment, ...], obj: Manifest) -> Segment | None:
    """Return a segment that holds, an index turned into what names the item; None for none."""
    if find_at(here, [segment], default=_NOTHING) is _NOTHING:
        return None
    if isinstance(here, list) and not isinstance(segment, str):
        keys = find_keys(path, str(obj.get("kind", "")), here, here)
        if keys is not None:
            index = segment if isinstance(segment, int) else _position(here, segment)
            return matches(here, keys)[index]
        if isinstance(segment, int) and is_set(here):
            return Match((("", here[segment]),))
    return segment


def is_set(items: list[Any]) -> bool:
    """Say whether the items of a list name themselves: texts and numbers, none twice."""
    plain = all(isinstance(item, str | int) and not isinstance(item, bool) for item in items)
    return plain and len(set(items)) == len(items)


def _position(items: list[Any], segment: Match) -> int:
    return next(index for index, item in enumerate(items) if segment.holds(item))


def _missing(here: Any, segment: Segment, path: tuple[Segment, ...]) -> FieldError:
    there = format_path(path) or "the object"
    shown = format_path([segment])
    if isinstance(here, dict):
        near = did_you_mean(str(segment), here)
        hint = near or f"it has {', '.join(list(here)[:SHOWN]) or 'no fields'}"
    elif isinstance(here, list):
        keys = find_keys(path, "", here, here)
        names = [format_path([m]) for m in matches(here, keys)] if keys else []
        hint = f"its items: {', '.join(names[:SHOWN]) or f'[0] to [{len(here) - 1}]'}"
    else:
        hint = "it is a plain value"
    return FieldError(f"there is no `{shown}` in `{there}`", hint=hint)
