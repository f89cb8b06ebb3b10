"""Blame each change of an object on the line that made it.

Pure but for reading patches. For each level the changes are known; every line of the level's
kustomizations (and of the components that they lay over) is asked, the last first, since the last
one to write a field wins. What no line explains is told with its kustomization alone.
"""

from __future__ import annotations

import re
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
    late,
)
from argosy.platform.explain_model import Spot, Step
from argosy.platform.explain_patches import patch_directives, replacement_directives
from argosy.platform.placeholders import MARK, keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from argosy.manifests import Manifest, Segment
    from argosy.platform.explain_graph import Graph, Level
    from argosy.platform.explain_levels import Span

__all__ = ["Attribution", "Blame", "Difference", "differences", "overlaps", "steps_of"]


_VARIABLE = re.compile(r"\$\([^)\s]+\)")
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
        seen: Sequence[Level],
    ) -> list[Attribution]:
        """Return who made each change, from the origin outwards.

        Args:
            spans: what the levels made of the object.
            ids: all names that the object has had.
            last: what is laid over the app, and what the render itself does.
            seen: all kustomizations of the app: their `vars:` and the names of what they
                generate are filled in wherever they are known.
        """
        spans = list(spans)
        vars_ = [one for level in seen for one in late(level, self.spot)]
        filled: set[str] = set()
        found: list[Attribution] = []
        for index, span in enumerate(spans):
            candidates = [one for level in span.levels for one in self.lines(level)]
            if index == len(spans) - 1:
                candidates += last
            where = " + ".join(level.file.file for level in span.levels)
            for change, was in differences(span.before, span.after):
                names = (*ids, identity(span.before))
                edit = Edit(change, names, span.before, self._fill, was)
                best = _best(candidates, edit)
                if best is None or best[1].score < SURE:
                    # vars are filled in by each build with what its own level knows
                    best = _best(vars_, edit) or best
                    if best is not None and best[0] in vars_:
                        filled.add(change.path)
                if best is None and change.path in filled:
                    continue  # what the variable stands for changed; its line is told already
                if best is None and change.op == "order":
                    continue
                directive, answer = best or (None, Answer(0))
                level = directive.level if directive else where
                if directive in vars_ and directive is not None and directive.what == "vars":
                    found += self._filled_in(change, answer._replace(raw=change.old), vars_)
                    continue
                found.append(Attribution(change, directive, answer, level))
                found += self._filled_in(change, answer, vars_)
        return found

    def _filled_in(
        self, change: Change, answer: Answer, late_: Sequence[Directive]
    ) -> list[Attribution]:
        """Return the lines that filled the placeholders and variables in what a line says."""
        text = msgspec.json.encode(answer.raw).decode() if answer.raw is not None else ""
        lines: list[Directive | None] = []
        if MARK in text:
            lines += [self._value(key) for key in dict.fromkeys(keys_in(text))]
        now = change.new if isinstance(change.new, str) else ""
        named = [name for name in dict.fromkeys(_VARIABLE.findall(text)) if name not in now]
        lines += [one for one in late_ if one.what == "vars" and one.said.startswith(tuple(named))]
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
        step.sure = step.sure and (answer.score == SURE or one.change.op == "order")
    for key, step in steps.items():
        if len(places[key]) == 1:
            step.where = next(iter(places[key]))
    return list(steps.values())


class Difference(NamedTuple):
    """A change; `was` is its path before, where that is another one (an item was renamed)."""

    change: Change
    was: str = ""


def differences(before: Manifest, after: Manifest) -> list[Difference]:
    """Return what differs, as those tell it who write transforms.

    Mappings that came or went as a whole are cut into their fields; items of a list that went
    while as many came are taken for the same ones under another name.
    """
    found: list[Difference] = []
    for one in _paired(diff(before, after)):
        found += _cut(one)
    gone = [one for one in found if one.change.op == "remove" and one.change.old is None]
    return [one for one in found if one not in gone]


def _paired(changes: Sequence[Change]) -> list[Difference]:
    """Pair up items that went with those that came in the same list."""
    lists: dict[str, tuple[list[Change], list[Change]]] = {}
    for change in changes:
        path = parse_path(change.path)
        if change.op in {"add", "remove"} and path and isinstance(path[-1], Match):
            gone, came = lists.setdefault(format_path(path[:-1]), ([], []))
            (came if change.op == "add" else gone).append(change)
    pairs: dict[str, Change] = {}
    for gone, came in lists.values():
        if len(gone) == len(came):
            pairs |= {old.path: new for old, new in zip(gone, came, strict=True)}
    told = {new.path for new in pairs.values()}
    found: list[Difference] = []
    for change in changes:
        partner = pairs.get(change.path) if change.op == "remove" else None
        if partner is not None:
            found += _renamed(change, partner)
        elif not (change.op == "add" and change.path in told):
            found.append(Difference(change))
    return found


def _renamed(old: Change, new: Change) -> list[Difference]:
    """Return what differs between an item and itself under another name."""
    if not isinstance(old.old, dict) or not isinstance(new.new, dict):
        return [Difference(Change(new.path, "change", old.old, new.new), old.path)]
    found = []
    for inner in diff(old.old, new.new):
        below = parse_path(inner.path)
        was = format_path((*parse_path(old.path), *below))
        path = format_path((*parse_path(new.path), *below))
        found.append(Difference(Change(path, inner.op, inner.old, inner.new), was))
    return found


def _cut(one: Difference) -> list[Difference]:
    change = one.change
    path = parse_path(change.path)
    value = change.new if change.op == "add" else change.old
    plain = bool(path) and isinstance(path[-1], str)
    if change.op not in {"add", "remove"} or not isinstance(value, dict) or not value or not plain:
        return [one]
    found: list[Difference] = []
    for key, inner in value.items():
        here = format_path((*path, key))
        old, new = (None, inner) if change.op == "add" else (inner, None)
        found += _cut(Difference(Change(here, change.op, old, new)))
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
