"""Print a plan: what an apply does, and why. This is the dry run.

Pure. Values of Secrets are masked before they come here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from argosy.manifests import apply_rank
from argosy.platform.applier import relevant
from argosy.platform.hazards import worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import ObjectId
    from argosy.platform.apply import Report
    from argosy.platform.hazards import Hazard
    from argosy.platform.inspect import Inspected
    from argosy.platform.plan import Action, Plan
    from argosy.platform.waves import Order

__all__ = ["plan_dict", "plan_lines", "report_dict", "wave_lines"]

SIGNS = {"create": "+", "update": "~", "adopt": "^", "replace": "!", "prune": "-", "keep": "="}
WORDS = {"blocks": "STOP", "dangerous": "CARE", "notice": "note"}
FOLDED = 12  # objects of one app, verb and reason: more are counted, not listed
FIELDS = 20  # changed fields of one object; more are counted


def plan_lines(plan: Plan, inspected: Inspected, *, full: bool = False) -> Iterator[str]:
    """Yield a plan as lines of text.

    Args:
        plan: the plan.
        inspected: what the look at its changes found.
        full: list every object; otherwise a long list of fresh ones is counted.
    """
    for app in dict.fromkeys(action.app for action in plan.actions):
        yield f"{app}:"
        yield from _app(plan, inspected, app, full=full)
    for hazard in worst_first(plan.hazards):
        yield from _hazard(hazard)
    for note in plan.notes:
        yield f"note {note}"
    for refusal in plan.refusals:
        yield f"refused: {refusal}"
    yield plan.summary()


def _app(plan: Plan, inspected: Inspected, app: str, *, full: bool) -> Iterator[str]:
    mine = [action for action in plan.actions if action.app == app]
    groups: dict[tuple[str, str], list[Action]] = {}
    for action in mine:
        groups.setdefault((action.verb, action.reason), []).append(action)
    for (verb, reason), actions in groups.items():
        why = f"  ({reason})" if reason else ""
        if len(actions) > FOLDED and not full and verb in {"create", "adopt"}:
            yield f"  {SIGNS[verb]} {len(actions)} objects{why}"
            continue
        for action in actions:
            yield f"  {SIGNS[verb]} {action.id}{why}"
            yield from _fields(inspected, action)


def _fields(inspected: Inspected, action: Action) -> Iterator[str]:
    changes = inspected.changes.get(action.id)
    if changes is None:
        return
    if not changes and action.verb == "update":
        yield "      the API server sees no difference"
    for change in changes[:FIELDS]:
        path = _cut(change.path)
        match change.op:
            case "add":
                yield f"      {path}: + {_value(change.new)}"
            case "remove":
                yield f"      {path}: - {_value(change.old)}"
            case "order":
                yield f"      {path}: other order"
            case _:
                yield f"      {path}: {_value(change.old)} -> {_value(change.new)}"
    if len(changes) > FIELDS:
        yield f"      and {len(changes) - FIELDS} more fields"


WIDTH = 80  # characters of one value


PATH = 160  # characters of one path: items of lists may be named by a whole script


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def _cut(path: str) -> str:
    return path if len(path) <= PATH else f"{path[: PATH - 3]}..."


def _hazard(hazard: Hazard) -> Iterator[str]:
    path = f" {hazard.path}" if hazard.path and hazard.path not in hazard.message else ""
    yield f"{WORDS[hazard.severity]} {hazard.id}{path}: {hazard.message}"
    yield f"     {hazard.advice}"


def wave_lines(order: Order, acting: frozenset[ObjectId]) -> Iterator[str]:
    """Yield the waves of an order as lines of text.

    Args:
        order: the order of all that is rendered.
        acting: the objects that something is done with; only they are told, and their gates.
    """
    keys = relevant(order, acting)
    number = 0
    for wave in order.waves:
        for gate in wave.gates:
            if gate in keys:
                yield f"  wait for {gate}"
        objects = [found for found in wave.objects if found.id in acting]
        if not objects:
            continue
        kinds: dict[str, int] = {}
        for found in sorted(objects, key=lambda o: apply_rank(o.id)):
            kinds[found.id.kind] = kinds.get(found.id.kind, 0) + 1
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        number += 1
        yield f"wave {number}: {_count(len(objects))}: {counted}"
    for cut in order.cuts:
        yield f"  {cut}"


def _count(number: int) -> str:
    return "1 object" if number == 1 else f"{number} objects"


def plan_dict(plan: Plan, inspected: Inspected) -> dict[str, Any]:
    """Return a plan for JSON output."""
    return {
        "actions": [
            {
                "verb": action.verb,
                "object": str(action.id),
                "app": action.app,
                **({"reason": action.reason} if action.reason else {}),
                **_changed(inspected, action),
            }
            for action in plan.actions
        ],
        "unchanged": len(plan.unchanged),
        "hazards": [{**h._asdict(), "id": str(h.id)} for h in worst_first(plan.hazards)],
        "refusals": plan.refusals,
        "notes": plan.notes,
    }


def report_dict(report: Report) -> dict[str, Any]:
    """Return what an apply did, for JSON output."""
    return {
        "applied": [str(id_) for id_ in report.applied],
        "deleted": [str(id_) for id_ in report.deleted],
        "failed": report.failed,
        "skipped": [str(id_) for id_ in report.skipped],
        "seconds": report.seconds,
    }


def _changed(inspected: Inspected, action: Action) -> dict[str, Any]:
    changes = inspected.changes.get(action.id)
    return {} if changes is None else {"changes": [change.to_dict() for change in changes]}
