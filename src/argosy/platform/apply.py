"""Bring a cluster to the rendered state: look, plan, ask, write in order, delete, wait.

Nothing is written before the plan is complete and agreed to. What has been applied is remembered
in the cluster (see `applyset`), so a second apply sends only what is different, and one that was
interrupted at any point goes on when it is run again: whatever is not known to be complete is
applied anew, and applying twice is applying once.

Refuses (exit code 1) when the plan has refusals: see `plan`.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.errors import ArgosyError
from argosy.kube import ApiError, Conflict, NotFound, Resource
from argosy.manifests import ObjectId, apply_rank
from argosy.platform.adopt import is_tool, take_over
from argosy.platform.applier import Outcome, Work, carry_out
from argosy.platform.applyset import (
    NAMESPACE,
    Parent,
    Record,
    applyset_id,
    parent_name,
    write_parent,
)
from argosy.platform.dependencies import Tree
from argosy.platform.inspect import Inspected, inspect_plan
from argosy.platform.lease import Lease, this_process
from argosy.platform.live import CONFIG_MAP, NAMESPACES, LiveState, own_fields, read_live
from argosy.platform.owners import scaled_by_others
from argosy.platform.payload import payload, payload_digest
from argosy.platform.plan import Action, Options, Plan, Wanted, make_plan, settle_hazards
from argosy.platform.readiness import WORKLOADS, GateClosed, Readiness, is_simulated
from argosy.platform.scope import Scoped, scope
from argosy.platform.secrets_live import changed_secrets
from argosy.platform.tasks import first_error, together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.kube import KubeApi, ResourceIndex
    from argosy.platform.model import RenderedObject, RenderedPlatform
    from argosy.platform.readiness import Waiting

__all__ = ["ApplyRefused", "Applying", "Board", "Incomplete", "Prepared", "Report", "prepare"]

TIMEOUT = 600.0  # seconds that one gate may take: a large image on a slow line
TICK = 0.25  # seconds between two looks at what is waited for
GONE = 60.0  # seconds that a replaced object may take to go


class ApplyRefused(ArgosyError):
    """The plan has refusals: nothing was changed (exit code 1)."""

    exit_code = 1


class Incomplete(ArgosyError):
    """Some objects were not applied, or did not become ready (exit code 1)."""

    exit_code = 1


class Board:
    """Where an apply tells how it goes; this one keeps silent."""

    def applied(self, done: int, total: int) -> None:
        """Take the number of objects that are through."""

    def waiting(self, found: list[Waiting]) -> None:
        """Take what is waited for just now."""

    def said(self, text: str) -> None:
        """Take a sentence."""


@dataclass
class Report:
    """What an apply did.

    Attributes:
        plan: what was to be done.
        applied: objects that were written.
        deleted: objects that were deleted.
        failed: what failed, by name, with the reason.
        skipped: objects that were not tried for that reason.
        seconds: how long each part took.
    """

    plan: Plan
    applied: list[ObjectId] = field(default_factory=list)
    deleted: list[ObjectId] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: list[ObjectId] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class Prepared:
    """A plan with all that is needed to execute it.

    Attributes:
        plan: what is to be done; with refusals it cannot be executed.
        inspected: what the look at its changes found.
    """

    plan: Plan
    inspected: Inspected
    scoped: Scoped
    state: LiveState
    wanted: dict[ObjectId, Wanted]
    index: ResourceIndex
    options: Options
    forced: set[ObjectId] = field(default_factory=set)


async def prepare(
    api: KubeApi,
    platform: RenderedPlatform,
    *,
    apps: frozenset[str] = frozenset(),
    options: Options | None = None,
) -> Prepared:
    """Look at the cluster and decide what an apply does; changes nothing.

    Args:
        api: the cluster.
        platform: the whole rendered tree.
        apps: the apps to apply; none means all.
        options: what the person has allowed.

    Raises:
        UnknownKind: nothing defines a kind of the tree.
        ApiError: see `argosy.kube.errors`.
    """
    options = options or Options()
    index = await api.resources()
    kinds = {(o.id.group, o.id.kind) for o in platform.objects()}
    if any(index.find(group, None, kind) is None for group, kind in kinds):
        index = await api.resources(fresh=True)  # what is remembered may be older than the CRDs
    everything = scope(platform, index)
    chosen = everything.platform.only(apps)
    scoped = Scoped(chosen, {o.id: everything.resources[o.id] for o in chosen.objects()})
    state = await read_live(api, platform.name, platform.env, wanted=scoped.resources, index=index)
    wanted = _wanted(chosen, await changed_secrets(api, chosen, state))
    plan = make_plan(
        wanted,
        state,
        apps=frozenset(app.name for app in platform.apps),
        options=_with_orphans(options, apps),
        elsewhere=everything.resources,
    )
    prepared = Prepared(plan, Inspected(), scoped, state, wanted, index, options)
    if plan.of("update", "adopt", "prune"):
        await _inspect(api, prepared)
    return prepared


def _with_orphans(options: Options, apps: frozenset[str]) -> Options:
    return msgspec.structs.replace(options, orphans=options.orphans and not apps)


def _wanted(platform: RenderedPlatform, changed: frozenset[ObjectId]) -> dict[ObjectId, Wanted]:
    wanted = {}
    for app in platform.apps:
        part_of = applyset_id(parent_name(platform.name, platform.env, app.name))
        for found in app.objects:
            digest = payload_digest(found, part_of)
            if found.id in changed:
                digest = ""
            wanted[found.id] = Wanted(app.name, digest, part_of)
    return wanted


async def _inspect(api: KubeApi, prepared: Prepared) -> None:
    rendered = {o.id: o for o in prepared.scoped.platform.objects()}
    scaled = scaled_by_others(
        (o.id, o.object()) for o in rendered.values() if o.id.kind == "HorizontalPodAutoscaler"
    )

    def resource_of(id_: ObjectId) -> Resource | None:
        return prepared.index.find(id_.group, _version(rendered.get(id_)), id_.kind)

    def send(found: RenderedObject) -> bytes:
        resource = prepared.scoped.resources[found.id]
        part_of = prepared.wanted[found.id].part_of
        return payload(found, part_of, namespaced=resource.namespaced, scaled=scaled)

    inspected = await inspect_plan(
        api, prepared.plan, rendered=rendered, resource_of=resource_of, send=send
    )
    prepared.inspected = inspected
    settle_hazards(prepared.plan, inspected.hazards, options=prepared.options)
    for id_, fields in inspected.conflicts.items():
        managers = {f.manager for f in fields}
        if managers <= prepared.options.force or (
            prepared.options.adopt and all(map(is_tool, managers))
        ):
            prepared.forced.add(id_)
        else:
            prepared.plan.refusals.append(conflict_sentence(id_, fields))
    for id_, message in inspected.invalid.items():
        prepared.plan.refusals.append(f"{id_}: the API server would refuse it: {message}")


def conflict_sentence(id_: ObjectId, fields: Any) -> str:
    """Return what a person is told about fields that others own."""
    by: dict[str, list[str]] = {}
    for owned in fields:
        by.setdefault(owned.manager, []).append(owned.path)
    owners = "; ".join(f"{manager} owns {', '.join(paths)}" for manager, paths in by.items())
    adopt = "--adopt takes over what tools made, " if any(map(is_tool, by)) else ""
    names = " ".join(f"--force-conflicts {manager}" for manager in by)
    return f"{id_}: {owners}; {adopt}{names} takes the fields all the same"


def _version(found: RenderedObject | None) -> str | None:
    """Return the API version that a manifest is written in, read from its first lines."""
    if found is None:
        return None
    for line in found.text.splitlines():
        if line.startswith("apiVersion:"):
            return line.partition(":")[2].strip().strip("\"'").rpartition("/")[2]
    return str(found.object().get("apiVersion", "")).rpartition("/")[2]


class Applying:
    """Executes a plan.

    Args:
        api: the cluster.
        prepared: the plan, from `prepare`.
        board: where progress goes.
        timeout: seconds that one gate may take.
        wait: wait at the end until every workload is rolled out.
        purpose: what others are told who want to write meanwhile.
    """

    def __init__(
        self,
        api: KubeApi,
        prepared: Prepared,
        *,
        board: Board | None = None,
        timeout: float = TIMEOUT,
        wait: bool = True,
    ) -> None:
        self._api = api
        self._it = prepared
        self._board = board or Board()
        self._timeout = timeout
        self._wait = wait
        platform = prepared.scoped.platform
        self._lease = Lease(api, holder=this_process(), purpose=f"apply {platform.name}")
        self._records: dict[ObjectId, Record] = {}
        self._removed: set[ObjectId] = set()
        self._verbs = {a.id: a for a in prepared.plan.actions}
        self.report = Report(prepared.plan)

    async def run(self) -> Report:
        """Execute the plan.

        Raises:
            ApplyRefused: the plan has refusals; nothing was changed.
            LeaseHeld: somebody else is writing.
            Incomplete: some objects failed; the others are applied.
            ApiError: the API server went away, or does not know us.
        """
        plan = self._it.plan
        if plan.refusals:
            raise ApplyRefused(
                "nothing was changed: "
                + "; ".join(plan.refusals[:3])
                + (f"; and {len(plan.refusals) - 3} more" if len(plan.refusals) > 3 else "")
            )
        await self._write() if plan.writes else await self._only_wait()
        if self.report.failed:
            raise self._incomplete()
        return self.report

    async def _only_wait(self) -> None:
        """Nothing is to be written: no lease, no writes, one look at the workloads."""
        await self._with_watches(Tree(self._it.scoped.platform), frozenset())

    async def _write(self) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        await self._make_namespace()
        await self._lease.acquire()
        keeper = asyncio.create_task(self._lease.keep(), name="lease")
        try:
            await self._parents(before=True)
            tree = Tree(self._it.scoped.platform)
            acting = frozenset(
                a.id for a in self._it.plan.of("create", "update", "adopt", "replace")
            )
            self.report.seconds["prepare"] = clock() - started
            await self._with_watches(tree, acting)
        finally:
            keeper.cancel()
            # an interrupted apply leaves a true inventory and a free lease, if it still can
            with contextlib.suppress(ApiError):
                await asyncio.shield(self._parents(before=False))
            await asyncio.shield(self._lease.release())

    async def _with_watches(self, tree: Tree, acting: frozenset[ObjectId]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                ready = Readiness(
                    self._api,
                    group,
                    definitions={d.id: d for d in tree.definitions.values()},
                    index=self._it.index,
                    timeout=self._timeout,
                    simulated=bool(acting) and await is_simulated(self._api),
                )
                ticker = group.create_task(self._tick(ready), name="board")
                await self._apply_and_wait(tree, acting, ready)
                ticker.cancel()
                ready.close()
        except BaseExceptionGroup as failures:
            raise first_error(failures) from None

    async def _apply_and_wait(
        self, tree: Tree, acting: frozenset[ObjectId], ready: Readiness
    ) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        scaled = scaled_by_others(tree.objects.items())

        async def perform(found: RenderedObject) -> None:
            await self._apply(found, scaled, ready, tree)
            self.report.applied.append(found.id)
            self._board.applied(len(self.report.applied), len(acting))

        if acting:
            outcome = await carry_out(tree.order(), acting, Work(perform, ready.wait))
            self._take(outcome)
            self.report.seconds["apply"] = clock() - started
        if not self.report.failed:
            await self._prune()
        if self._wait and not self.report.failed:
            started = clock()
            await self._until_ready(tree, ready)
            self.report.seconds["wait"] = clock() - started

    def _take(self, outcome: Outcome) -> None:
        self.report.skipped += outcome.skipped
        for key, error in outcome.failed.items():
            self.report.failed[str(key)] = str(error)

    def _incomplete(self) -> Incomplete:
        failed = list(self.report.failed.items())
        first = "; ".join(f"{name}: {reason}" for name, reason in failed[:3])
        more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        behind = f"; {len(self.report.skipped)} wait behind" if self.report.skipped else ""
        return Incomplete(
            f"{len(self.report.applied)} objects were applied, {len(failed)} failed: "
            f"{first}{more}{behind}",
            hint="the same command goes on from here",
        )

    # -- one object ------------------------------------------------------------------------------

    async def _apply(
        self, found: RenderedObject, scaled: frozenset[ObjectId], ready: Readiness, tree: Tree
    ) -> None:
        await self._lease.check()
        wanted = self._it.wanted[found.id]
        resource = self._resource(found, tree)
        body = payload(found, wanted.part_of, namespaced=resource.namespaced, scaled=scaled)
        action = self._verbs[found.id]
        if action.verb == "replace":
            await self._delete_first(action, resource)
        if action.verb == "adopt" or (self._it.options.adopt and action.verb == "update"):
            await self._take_over(action, resource)
        try:
            live = await self._api.apply(
                body,
                resource=resource,
                name=found.id.name,
                namespace=found.id.namespace,
                force=action.verb == "adopt" or found.id in self._it.forced,
            )
        except Conflict as error:
            raise Incomplete(conflict_sentence(found.id, error.fields)) from error
        metadata = live["metadata"]
        self._records[found.id] = Record(wanted.digest, metadata["uid"], own_fields(metadata))
        ready.expect(found.id, live)

    def _resource(self, found: RenderedObject, tree: Tree) -> Resource:
        known = self._it.scoped.resources[found.id]
        version = _version(found) or known.version
        own = tree.definitions.get((found.id.group, found.id.kind))
        plural = own.plural if own else known.plural
        return Resource(known.group, version, plural, known.kind, namespaced=known.namespaced)

    async def _delete_first(self, action: Action, resource: Resource) -> None:
        id_ = action.id
        place = id_.namespace or None
        with contextlib.suppress(NotFound):
            await self._api.delete(
                resource, id_.name, place, uid=action.uid, propagation="Foreground"
            )
        pause, waited = 0.05, 0.0
        while (live := await self._api.find(resource, id_.name, place)) is not None:
            if live["metadata"]["uid"] != action.uid:
                return
            if waited > GONE:
                held = ", ".join(live["metadata"].get("finalizers") or ()) or "nothing that shows"
                raise GateClosed(
                    f"{id_} was deleted to be replaced and does not go: held by {held}"
                )
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 2, 1.0)

    async def _take_over(self, action: Action, resource: Resource) -> None:
        id_ = action.id
        live = await self._api.find(resource, id_.name, id_.namespace or None)
        if live is not None:
            await take_over(self._api, resource, live)

    # -- the rest --------------------------------------------------------------------------------

    async def _prune(self) -> None:
        going = self._it.plan.of("prune")
        ranks = sorted({-apply_rank(a.id) for a in going})
        for rank in ranks:
            layer = [a for a in going if -apply_rank(a.id) == rank]
            await together([self._delete(a) for a in layer], name="prune")

    async def _delete(self, action: Action) -> None:
        await self._lease.check()
        resource = self._it.index.find(action.id.group, None, action.id.kind)
        if resource is None:
            return
        try:
            await self._api.delete(
                resource, action.id.name, action.id.namespace or None, uid=action.uid
            )
        except NotFound:
            pass
        except Conflict:
            self._board.said(f"{action.id} was made anew meanwhile and stays")
            return
        self._removed.add(action.id)
        self.report.deleted.append(action.id)

    async def _until_ready(self, tree: Tree, ready: Readiness) -> None:
        workloads = [id_ for id_ in tree.templates if id_[:2] in WORKLOADS]

        async def one(id_: ObjectId) -> None:
            try:
                await ready.wait_healthy(id_)
            except GateClosed as error:
                self.report.failed[str(id_)] = error.message

        await together([one(id_) for id_ in workloads], name="wait")

    async def _tick(self, ready: Readiness) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._board.waiting(ready.waiting())

    async def _make_namespace(self) -> None:
        if NAMESPACE not in self._it.state.namespaces:
            labels = {"app.kubernetes.io/managed-by": "argosy"}
            obj = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": NAMESPACE, "labels": labels},
            }
            await self._api.apply(obj, resource=NAMESPACES)

    async def _parents(self, *, before: bool) -> None:
        platform = self._it.scoped.platform
        parents = _parents_of(self._it, self._records, self._removed, before=before)
        calls = []
        for parent in parents:
            if parent.records or parent.kinds:
                obj = write_parent(platform.name, platform.env, parent)
                calls.append(self._api.apply(obj, resource=CONFIG_MAP, force=True))
            else:
                name = parent_name(platform.name, platform.env, parent.app)
                calls.append(self._forget(name))
        await together(calls, name="inventory")

    async def _forget(self, name: str) -> dict[str, Any]:
        with contextlib.suppress(NotFound):
            return await self._api.delete(CONFIG_MAP, name, NAMESPACE)
        return {}


def _parents_of(
    it: Prepared,
    records: Mapping[ObjectId, Record],
    removed: set[ObjectId],
    *,
    before: bool,
) -> list[Parent]:
    """Return the parents as they are to be written.

    Before the first write a parent names the kinds of old and new members, so that an interrupted
    apply leaks nothing, and forgets what it knew of the objects that are going to change.
    Behind the last write it knows what was written.
    """
    acting = {a.id: a.app for a in it.plan.of("create", "update", "adopt", "replace")}
    members: dict[str, set[ObjectId]] = {}
    for id_, wanted in it.wanted.items():
        members.setdefault(wanted.app, set()).add(id_)
    apps_of = {parent.id: parent.app for parent in it.state.parents.values()}
    for live in it.state.objects.values():
        app = apps_of.get(live.part_of)
        if app is not None and live.id not in removed and live.id not in it.wanted:
            members.setdefault(app, set()).add(live.id)
    touched = {*acting.values(), *(a.app for a in it.plan.of("prune"))}
    made = []
    for app in sorted(touched):
        old = it.state.parents.get(app)
        known = dict(old.records) if old else {}
        for id_ in acting:
            known.pop(id_, None)
        if not before:
            known.update({id_: r for id_, r in records.items() if acting.get(id_) == app})
        inside = members.get(app, set())
        made.append(_parent(it, app, inside, known, old if before else None))
    return made


def _parent(
    it: Prepared,
    app: str,
    members: set[ObjectId],
    known: Mapping[ObjectId, Record],
    old: Parent | None,
) -> Parent:
    platform = it.scoped.platform
    kinds = {(i.group, i.kind) for i in members} | (set(old.kinds) if old else set())
    spaces = {i.namespace for i in members} | (set(old.namespaces) if old else set())
    return Parent(
        app=app,
        id=applyset_id(parent_name(platform.name, platform.env, app)),
        kinds=frozenset(kinds),
        namespaces=frozenset(spaces),
        records={id_: record for id_, record in known.items() if id_ in members},
    )
