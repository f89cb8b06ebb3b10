"""Blame each change of an object on the line that made it.

Pure but for reading patches. For each level the changes are known; every line of the level's
kustomizations (and of the components that they lay over) is asked, the last first, since the last
one to write a field wins. What no line explains is told with its kustomization alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from argosy.manifests import Change, Match, ObjectId, diff, format_path, identity, parse_path
from argosy.platform.explain_directives import (
    LIKELY,
    SURE,
    Answer,
    Directive,
    Edit,
    directives,
    variables,
)
from argosy.platform.explain_model import Spot, Step
from argosy.platform.explain_patches import patch_directives, replacement_directives
from argosy.platform.placeholders import MARK, keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from argosy.manifests import Manifest, Segment
    from argosy.platform.explain_graph import Graph, Level
    from argosy.platform.explain_levels import Span

__all__ = ["Attribution", "Blame", "differences", "overlaps", "steps_of"]


UNKNOWN = "which line of it did this is not known"


class Attribution(NamedTuple):
    """One change and the line that made it; the directive is None when none is known to."""

    change: Change
    directive: Directive | None
    answer: Answer
    level: str


class Blame:
    """Knows the lines of an app's kustomizations.

    Args:
        graph: the kustomizations.
        place: returns the place of a line of a file of a source.
        fill: puts the platform's values in the place of placeholders.
        value: returns the line that gives a placeholder its value, None when none does.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        place: Callable[[str, str, int], Spot],
        fill: Callable[[Any], Any],
        value: Callable[[str], Directive | None],
    ) -> None:
        self._graph = graph
        self._place = place
        self._fill = fill
        self._value = value
        self._known: dict[str, list[Directive]] = {}

    def spot(self, level: Level, steps: Sequence[str | int]) -> Spot:
        """Return the place of a line of a kustomization."""
        where = level.file.where(tuple(steps))
        return self._place(level.source, level.file.file, where.line)

    def lines(self, level: Level) -> list[Directive]:
        """Return what a kustomization does, components first, in its order."""
        key = level.file.shown
        if key not in self._known:
            found: list[Directive] = []
            for component in self._graph.components(level):
                found += self.lines(component)
            found += patch_directives(self._graph, level, self.spot, self._place)
            found += directives(level, self.spot)
            found += replacement_directives(self._graph, level, self.spot, self._place)
            self._known[key] = found
        return self._known[key]

    def touches(self, level: Level, ids: tuple[ObjectId, ...]) -> bool:
        """Say whether anything in a level could change an object of these names."""
        return any(one.meant is None or one.meant(ids) for one in self.lines(level))

    def attribute(
        self,
        spans: Iterable[Span],
        *,
        ids: tuple[ObjectId, ...],
        last: Sequence[Directive],
        variable_levels: Sequence[Level],
    ) -> list[Attribution]:
        """Return who made each change, from the origin outwards.

        Args:
            spans: what the levels made of the object.
            ids: all names that the object has had.
            last: what is laid over the app, and what the render itself does.
            variable_levels: kustomizations whose `vars:` may have been filled in.
        """
        spans = list(spans)
        vars_ = [one for level in variable_levels for one in variables(level, self.spot)]
        filled: set[str] = set()
        found: list[Attribution] = []
        for index, span in enumerate(spans):
            candidates = [one for level in span.levels for one in self.lines(level)]
            if index == len(spans) - 1:
                candidates += last
            where = " + ".join(level.file.file for level in span.levels)
            for change in differences(span.before, span.after):
                edit = Edit(change, (*ids, identity(span.before)), span.before, self._fill)
                best = _best(candidates, edit)
                if best is None or best[1].score < SURE:
                    # vars are filled in by each build with what its own level knows
                    best = _best(vars_, edit) or best
                    if best is not None and best[0] in vars_:
                        filled.add(change.path)
                if best is None and change.path in filled:
                    continue  # the variable's own object changed; the line is told already
                if best is None and change.op == "order":
                    continue
                directive, answer = best or (None, Answer(0))
                level = directive.level if directive else where
                found.append(Attribution(change, directive, answer, level))
                found += self._placeholders(change, answer)
        return found

    def _placeholders(self, change: Change, answer: Answer) -> list[Attribution]:
        """Return the values that filled the placeholders in what a line says."""
        text = msgspec.json.encode(answer.raw).decode() if answer.raw is not None else ""
        if MARK not in text:
            return []
        lines = [self._value(key) for key in dict.fromkeys(keys_in(text))]
        return [
            Attribution(change, line, Answer(SURE), line.level)
            for line in lines
            if line is not None
        ]


def steps_of(
    found: Iterable[Attribution], *, fallback: Callable[[str], Spot], exact: bool
) -> list[Step]:
    """Return steps, what one line did together.

    Args:
        found: who made each change.
        fallback: the place of a kustomization whose line is not known.
        exact: tell the lines of a patch apart.
    """
    steps: dict[tuple[str, str, str], Step] = {}
    places: dict[tuple[str, str, str], set[Spot]] = {}
    for one in found:
        directive, answer = one.directive, one.answer
        if directive is None:
            step = Step("kustomization", fallback(one.level), UNKNOWN, level=one.level)
        else:
            where, via = directive.where, directive.via
            step = Step(directive.what, where, directive.said, via, one.level)
        where = answer.where or step.where
        key = (step.what, step.said, str(where if exact else step.where))
        step = steps.setdefault(key, step)
        places.setdefault(key, set()).add(where)
        step.changes.append(one.change)
        step.sure = step.sure and answer.score == SURE
    for key, step in steps.items():
        if len(places[key]) == 1:
            step.where = next(iter(places[key]))
    return list(steps.values())


def differences(before: Manifest, after: Manifest) -> list[Change]:
    """Return what differs, mappings that came or went as a whole cut into their fields."""
    found: list[Change] = []
    for change in diff(before, after):
        found += _cut(change)
    return [change for change in found if not (change.op == "remove" and change.old is None)]


def _cut(change: Change) -> list[Change]:
    path = parse_path(change.path)
    value = change.new if change.op == "add" else change.old
    plain = bool(path) and isinstance(path[-1], str)
    if change.op not in {"add", "remove"} or not isinstance(value, dict) or not value or not plain:
        return [change]
    found: list[Change] = []
    for key, inner in value.items():
        here = format_path((*path, key))
        old, new = (None, inner) if change.op == "add" else (inner, None)
        found += _cut(Change(here, change.op, old, new))
    return found


def overlaps(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    """Say whether one path leads to, into or through what the other does."""
    return all(_alike(a, b) for a, b in zip(one, other, strict=False))


def _alike(one: Segment, other: Segment) -> bool:
    if isinstance(one, Match) and isinstance(other, Match):
        shared = dict(one.fields).keys() & dict(other.fields).keys()
        return bool(shared) and all(dict(one.fields)[k] == dict(other.fields)[k] for k in shared)
    return one == other


def _best(candidates: Sequence[Directive], edit: Edit) -> tuple[Directive, Answer] | None:
    likely: tuple[Directive, Answer] | None = None
    for directive in reversed(candidates):
        answer = directive.answer(edit)
        if answer.score == SURE:
            return directive, answer
        if answer.score == LIKELY and likely is None:
            likely = directive, answer
    return likely
