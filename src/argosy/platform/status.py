"""Say how a platform is: each app's objects, their health, and where the cluster has drifted.

Reads only. Health is Argo CD's (see `health`). Drift is what an apply would change: an object is
in line when what was applied to it is what is rendered and nobody has changed a field of ours
since; for the others the API server says, by a dry run, which fields differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from argosy.kube import NotFound
from argosy.manifests import ObjectId
from argosy.platform.applyset import PART_OF
from argosy.platform.conditions import condition_rule
from argosy.platform.health import Health, State, assess, has_health, lacks_metrics, worst
from argosy.platform.prepare import conflict_sentence, prepare
from argosy.platform.readiness import WORKLOADS, is_simulated
from argosy.platform.reasons import why_not_ready
from argosy.platform.tasks import together

if TYPE_CHECKING:
    from argosy.kube import KubeApi, Resource
    from argosy.manifests import Manifest
    from argosy.platform.model import RenderedPlatform
    from argosy.platform.prepare import Prepared

__all__ = ["AppStatus", "Drift", "PlatformStatus", "Unwell", "read_status", "status_lines"]

CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Unwell(msgspec.Struct, frozen=True):
    """An object that is not healthy, and why."""

    object: str
    state: State
    reason: str


class Drift(msgspec.Struct, frozen=True):
    """An object that is not as rendered: why that is thought, and which fields differ."""

    object: str
    reason: str
    fields: tuple[str, ...] = ()


class AppStatus(msgspec.Struct):
    """How one app is.

    Attributes:
        health: the worst of its objects'.
        objects: how many are rendered.
        counts: how many are in which state.
        unwell: those that are not healthy.
        drift: those that are not as rendered.
        extra: those that argosy applied and renders no more.
    """

    name: str
    health: State
    objects: int
    counts: dict[str, int]
    unwell: list[Unwell]
    drift: list[Drift]
    extra: list[str]

    @property
    def well(self) -> bool:
        """Say whether nothing is missing, degraded or drifted."""
        return self.health not in {"degraded", "missing"} and not self.drift


class PlatformStatus(msgspec.Struct):
    """How a platform is."""

    name: str
    env: str
    apps: list[AppStatus]

    @property
    def well(self) -> bool:
        """Say whether all apps are well."""
        return all(app.well for app in self.apps)


async def read_status(
    api: KubeApi, platform: RenderedPlatform, *, apps: frozenset[str] = frozenset()
) -> PlatformStatus:
    """Return how a platform is.

    Args:
        api: the cluster.
        platform: the whole rendered tree.
        apps: only these; none means all.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    prepared = await prepare(api, platform, apps=apps)
    live = await _live_objects(api, prepared)
    drift = _drift(prepared)
    unmeasured = _unmeasured(live) and await is_simulated(api)
    closer = await _closer(api, live)
    extra: dict[str, list[str]] = {}
    for action in prepared.plan.of("keep", "prune"):
        extra.setdefault(action.app, []).append(str(action.id))
    statuses = []
    for app in prepared.scoped.platform.apps:
        states = {o.id: _health(o.id, prepared, live, unmeasured=unmeasured) for o in app.objects}
        counts: dict[str, int] = {}
        for health in states.values():
            counts[health.state] = counts.get(health.state, 0) + 1
        statuses.append(
            AppStatus(
                name=app.name,
                health=worst(h.state for h in states.values()),
                objects=len(app.objects),
                counts=counts,
                unwell=[
                    Unwell(str(id_), h.state, closer.get(id_) or h.reason)
                    for id_, h in states.items()
                    if h.state != "healthy"
                ],
                drift=[drift[id_] for id_ in states if id_ in drift],
                extra=extra.get(app.name, []),
            )
        )
    return PlatformStatus(platform.name, platform.env, statuses)


def _health(
    id_: ObjectId, prepared: Prepared, live: dict[ObjectId, Manifest], *, unmeasured: bool
) -> Health:
    known = prepared.state.objects.get(id_)
    if known is None:
        return assess(None)
    if known.deleting:
        held = f", held by {', '.join(known.finalizers)}" if known.finalizers else ""
        return Health("progressing", f"being deleted{held}")
    if unmeasured and id_ in live and lacks_metrics(live[id_]):
        return Health("unknown", "its pods are simulated, and nobody measures them")
    if id_[:2] == CRD and id_ not in live:
        return Health("healthy")  # the kind is served, so the definition is established
    return assess(live[id_]) if id_ in live else Health("healthy")


LOOKED_AT = 20  # workloads whose pods are asked; with more, the cause is another one


async def _closer(api: KubeApi, live: dict[ObjectId, Manifest]) -> dict[ObjectId, str]:
    """Return what pods and events say about workloads that are not healthy."""
    unwell = [
        id_
        for id_, obj in live.items()
        if id_[:2] in WORKLOADS and assess(obj).state in {"progressing", "degraded"}
    ][:LOOKED_AT]
    told = await together([why_not_ready(api, live[id_]) for id_ in unwell], name="reasons")
    return dict(zip(unwell, told, strict=True))


def _unmeasured(live: dict[ObjectId, Manifest]) -> bool:
    return any(lacks_metrics(obj) for obj in live.values())


async def _live_objects(api: KubeApi, prepared: Prepared) -> dict[ObjectId, Manifest]:
    """Return the live objects of the kinds that have a health, one list for each kind."""
    kinds: dict[tuple[str, str], Resource] = {}
    for id_, resource in prepared.scoped.resources.items():
        has = has_health(id_.group, id_.kind) or condition_rule(id_.group, id_.kind)
        if has and id_[:2] != CRD and id_ in prepared.state.objects:
            kinds[id_.group, id_.kind] = resource

    async def one(resource: Resource) -> list[tuple[ObjectId, Manifest]]:
        found = []
        async for obj in api.list(resource, label_selector=PART_OF):
            metadata = obj["metadata"]
            name, namespace = metadata["name"], metadata.get("namespace") or ""
            found.append((ObjectId(resource.group, resource.kind, namespace, name), obj))
        return found

    async def definition(id_: ObjectId, resource: Resource) -> list[tuple[ObjectId, Manifest]]:
        try:
            return [(id_, await api.get(resource, id_.name))]
        except NotFound:
            return []

    calls: list[Any] = [one(r) for r in kinds.values()]
    # definitions are large: only those whose kind is not served are worth reading
    served = {f"{r.plural}.{r.group}" for r in prepared.index}
    calls += [
        definition(id_, resource)
        for id_, resource in prepared.scoped.resources.items()
        if id_[:2] == CRD and id_.name not in served and id_ in prepared.state.objects
    ]
    return {id_: obj for part in await together(calls, name="read") for id_, obj in part}


def _drift(prepared: Prepared) -> dict[ObjectId, Drift]:
    found: dict[ObjectId, Drift] = {}
    inspected = prepared.inspected
    for action in prepared.plan.of("update", "adopt", "replace"):
        id_ = action.id
        if id_ in inspected.conflicts:
            text = conflict_sentence(id_, inspected.conflicts[id_])
            fields = tuple(f.path for f in inspected.conflicts[id_])
            found[id_] = Drift(str(id_), text.partition(": ")[2], fields)
        elif id_ in inspected.invalid:
            found[id_] = Drift(str(id_), inspected.invalid[id_])
        elif inspected.changes.get(id_, True):
            changes = inspected.changes.get(id_) or []
            found[id_] = Drift(str(id_), action.reason, tuple(c.path for c in changes))
    return found


def status_lines(status: PlatformStatus) -> list[str]:
    """Return a status as lines of text: a line an app, and what is not well below it."""
    width = max((len(app.name) for app in status.apps), default=0)
    lines = []
    for app in status.apps:
        counts = ", ".join(f"{n} {state}" for state, n in sorted(app.counts.items()))
        drift = f", {len(app.drift)} drifted" if app.drift else ""
        extra = f", {len(app.extra)} rendered no more" if app.extra else ""
        lines.append(f"{app.name:<{width}}  {app.health:<11}  {counts}{drift}{extra}")
        lines += [
            f"    {u.state} {u.object}: {u.reason or 'no reason is known'}" for u in _shown(app)
        ]
        missing = app.counts.get("missing", 0)
        if missing > SHOWN:
            lines.append(f"    missing: {missing - SHOWN} more")
        for drifted in app.drift:
            fields = f": {', '.join(drifted.fields[:SHOWN])}" if drifted.fields else ""
            lines.append(f"    drift {drifted.object} ({drifted.reason}){fields}")
        lines += [f"    extra {name}: argosy apply --prune deletes it" for name in app.extra]
    return lines


SHOWN = 5  # missing objects, or fields of one object; more are counted


def _shown(app: AppStatus) -> list[Unwell]:
    missing = [u for u in app.unwell if u.state == "missing"]
    return [*(u for u in app.unwell if u.state != "missing"), *missing[:SHOWN]]
