"""Print an explanation for people, and as JSON.

Pure. The shape of the JSON is `docs/explain.md`'s and changes only by addition.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Change
    from argosy.platform.explain_model import Explanation, Spot, Step

__all__ = ["FORMAT", "lines", "to_dict"]

FORMAT = 1  # of the JSON; raised when a field goes or changes its meaning
WIDTH = 100  # characters of a value on one line
CHANGES = 8  # changes of one step that are listed


def lines(found: Explanation) -> Iterator[str]:
    """Yield the lines that a person reads."""
    yield f"{found.id}"
    if found.path:
        yield f"  field     {found.path} = {_value(found.value)}"
    for note in found.notes:
        yield f"  note      {note}"
    asked = f" ({found.asked})" if found.asked else ""
    yield f"  app       {found.app}: {found.why}{asked}"
    if found.source:
        commit = f" (commit {found.commit[:12]})" if found.commit else ""
        yield f"  source    {found.source}{commit}"
    if found.origin:
        said = f" ({found.said})" if found.said else ""
        yield f"  origin    {found.origin}{said}"
    yield f"  rendered  {found.rendered}"
    if found.set_by:
        yield f"  set by    {found.set_by}"
    if found.path and found.first is not None and found.first != found.value:
        yield f"  at origin {_value(found.first)}"
    if found.steps:
        yield "  changed by"
    elif found.origin and not found.unrendered:
        yield "  changed by nothing: it is as upstream wrote it"
    for number, step in enumerate(found.steps, 1):
        yield from _step(number, step)
    for owner in found.owners:
        place = owner.path or found.path
        told = (owner.operation, owner.time)
        where = f"{place}: " if place else ""
        yield f"  live      {where}{owner.manager} ({', '.join(filter(None, told))})"


def to_dict(found: Explanation) -> dict[str, Any]:
    """Return the explanation for JSON."""
    return {
        "format": FORMAT,
        "object": found.id._asdict(),
        "app": {"name": found.app, "why": found.why, "asked": _spot(found.asked)},
        "source": {"url": found.source, "commit": found.commit},
        "origin": _spot(found.origin),
        "made": found.said,
        "rendered": found.rendered,
        "field": {
            "path": found.path,
            "value": found.value,
            "atOrigin": found.first,
            "setBy": _spot(found.set_by),
        }
        if found.path
        else None,
        "steps": [
            {
                "what": step.what,
                "where": _spot(step.where),
                "via": _spot(step.via),
                "said": step.said,
                "sure": step.sure,
                "changes": [change.to_dict() for change in step.changes],
            }
            for step in found.steps
        ],
        "owners": [
            {"manager": o.manager, "operation": o.operation, "time": o.time, "path": o.path}
            for o in found.owners
        ],
        "notes": found.notes,
    }


def _spot(spot: Spot | None) -> dict[str, Any] | None:
    return spot._asdict() if spot else None


def _step(number: int, step: Step) -> Iterator[str]:
    doubt = "" if step.sure else " (likely)"
    yield f"  {number:>3} {step.what}{doubt}  {step.where}"
    if step.said:
        yield f"        {step.said}"
    if step.via:
        yield f"        named in {step.via}"
    for change in step.changes[:CHANGES]:
        yield f"          {_change(change)}"
    if len(step.changes) > CHANGES:
        yield f"          and {len(step.changes) - CHANGES} more"


def _change(change: Change) -> str:
    if change.op == "add":
        return f"+ {change.path}: {_value(change.new)}"
    if change.op == "remove":
        return f"- {change.path}: {_value(change.old)}"
    if change.op == "order":
        return f"  {change.path}: other order"
    if change.old is None and change.new is None:
        return f"  {change.path}"
    return f"  {change.path}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 20]}… ({len(text)} characters)"
