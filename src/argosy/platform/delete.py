"""Take a platform down in the reverse of the order in which it came up.

Deletes members of its ApplySets that carry argosy's own mark, each by its uid, and nothing else.
Custom resources go first and are waited for, since their controllers take the finalizers off.
CRDs, Namespaces, PVCs and Profiles take others with them and stay unless they are named.

Interrupted at any point, the same command goes on: what is gone is gone, the rest is found again.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from argosy.errors import ArgosyError
from argosy.kube import ApiError, Conflict, NotFound
from argosy.manifests import apply_rank
from argosy.platform.applyset import NAMESPACE, parent_name, write_parent
from argosy.platform.board import Board, Waiting
from argosy.platform.finalizers import held_by
from argosy.platform.lease import Lease, this_process
from argosy.platform.live import CONFIG_MAP, LiveObject, LiveState, members, read_live
from argosy.platform.named import is_named, names_nothing
from argosy.platform.readiness import WORKLOADS
from argosy.platform.tasks import together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.kube import KubeApi, Resource, ResourceIndex
    from argosy.manifests import ObjectId

__all__ = ["DeleteOptions", "Deleting", "Deletion", "StillThere", "plan_deletion", "read_members"]

TIMEOUT = 120.0  # seconds until what still is there is reported
FIRST_LOOK, LAST_LOOK = 0.1, 2.0  # seconds between two looks at what is going, growing


class StillThere(ArgosyError):
    """Some objects did not go (exit code 1)."""

    exit_code = 1


class DeleteOptions(msgspec.Struct, frozen=True):
    """What the person who deletes has allowed.

    Attributes:
        crds: delete the CustomResourceDefinitions, and with them every custom resource.
        namespaces: delete the Namespaces, and with them all that is inside.
        pvcs: delete the PersistentVolumeClaims, and with them the data.
        profiles: delete the Profiles, and with them the users' namespaces.
        names: objects of these kinds that may go, as `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    """

    crds: bool = False
    namespaces: bool = False
    pvcs: bool = False
    profiles: bool = False
    names: frozenset[str] = frozenset()


class Deletion(msgspec.Struct):
    """What is deleted, layer by layer, and what is kept.

    Attributes:
        layers: what goes, the first first.
        kept: what stays until it is named.
        parents: the ids of the ApplySets; those whose last member is gone go too.
        notes: what the person may have meant otherwise.
    """

    layers: list[list[LiveObject]]
    kept: list[LiveObject]
    parents: frozenset[str] = frozenset()
    notes: list[str] = []

    @property
    def count(self) -> int:
        """Return how many objects go."""
        return sum(map(len, self.layers))


def plan_deletion(
    state: LiveState, *, apps: frozenset[str] = frozenset(), options: DeleteOptions
) -> Deletion:
    """Return what a deletion does.

    Names that mean nothing are told and no mistake: an earlier run may have deleted it.

    Args:
        state: what is in the cluster.
        apps: the apps to delete; none means all.
        options: what the person has allowed.
    """
    ids = {p.id for p in state.parents.values() if not apps or p.app in apps}
    # the mark and the membership: Kubernetes copies labels to objects of its own
    members = [o for o in state.objects.values() if o.part_of in ids and o.fields]
    kept = sorted((o for o in members if not _may_go(o.id, options)), key=lambda o: o.id)
    going = [o for o in members if o not in kept]
    layers: dict[int, list[LiveObject]] = {}
    for found in sorted(going, key=lambda o: o.id):
        layers.setdefault(-apply_rank(found.id), []).append(found)
    notes = list(
        names_nothing(
            options.names, [o.id for o in members], option="--delete", what="was applied by argosy"
        )
    )
    return Deletion([layers[rank] for rank in sorted(layers)], kept, frozenset(ids), notes)


def _may_go(id_: ObjectId, options: DeleteOptions) -> bool:
    allowed = {
        ("apiextensions.k8s.io", "CustomResourceDefinition"): options.crds,
        ("", "Namespace"): options.namespaces,
        ("", "PersistentVolumeClaim"): options.pvcs,
        ("kubeflow.org", "Profile"): options.profiles,
    }
    return allowed.get((id_.group, id_.kind), True) or is_named(id_, options.names)


async def read_members(api: KubeApi, platform: str, env: str) -> tuple[LiveState, ResourceIndex]:
    """Return what argosy has applied of a platform, and what the cluster serves.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    index = await api.resources(fresh=True)
    return await read_live(api, platform, env, wanted={}, index=index), index


@dataclass
class Gone:
    """What a deletion did."""

    deleted: list[ObjectId] = field(default_factory=list)
    kept: list[ObjectId] = field(default_factory=list)


class Deleting:
    """Executes a deletion.

    Args:
        api: the cluster.
        platform: the platform's name.
        env: the environment.
        deletion: the plan, from `plan_deletion`.
        state: what the plan was made from.
        index: what the cluster serves.
        board: where progress goes.
        timeout: seconds that one layer may take to go.
    """

    def __init__(
        self,
        api: KubeApi,
        platform: str,
        env: str,
        *,
        deletion: Deletion,
        state: LiveState,
        index: ResourceIndex,
        board: Board | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._api = api
        self._name = (platform, env)
        self._deletion = deletion
        self._state = state
        self._index = index
        self._board = board or Board()
        self._timeout = timeout
        self._lease = Lease(api, holder=this_process(), purpose=f"delete {platform}")
        self.gone = Gone(kept=[o.id for o in deletion.kept])

    async def run(self) -> Gone:
        """Execute the deletion.

        Raises:
            LeaseHeld: somebody else is writing.
            StillThere: some objects did not go in time; says what holds each.
            ApiError: see `argosy.kube.errors`.
        """
        await self._lease.acquire()
        keeper = asyncio.create_task(self._lease.keep(), name="lease")
        try:
            await self._layers()
            await self._forget()
        finally:
            keeper.cancel()
            await asyncio.shield(self._lease.release())
        return self.gone

    async def _layers(self) -> None:
        waited_for: list[LiveObject] = []
        for layer in self._deletion.layers:
            await together([self._delete(found) for found in layer], name="delete")
            waited_for += layer
            if any(self._is_controlled(found.id) for found in layer):
                await self._until_gone(waited_for)
                waited_for = []
        await self._until_gone(waited_for)

    def _is_controlled(self, id_: ObjectId) -> bool:
        """Say whether a controller of the platform may have to clean up behind an object."""
        return "." in id_.group and not id_.group.endswith(".k8s.io")

    async def _delete(self, found: LiveObject) -> None:
        await self._lease.check()
        resource = self._resource(found.id)
        if resource is None:
            return
        try:
            await self._api.delete(
                resource, found.id.name, found.id.namespace or None, uid=found.uid
            )
        except NotFound:
            pass
        except Conflict:
            self._board.said(f"{found.id} was made anew meanwhile and stays")
            return
        self.gone.deleted.append(found.id)
        self._board.applied(len(self.gone.deleted), self._deletion.count)

    def _resource(self, id_: ObjectId) -> Resource | None:
        return self._index.find(id_.group, None, id_.kind)

    async def _until_gone(self, objects: Iterable[LiveObject]) -> None:
        clock = asyncio.get_running_loop().time
        started, pause = clock(), FIRST_LOOK
        left = list(objects)
        while left := await self._left(left):
            waited = clock() - started
            if waited > self._timeout:
                raise StillThere(await self._sentence(left), hint="then run the same command again")
            self._board.waiting(
                [
                    Waiting(f"{o.id} to go", held_by(o.finalizers, ()) or "", waited)
                    for o in left
                    if o.finalizers
                ]
            )
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK)

    async def _left(self, objects: list[LiveObject]) -> list[LiveObject]:
        """Return those of some objects that are still there, one list for each kind."""
        kinds = {(o.id.group, o.id.kind) for o in objects}
        names = {o.uid for o in objects}
        state = await together(
            [self._members(*kind) for kind in sorted(kinds)], name="look what is left"
        )
        return [found for part in state for found in part if found.uid in names]

    async def _members(self, group: str, kind: str) -> list[LiveObject]:
        resource = self._index.find(group, None, kind)
        if resource is None:
            return []
        try:
            return await members(self._api, resource)
        except NotFound:
            return []  # the kind went with its definition

    async def _sentence(self, left: list[LiveObject]) -> str:
        running = await self._running()
        held = [
            f"{o.id}: {held_by(o.finalizers, running) or 'nothing that shows holds it'}"
            for o in left[:5]
        ]
        more = f"; and {len(left) - 5} more" if len(left) > 5 else ""
        count = "1 object" if len(left) == 1 else f"{len(left)} objects"
        return f"{count} did not go in {self._timeout:.0f} s: {'; '.join(held)}{more}"

    async def _running(self) -> set[str]:
        found: set[str] = set()
        for resource in WORKLOADS.values():
            with contextlib.suppress(ApiError):
                listing = self._api.list(resource, metadata_only=True)
                found |= {o["metadata"]["name"] async for o in listing}
        return found

    async def _forget(self) -> None:
        """Bring the parents in line: one whose last member is gone goes too."""
        platform, env = self._name
        gone = set(self.gone.deleted)
        # also those that an interrupted run has emptied
        selected = [p for p in self._state.parents.values() if p.id in self._deletion.parents]
        for parent in selected:
            left = {
                o.id
                for o in self._state.objects.values()
                if o.part_of == parent.id and o.id not in gone
            }
            if left:
                parent.kinds = frozenset((i.group, i.kind) for i in left)
                parent.namespaces = frozenset(i.namespace for i in left)
                parent.records = {i: r for i, r in parent.records.items() if i in left}
                obj = write_parent(platform, env, parent)
                await self._api.apply(obj, resource=CONFIG_MAP, force=True)
            else:
                with contextlib.suppress(NotFound):
                    name = parent_name(platform, env, parent.app)
                    await self._api.delete(CONFIG_MAP, name, NAMESPACE)
