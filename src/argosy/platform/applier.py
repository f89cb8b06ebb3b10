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

    from argosy.errors import ArgosyError
    from argosy.manifests import ObjectId
    from argosy.platform.model import RenderedObject
    from argosy.platform.waves import Gate, Order, Step

__all__ = ["LOCAL", "Outcome", "Work", "carry_out"]

WIDTH = 64  # objects under way; the API client may let fewer through

# errors that say something about one object, and nothing about the next one
LOCAL = (AlreadyExists, Conflict, Forbidden, GateClosed, Invalid, NotFound, ServerError)


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


class _Run:
    def __init__(self, order: Order, acting: frozenset[ObjectId], work: Work, width: int) -> None:
        self.outcome = Outcome()
        self._work = work
        self._width = width
        self._under_way = 0
        self._ready: list[tuple[int, int, Step]] = []
        relevant = _relevant(order, acting)
        self._waiting = {
            key: sum(edge.before in relevant for edge in step.after)
            for key, step in relevant.items()
        }
        self._dependents: dict[ObjectId | Gate | str, list[Step]] = {key: [] for key in relevant}
        for step in relevant.values():
            for edge in step.after:
                if edge.before in relevant:
                    self._dependents[edge.before].append(step)
        self._first = [step for key, step in relevant.items() if not self._waiting[key]]

    def start(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        for step in self._first:
            self._put(step)
        self._launch()

    def _put(self, step: Step) -> None:
        """Take a step that waits for nothing any more: what much waits for goes first."""
        if step.gate is not None:
            self._group.create_task(self._open(step, step.gate), name=f"wait for {step.gate}")
        elif step.rendered is None:
            self._done(step)
        else:
            heapq.heappush(self._ready, (-step.height, step.place, step))

    def _launch(self) -> None:
        while self._ready and self._under_way < self._width:
            step = heapq.heappop(self._ready)[2]
            if step.rendered is not None:
                self._under_way += 1
                self._group.create_task(self._apply(step, step.rendered), name=f"{step.key}")

    async def _apply(self, step: Step, rendered: RenderedObject) -> None:
        try:
            await self._work.perform(rendered)
        except LOCAL as error:
            self.outcome.failed[rendered.id] = error
            self._skip_behind(step)
        else:
            self.outcome.done.append(rendered.id)
            self._done(step)
        self._under_way -= 1
        self._launch()

    async def _open(self, step: Step, gate: Gate) -> None:
        try:
            await self._work.wait(gate)
        except LOCAL as error:
            self.outcome.failed[gate] = error
            self._skip_behind(step)
        else:
            self._done(step)
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


def _relevant(order: Order, acting: frozenset[ObjectId]) -> dict[ObjectId | Gate | str, Step]:
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
