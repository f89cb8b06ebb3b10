"""Print a diff for people: grouped by app, one line a field, colour only where it is asked for.

Pure. What `--output json` prints is here as well, so that both say the same: the shape is
`docs/diff.md`'s and changes only by addition.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Change, ObjectId
    from argosy.platform.diff import AppDiff, ObjectDiff, PlatformDiff
    from argosy.platform.diff_crds import SchemaChange
    from argosy.platform.hazards import Hazard

__all__ = ["FORMAT", "lines", "to_dict"]

FORMAT = 1  # of the JSON; raised when a field goes or changes its meaning
WIDTH = 100  # characters of a value on one line
SCREEN = 40  # lines behind which what needs care is listed once more at the end
TEXT_LINES = 24  # lines shown of a text that changed
NAMED = 6  # schema fields named in one line
SIGNS = {"add": "+", "remove": "-", "change": "~", "move": ">"}
COLOURS = {"+": "32", "-": "31", "~": "33", ">": "36", "!": "1;31"}


def lines(found: PlatformDiff, *, colour: bool = False) -> Iterator[str]:
    """Yield the lines that a person reads.

    Args:
        found: the diff.
        colour: mark additions, removals and risks with terminal colours.
    """
    for line in _plain(found):
        sign = line.lstrip()[:1]
        if colour and line and not line.startswith(" "):
            yield f"\033[1m{line}\033[0m"
        elif colour and sign in COLOURS and line.lstrip()[1:2] == " ":
            yield f"\033[{COLOURS[sign]}m{line}\033[0m"
        else:
            yield line


def _plain(found: PlatformDiff) -> Iterator[str]:
    count = 0
    for note in found.notes:
        yield f"! note: {note}"
    for name, was, now in found.settings:
        yield f"~ {name}: {_value(was)} -> {_value(now)}"
    for app in found.apps:
        for line in _app(app):
            count += 1
            yield line
    risky = [one for one in found.objects() if one.risks]
    if risky and count > SCREEN:
        yield "Needs care"
        for one in risky:
            for risk in one.risks:
                yield f"  ! {one.id}: {risk.message} [{risk.code}]"
    yield summary(found)


def _app(app: AppDiff) -> Iterator[str]:
    yield _title(app)
    alike: dict[tuple[str, ...], list[ObjectDiff]] = {}
    for one in app.objects:
        body = tuple(_body(one))
        # what has nothing below it, or something of its own to say, stands alone
        key = body if one.op == "change" and not one.risks and body else (str(one.id),)
        alike.setdefault(key, []).append(one)
    for objects in alike.values():
        first = objects[0]
        sign = SIGNS[first.op]
        if len(objects) > 1:
            yield f"  {sign} {len(objects)} objects alike:"
        for one in objects:
            yield f"      {_object(one)}" if len(objects) > 1 else f"  {sign} {_object(one)}"
        yield from _body(first)


def _body(one: ObjectDiff) -> Iterator[str]:
    for risk in one.risks:
        yield f"      ! {_risk(risk)}"
    for change in one.changes:
        yield from _change(change)
    for schema in one.schemas:
        yield from _schema(schema)


def summary(found: PlatformDiff) -> str:
    """Return the diff in one line."""
    if not found.differs:
        return f"no difference between {found.new} and {found.old}"
    words = {"add": "added", "remove": "removed", "change": "changed", "move": "moved"}
    objects = list(found.objects())
    counts = [(sum(one.op == op for one in objects), word) for op, word in words.items()]
    parts = [f"{count} {word}" for count, word in counts if count]
    risky = sum(bool(one.risks) for one in objects)
    said = f"; {risky} need care (marked !)" if risky else ""
    told = ", ".join(parts) if parts else "settings alone"
    return f"{found.new} against {found.old}: {told}{said}"


def to_dict(found: PlatformDiff) -> dict[str, Any]:
    """Return the diff for JSON."""
    objects = list(found.objects())
    return {
        "format": FORMAT,
        "old": found.old,
        "new": found.new,
        "env": found.env,
        "differs": found.differs,
        "notes": found.notes,
        "settings": [{"name": n, "old": was, "new": now} for n, was, now in found.settings],
        "summary": {
            **{op: sum(one.op == op for one in objects) for op in SIGNS},
            "risks": sum(len(one.risks) for one in objects),
        },
        "apps": [
            {"name": app.name, "op": app.op, "objects": [_object_dict(one) for one in app.objects]}
            for app in found.apps
        ],
    }


def _object_dict(one: ObjectDiff) -> dict[str, Any]:
    told: dict[str, Any] = {"op": one.op, "object": _id(one.id), "file": one.file}
    if one.moved_from:
        told["movedFrom"] = one.moved_from
    if one.note:
        told["note"] = one.note
    told["changes"] = [change.to_dict() for change in one.changes]
    if one.schemas:
        told["schemas"] = [schema._asdict() for schema in one.schemas]
    told["risks"] = [
        {
            "code": risk.code,
            "severity": risk.severity,
            "path": risk.path,
            "message": risk.message,
            "advice": risk.advice,
        }
        for risk in one.risks
    ]
    return told


def _id(id_: ObjectId) -> dict[str, str]:
    return {
        "group": id_.group,
        "kind": id_.kind,
        "namespace": id_.namespace,
        "name": id_.name,
    }


def _title(app: AppDiff) -> str:
    said = {"add": " (new app)", "remove": " (app goes)"}.get(app.op, "")
    return f"{app.name}{said}"


def _object(one: ObjectDiff) -> str:
    moved = f" (from app {one.moved_from})" if one.moved_from else ""
    note = f" ({one.note})" if one.note else ""
    return f"{one.id}{moved}{note}"


def _risk(risk: Hazard) -> str:
    return f"{risk.severity}: {risk.message}; {risk.advice} [{risk.code}]"


def _change(change: Change) -> Iterator[str]:
    path = change.path or "(the object)"
    if change.op == "add":
        yield f"      + {path}: {_value(change.new)}"
    elif change.op == "remove":
        yield f"      - {path}: {_value(change.old)}"
    elif change.op == "order":
        yield f"        {path}: other order: {', '.join(change.new)}"
    elif _is_text(change.old) and _is_text(change.new):
        yield f"        {path}:"
        yield from _text(change.old, change.new)
    else:
        yield f"        {path}: {_value(change.old)} -> {_value(change.new)}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value.rstrip("\n")


def _text(old: str, new: str) -> Iterator[str]:
    shown = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    for line in shown[:TEXT_LINES]:
        body = line[1:] if len(line) <= WIDTH else f"{line[1:WIDTH]}…"
        yield f"            {line[:1]}{body}" if not line.startswith("@@") else "            …"
    if len(shown) > TEXT_LINES:
        yield f"            … {len(shown) - TEXT_LINES} more lines"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= WIDTH:
        return text
    if isinstance(value, dict | list):
        what = "fields" if isinstance(value, dict) else "items"
        return f"{text[: WIDTH - 20]}… ({len(value)} {what})"
    return f"{text[: WIDTH - 20]}… ({len(text)} characters)"


def _schema(schema: SchemaChange) -> Iterator[str]:
    path = f"spec.versions[name={schema.version}].schema"
    for sign, names in (("+", schema.added), ("-", schema.removed)):
        if names:
            count = f"{len(names)} field{'s' if len(names) > 1 else ''}"
            yield f"      {sign} {path}: {count}: {_names(names)}"
    others = (
        ("other type", schema.retyped),
        ("now required", schema.required),
        ("fewer values", schema.narrowed),
    )
    for title, names in others:
        if names:
            yield f"        {path}: {title}: {_names(names)}"
    if schema.texts:
        yield f"        {path}: {schema.texts} other changes (descriptions, defaults, validation)"


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
