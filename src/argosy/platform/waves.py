"""Decide in which order the objects of a platform are applied, and what has to be waited for.

Pure: takes the rendered tree, returns a graph of steps. An object waits only for what it really
needs: its namespace, the definition of its kind, what its pods mount and run as, the workloads of
the apps that its app needs, and the webhooks that the API server would ask about it. Waiting for
a state of the cluster (a Deployment available, a kind served) is a step of its own, a gate.
Waves are how that graph is shown: an object's wave is the number of gates in front of it.

Refuses nothing: dependencies in a circle are cut at the least important one, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from argosy.platform.cycles import components

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.manifests import ObjectId
    from argosy.platform.model import RenderedObject

__all__ = ["Cut", "Edge", "Gate", "Order", "Step", "Wave", "build_order"]

GateKind = Literal["served", "healthy", "trusted", "namespace"]


class Gate(NamedTuple):
    """A state of the cluster that something waits for.

    Attributes:
        kind: `served`: the API server serves the kind that `target` defines; `healthy`: the
            workload is rolled out; `trusted`: the webhook configuration has its certificate
            authority; `namespace`: a namespace that a controller makes is there.
        target: the object that is looked at.
    """

    kind: GateKind
    target: ObjectId

    def __str__(self) -> str:
        """Return what is waited for, as a person would say it."""
        text = {
            "served": f"{self.target.name} to be served",
            "healthy": f"{self.target} to be available",
            "trusted": f"{self.target} to get its certificate authority",
            "namespace": f"{self.target} to be made by its controller",
        }
        return text[self.kind]


# What a dependency is for; the later it stands, the sooner it is cut when there is a circle.
Why = Literal["gate", "namespace", "kind", "role", "mount", "start", "needs", "webhook", "inject"]
CUTTABLE: tuple[Why, ...] = ("inject", "webhook", "needs", "start", "mount", "role")

Key = "ObjectId | Gate | str"


class Edge(NamedTuple):
    """A step waits for another one."""

    before: ObjectId | Gate | str
    why: Why


class Cut(NamedTuple):
    """A dependency that was dropped because it closes a circle."""

    step: ObjectId
    before: str
    why: Why

    def __str__(self) -> str:
        """Return the sentence that a plan shows."""
        return f"{self.step} does not wait for {self.before}: each would wait for the other"


@dataclass
class Step:
    """One node of the graph: an object to apply, a gate to wait for, or a milestone of an app.

    Attributes:
        key: the object's identity, the gate, or the milestone's name.
        rendered: the object, None for gates and milestones.
        after: what it waits for.
        wave: the number of gates in front of it.
        height: the number of gates behind it, so that what much waits for goes first.
        place: its place in a stable order of all steps.
    """

    key: ObjectId | Gate | str
    rendered: RenderedObject | None = None
    after: tuple[Edge, ...] = ()
    wave: int = 0
    height: int = 0
    place: int = 0

    @property
    def gate(self) -> Gate | None:
        """Return the gate that the step is, None when it is something else."""
        return self.key if isinstance(self.key, Gate) else None


@dataclass(frozen=True)
class Wave:
    """What can be applied once the wave's gates are open."""

    number: int
    gates: tuple[Gate, ...]
    objects: tuple[RenderedObject, ...]

    @property
    def name(self) -> str:
        """Return the wave's name: its number and the apps in it."""
        apps = dict.fromkeys(o.app for o in self.objects)
        return f"{self.number + 1}: {', '.join(apps)}"


@dataclass(frozen=True)
class Order:
    """The whole graph, in an order in which every step stands behind what it waits for."""

    steps: Mapping[ObjectId | Gate | str, Step]
    cuts: tuple[Cut, ...] = ()
    waves: tuple[Wave, ...] = field(default=())

    def objects(self) -> list[RenderedObject]:
        """Return the objects in an order in which they can be applied one after another."""
        return [s.rendered for s in self.steps.values() if s.rendered is not None]


def build_order(steps: Iterable[Step]) -> Order:
    """Return the order of steps: circles cut, waves numbered, everything in its place.

    Args:
        steps: every step once; an edge to a step that is not among them is dropped.
    """
    graph = {step.key: step for step in steps}
    for place, step in enumerate(graph.values()):
        step.place = place
        known = dict.fromkeys(e for e in step.after if e.before in graph and e.before != step.key)
        step.after = tuple(known)
    cuts = _cut_circles(graph)
    ordered = _topological(graph)
    for step in ordered:
        behind = (graph[edge.before] for edge in step.after)
        step.wave = max((b.wave + (b.gate is not None) for b in behind), default=0)
    for step in reversed(ordered):
        for edge in step.after:
            before = graph[edge.before]
            before.height = max(before.height, step.height + (step.gate is not None))
    return Order({s.key: s for s in ordered}, cuts, _waves(ordered))


def _cut_circles(graph: dict[ObjectId | Gate | str, Step]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for why in CUTTABLE:
        after = {key: [e.before for e in step.after] for key, step in graph.items()}
        circle = {key: n for n, part in enumerate(components(after)) for key in part}
        for key, step in graph.items():
            closing = [e for e in step.after if e.why == why and circle[e.before] == circle[key]]
            if not closing:
                continue
            step.after = tuple(e for e in step.after if e not in closing)
            if step.rendered is not None:
                cuts += [Cut(step.rendered.id, str(e.before), why) for e in closing]
    return tuple(cuts)


def _topological(graph: dict[ObjectId | Gate | str, Step]) -> list[Step]:
    waiting = {key: len(step.after) for key, step in graph.items()}
    dependents: dict[ObjectId | Gate | str, list[Step]] = {key: [] for key in graph}
    for step in graph.values():
        for edge in step.after:
            dependents[edge.before].append(step)
    ready = [step for step in graph.values() if not step.after]
    ordered: list[Step] = []
    while ready:
        following: list[Step] = []
        for step in ready:
            ordered.append(step)
            for dependent in dependents[step.key]:
                waiting[dependent.key] -= 1
                if waiting[dependent.key] == 0:
                    following.append(dependent)
        ready = sorted(following, key=lambda s: s.place)
    return ordered


def _waves(ordered: list[Step]) -> tuple[Wave, ...]:
    objects: dict[int, list[RenderedObject]] = {}
    gates: dict[int, list[Gate]] = {}
    for step in ordered:
        if step.rendered is not None:
            objects.setdefault(step.wave, []).append(step.rendered)
        elif step.gate is not None:
            gates.setdefault(step.wave + 1, []).append(step.gate)
    numbers = sorted({*objects, *gates})
    return tuple(Wave(n, tuple(gates.get(n, ())), tuple(objects.get(n, ()))) for n in numbers)
