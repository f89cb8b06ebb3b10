"""Turn msgspec's complaints about platform.yaml into one sentence with file, line and a hint.

Pure: takes the message, the merged values and where they were written; decides nothing about
what is valid.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy.errors import UsageError
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Struct

    from argosy.errors import Location

__all__ = ["ConfigError", "Steps", "explain_invalid", "nearest"]

Steps = tuple[str | int, ...]


class ConfigError(UsageError):
    """platform.yaml, or an environment's file, does not say what it must."""


def nearest(origins: Mapping[Steps, Location], steps: Steps) -> Location:
    """Return where the value at `steps`, or else its nearest written parent, stands."""
    while steps and steps not in origins:
        steps = steps[:-1]
    return origins[steps]


def explain_invalid(
    complaint: str,
    merged: Any,
    origins: Mapping[Steps, Location],
    structs: Mapping[Steps, type[Struct]],
) -> ConfigError:
    r"""Return the error that a person should see.

    Args:
        complaint: the text of msgspec's ValidationError, with or without ` - at \`$.path\``.
        merged: the values that did not convert.
        origins: where each value was written.
        structs: the type at each path, `*` standing for any key or index; for suggestions.
    """
    message, _, path = complaint.rpartition(" - at ")
    if not message:
        message, path = complaint, "`$`"
    steps = _steps(path.strip("`"))
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message)
    if unknown:
        return _unknown_key(unknown.group(1), steps, merged, origins, structs)
    steps = _concrete(merged, steps, message)
    where = nearest(origins, steps)
    spelled = ".".join(str(step) for step in steps)
    missing = re.fullmatch(r"Object missing required field `(.*)`", message)
    if missing:
        below = f" in {spelled}" if spelled else ""
        return ConfigError(f"{missing.group(1)!r} is missing{below}", where=where)
    hint = None
    if "Expected `str" in message and ("got `float`" in message or "got `int`" in message):
        hint = "put it in quotes, or YAML reads it as a number"
    text = _in_words(message)
    return ConfigError(f"{spelled}: {text}" if spelled else text, where=where, hint=hint)


def _unknown_key(
    key: str,
    steps: Steps,
    merged: Any,
    origins: Mapping[Steps, Location],
    structs: Mapping[Steps, type[Struct]],
) -> ConfigError:
    holders = _holders(merged, steps)
    parent = next((path for path, value in holders if key in value), steps)
    known = next(
        (struct.__struct_fields__ for at, struct in structs.items() if _matches(at, parent)), ()
    )
    return ConfigError(
        f"unknown key {key!r}",
        where=nearest(origins, (*parent, key)),
        hint=did_you_mean(key, known) or f"known here: {', '.join(known)}",
    )


def _steps(path: str) -> Steps:
    """Read msgspec's path: `$.apps.add[0].name`, `$.sources[...].git` (any key)."""
    found = re.findall(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]", path)
    return tuple(name or (index if index == "..." else int(index)) for name, index in found)


def _matches(pattern: Steps, steps: Steps) -> bool:
    return len(pattern) == len(steps) and all(
        expected in ("*", step) for expected, step in zip(pattern, steps, strict=True)
    )


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping of keys",
    "null": "nothing",
}


def _in_words(complaint: str) -> str:
    """Say msgspec's names of types, which stand in back quotes, as a person would."""

    def spell(found: re.Match[str]) -> str:
        kinds = [kind for kind in found.group(1).split(" | ") if kind != "null"] or ["null"]
        return " or ".join(_WORDS.get(kind, kind) for kind in kinds)

    return re.sub(r"`([^`]*)`", spell, complaint[:1].lower() + complaint[1:])


_TYPES = {
    "array": list,
    "object": dict,
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "null": type(None),
}


def _concrete(merged: Any, steps: Steps, message: str) -> Steps:
    """Return the path that `...` (any key or index) stands for in this complaint."""
    if "..." not in steps:
        return steps
    reached = _reached(merged, steps)
    got = re.search(r"got `(\w+)`", message)
    wrong = _TYPES.get(got.group(1)) if got else None
    fitting = [path for path, value in reached if wrong is None or type(value) is wrong]
    return fitting[0] if fitting else steps[: steps.index("...")]


def _holders(merged: Any, steps: Steps) -> list[tuple[Steps, dict[str, Any]]]:
    """Return the mappings that `steps` may lead to."""
    return [(path, value) for path, value in _reached(merged, steps) if isinstance(value, dict)]


def _reached(merged: Any, steps: Steps) -> list[tuple[Steps, Any]]:
    """Return all that `steps` may lead to; `...` leads to each item."""
    reached: list[tuple[Steps, Any]] = [((), merged)]
    for step in steps:
        below: list[tuple[Steps, Any]] = []
        for path, value in reached:
            items: list[tuple[str | int, Any]] = []
            if isinstance(value, dict):
                items = list(value.items())
            elif isinstance(value, list):
                items = list(enumerate(value))
            below += [((*path, name), item) for name, item in items if step in ("...", name)]
        reached = below
    return reached
