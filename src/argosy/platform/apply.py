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

from argosy.errors import ArgosyError
from argosy.kube import ApiError, Conflict, NotFound, Resource
from argosy.manifests import ObjectId, apply_rank
from argosy.platform.adopt import take_over
from argosy.platform.applier import FieldConflict, Outcome, Work, carry_out
from argosy.platform.applyset import (
    NAMESPACE,
    Record,
    parent_name,
    write_parent,
)
from argosy.platform.board import Board
from argosy.platform.dependencies import Tree
from argosy.platform.inventory import parents_of
from argosy.platform.lease import Lease, this_process
from argosy.platform.live import CONFIG_MAP, NAMESPACES, own_fields
from argosy.platform.owners import scaled_by_others
from argosy.platform.payload import payload
from argosy.platform.prepare import Prepared, conflict_sentence, prepare, written_version
from argosy.platform.readiness import WORKLOADS, GateClosed, Readiness, is_simulated
from argosy.platform.tasks import first_error, together
from argosy.platform.waves import Gate

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from argosy.kube import KubeApi
    from argosy.platform.model import RenderedObject
    from argosy.platform.plan import Action, Plan

__all__ = ["ApplyRefused", "Applying", "Board", "Incomplete", "Prepared", "Report", "prepare"]

TIMEOUT = 600.0  # seconds that one gate may take: a large image on a slow line
TICK = 0.25  # seconds between two looks at what is waited for
BEHIND = (0.2, 0.5, 1.0, 2.0)  # seconds; how far API servers of one cluster lag behind each other
GONE = 60.0  # seconds that a replaced object may take to go


class ApplyRefused(ArgosyError):
    """The plan has refusals: nothing was changed (exit code 1)."""

    exit_code = 1


class Incomplete(ArgosyError):
    """Some objects were not applied, or did not become ready (exit code 1)."""

    exit_code = 1


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


class Applying:
    """Executes a plan.

    Args:
        api: the cluster.
        prepared: the plan, from `prepare`.
        board: where progress goes.
        timeout: seconds that one gate may take.
        wait: wait at the end until every workload is rolled out and every kind is served.
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
        self._own_groups: set[str] = set()
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
            self._own_groups = {group for group, _ in tree.definitions}
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
        first = "; ".join(
            reason if name in reason else f"{name}: {reason}" for name, reason in failed[:3]
        )
        more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        behind = f"; {len(self.report.skipped)} wait behind" if self.report.skipped else ""
        count = len(self.report.applied)
        done = "1 object was applied" if count == 1 else f"{count} objects were applied"
        return Incomplete(
            f"{done}, {len(failed)} failed: {first}{more}{behind}",
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
        force = action.verb == "adopt" or found.id in self._it.forced
        live = await self._send(found, body, resource, force=force)
        metadata = live["metadata"]
        self._records[found.id] = Record(wanted.digest, metadata["uid"], own_fields(metadata))
        ready.expect(found.id, live)

    async def _send(
        self, found: RenderedObject, body: bytes, resource: Resource, *, force: bool
    ) -> dict[str, Any]:
        for pause in (*BEHIND, None):
            try:
                return await self._api.apply(
                    body,
                    resource=resource,
                    name=found.id.name,
                    namespace=found.id.namespace,
                    force=force,
                )
            except Conflict as error:
                raise FieldConflict(conflict_sentence(found.id, error.fields)) from error
            except NotFound:
                # one of several API servers may serve a new kind a moment after the others
                if pause is None or found.id.group not in self._own_groups:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def _resource(self, found: RenderedObject, tree: Tree) -> Resource:
        known = self._it.scoped.resources[found.id]
        version = written_version(found) or known.version
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
        calls = {id_: ready.wait_healthy(id_) for id_ in tree.templates if id_[:2] in WORKLOADS}
        # kinds that nothing of the platform waited for: whoever comes next needs them
        calls |= {d.id: ready.wait(Gate("served", d.id)) for d in tree.definitions.values()}

        async def one(id_: ObjectId, call: Awaitable[None]) -> None:
            try:
                await call
            except GateClosed as error:
                self.report.failed[str(id_)] = error.message

        await together([one(id_, call) for id_, call in calls.items()], name="wait")

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
        parents = parents_of(self._it, self._records, self._removed, before=before)
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
