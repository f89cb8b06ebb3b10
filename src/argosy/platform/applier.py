"""Carry out the steps of an order: each as soon as what it waits for is done.

Knows nothing of clusters: what a step does is handed in. A step that fails holds up what waits
for it and nothing else; an error that concerns everything (no connection, the lease lost) stops
everything at once.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argosy.errors import ArgosyError
from argosy.kube import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
)
from argosy.platform.readiness import GateClosed
from argosy.platform.tasks import first_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from argosy.manifests import ObjectId
    from argosy.platform.model import RenderedObject
    from argosy.platform.waves import Gate, Order, Step

__all__ = ["LOCAL", "FieldConflict", "Outcome", "Work", "carry_out", "relevant"]

WIDTH = 64  # objects under way; the API client may let fewer through
# definitions under way: each costs the API server a hundred times what another object does, and
# with more at once everything else waits behind them
HEAVY_WIDTH = 4
IDLE_WIDTH = 1  # definitions that nothing waits for, while something else is under way
HEAVY = ("apiextensions.k8s.io", "CustomResourceDefinition")


class FieldConflict(ArgosyError):
    """Somebody owns fields of an object, and took them after the plan was made (exit code 1)."""

    exit_code = 1


# errors that say something about one object, and nothing about the next one
LOCAL = (
    AlreadyExists,
    Conflict,
    FieldConflict,
    Forbidden,
    GateClosed,
    Invalid,
    NotFound,
    ServerError,
)


@dataclass(frozen=True)
class Work:
    """What steps do.

    Attributes:
        perform: applies an object.
        wait: returns when a gate is open.
    """

    perform: Callable[[RenderedObject], Awaitable[None]]
    wait: Callable[[Gate], Awaitable[None]]


@dataclass
class Outcome:
    """What became of the steps.

    Attributes:
        done: objects that were applied.
        failed: objects and gates that failed, with the error.
        skipped: objects that were not tried, because something in front of them failed.
    """

    done: list[ObjectId] = field(default_factory=list)
    failed: dict[ObjectId | Gate, ArgosyError] = field(default_factory=dict)
    skipped: list[ObjectId] = field(default_factory=list)


async def carry_out(
    order: Order, acting: frozenset[ObjectId], work: Work, *, width: int = WIDTH
) -> Outcome:
    """Carry out the steps of an order.

    Args:
        order: all steps of the platform.
        acting: the objects that something is to be done with; the others count as done.
        work: what steps do.
        width: how many objects are under way at most.

    Raises:
        ArgosyError: something that concerns all steps.
    """
    run = _Run(order, acting, work, width)
    try:
        async with asyncio.TaskGroup() as group:
            run.start(group)
    except BaseExceptionGroup as failures:
        raise first_error(failures) from None
    return run.outcome


@dataclass
class _Lane:
    """Steps that wait for nothing but their turn."""

    width: int
    under_way: int = 0
    ready: list[tuple[int, int, Step]] = field(default_factory=list)


class _Run:
    def __init__(self, order: Order, acting: frozenset[ObjectId], work: Work, width: int) -> None:
        self.outcome = Outcome()
        self._work = work
        self._normal = _Lane(width)
        self._heavy = _Lane(min(width, HEAVY_WIDTH))
        self._idle = _Lane(IDLE_WIDTH)
        self._waits = 0
        steps = relevant(order, acting)
        self._waiting = {
            key: sum(edge.before in steps for edge in step.after) for key, step in steps.items()
        }
        self._dependents: dict[ObjectId | Gate | str, list[Step]] = {key: [] for key in steps}
        for step in steps.values():
            for edge in step.after:
                if edge.before in steps:
                    self._dependents[edge.before].append(step)
        self._first = [step for key, step in steps.items() if not self._waiting[key]]

    def start(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        for step in self._first:
            self._put(step)
        self._launch()

    def _put(self, step: Step) -> None:
        """Take a step that waits for nothing any more: what much waits for goes first."""
        if step.gate is not None:
            self._waits += 1
            self._group.create_task(self._open(step, step.gate), name=f"wait for {step.gate}")
        elif step.rendered is None:
            self._done(step)
        else:
            lane = self._normal
            if step.rendered.id[:2] == HEAVY:
                lane = self._heavy if step.height else self._idle
            heapq.heappush(lane.ready, (-step.height, step.place, step))

    def _launch(self) -> None:
        busy = self._waits or any(
            lane.under_way or lane.ready for lane in (self._normal, self._heavy)
        )
        self._idle.width = IDLE_WIDTH if busy else self._heavy.width
        for lane in (self._normal, self._heavy, self._idle):
            while lane.ready and lane.under_way < lane.width:
                step = heapq.heappop(lane.ready)[2]
                if step.rendered is not None:
                    lane.under_way += 1
                    call = self._apply(step, step.rendered, lane)
                    self._group.create_task(call, name=f"{step.key}")

    async def _apply(self, step: Step, rendered: RenderedObject, lane: _Lane) -> None:
        try:
            await self._work.perform(rendered)
        except LOCAL as error:
            self.outcome.failed[rendered.id] = error
            self._skip_behind(step)
        else:
            self.outcome.done.append(rendered.id)
            self._done(step)
        lane.under_way -= 1
        self._launch()

    async def _open(self, step: Step, gate: Gate) -> None:
        try:
            await self._work.wait(gate)
        except LOCAL as error:
            self.outcome.failed[gate] = error
            self._skip_behind(step)
        else:
            self._done(step)
        self._waits -= 1
        self._launch()

    def _done(self, step: Step) -> None:
        for dependent in self._dependents[step.key]:
            self._waiting[dependent.key] -= 1
            if self._waiting[dependent.key] == 0:
                self._put(dependent)

    def _skip_behind(self, step: Step) -> None:
        behind = list(self._dependents[step.key])
        while behind:
            next_ = behind.pop()
            if self._waiting[next_.key] < 0:
                continue
            self._waiting[next_.key] = -1_000_000  # never reaches 0 again
            if next_.rendered is not None:
                self.outcome.skipped.append(next_.rendered.id)
            behind += self._dependents[next_.key]


def relevant(order: Order, acting: frozenset[ObjectId]) -> dict[ObjectId | Gate | str, Step]:
    """Return the acting steps with the gates and milestones in front of them, in their order."""
    found: set[ObjectId | Gate | str] = set()
    open_ = [
        key for key, step in order.steps.items() if step.rendered and step.rendered.id in acting
    ]
    while open_:
        key = open_.pop()
        if key in found:
            continue
        found.add(key)
        for edge in order.steps[key].after:
            before = order.steps[edge.before]
            if before.rendered is None or before.rendered.id in acting:
                open_.append(edge.before)
    return {key: step for key, step in order.steps.items() if key in found}
