"""Wait for states of the cluster: workloads rolled out, kinds served, webhooks trusted.

One watch for each kind of workload, of our members alone, tells all waiters. What is waited for
is known at any time, with the reason and, after a while, what pods and events say about it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from argosy.errors import ArgosyError
from argosy.kube import ApiError, Resource
from argosy.manifests import ObjectId
from argosy.platform.applyset import PART_OF
from argosy.platform.board import Waiting
from argosy.platform.established import look_at
from argosy.platform.health import Health, assess
from argosy.platform.reasons import why_not_ready

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.kube import KubeApi, ResourceIndex
    from argosy.manifests import Manifest
    from argosy.platform.definitions import Definition
    from argosy.platform.waves import Gate

__all__ = ["WORKLOADS", "GateClosed", "Readiness", "is_simulated"]

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
WORKLOADS = {
    ("apps", "Deployment"): Resource("apps", "v1", "deployments", "Deployment", namespaced=True),
    ("apps", "StatefulSet"): Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True),
    ("apps", "DaemonSet"): Resource("apps", "v1", "daemonsets", "DaemonSet", namespaced=True),
    ("batch", "Job"): Resource("batch", "v1", "jobs", "Job", namespaced=True),
}
CONFIGURATIONS = {
    kind: Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for kind, plural in (
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    )
}
# how nodes say that they are played: by kwok itself, and by argosy's own development cluster
SIMULATED = {"kwok.x-k8s.io/node", "argosy.dev/devcluster"}
# seconds between two questions, one for all who wait; the server renders a long answer for each
# while definitions come in, and asking five times as often costs it a quarter of its time
SERVED_POLL = 0.5
FIRST_POLL, LAST_POLL = 0.05, 1.0  # seconds between two looks, growing
# seconds until a definition is read to see what is wrong with it; an API server that runs in
# several copies takes five to serve a new kind
STUCK = 10.0
LOOK_CLOSER = 3.0  # seconds without success until pods and events are asked for the reason


class GateClosed(ArgosyError):
    """What was waited for did not come (exit code 1)."""

    exit_code = 1


async def is_simulated(api: KubeApi) -> bool:
    """Say whether the cluster's nodes only play that pods run; such pods serve nothing.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    page = await api.list(NODES, metadata_only=True, page=5).next_page()
    marks = [
        {*(node["metadata"].get("annotations") or ()), *(node["metadata"].get("labels") or ())}
        for node in page or ()
    ]
    return bool(marks) and all(SIMULATED & found for found in marks)


class Readiness:
    """Answers when a gate opens; its watches run in the task group that it is given.

    Args:
        api: the cluster.
        group: where the watches run; cancel it to end them.
        definitions: what the tree's CustomResourceDefinitions define.
        index: what the cluster served a moment ago.
        timeout: seconds that one gate may take.
        simulated: pods serve nothing here, so no controller ever makes an authority.
    """

    def __init__(
        self,
        api: KubeApi,
        group: asyncio.TaskGroup,
        *,
        definitions: Mapping[ObjectId, Definition],
        index: ResourceIndex,
        timeout: float,
        simulated: bool,
    ) -> None:
        self._api = api
        self._group = group
        self._definitions = definitions
        self._timeout = timeout
        self._simulated = simulated
        self._watches: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._live: dict[ObjectId, Manifest] = {}
        self._expected: dict[ObjectId, tuple[str, int]] = {}
        self._changed = asyncio.Condition()
        self._index = index
        self._asking = 0
        self._poller: asyncio.Task[None] | None = None
        self._since: dict[str, float] = {}
        self._reasons: dict[str, str] = {}
        self._closer: dict[str, str] = {}
        self._refused: dict[str, str] = {}

    def close(self) -> None:
        """End the watches."""
        for task in (*self._watches.values(), self._poller):
            if task is not None:
                task.cancel()

    def expect(self, id_: ObjectId, live: Manifest) -> None:
        """Remember what an apply returned: an older state from the watch does not count."""
        metadata = live.get("metadata") or {}
        self._expected[id_] = (metadata.get("uid", ""), int(metadata.get("generation") or 0))

    def waiting(self) -> list[Waiting]:
        """Return what is waited for just now, longest first."""
        now = asyncio.get_running_loop().time()
        found = [
            Waiting(what, self._reasons.get(what, ""), now - since)
            for what, since in self._since.items()
        ]
        return sorted(found, key=lambda w: -w.seconds)

    async def wait(self, gate: Gate) -> None:
        """Return when a gate is open.

        Raises:
            GateClosed: it did not open in time, or never will.
            ApiError: see `argosy.kube.errors`.
        """
        what = str(gate)
        await self._timed(
            what,
            {
                "served": self._until_served,
                "healthy": self._until_healthy,
                "trusted": self._until_trusted,
                "namespace": self._until_namespace,
            }[gate.kind](gate.target, what),
        )

    async def wait_healthy(self, id_: ObjectId) -> None:
        """Return when a workload is rolled out.

        Raises:
            GateClosed: it was not in time, or has failed.
            ApiError: see `argosy.kube.errors`.
        """
        await self._timed(
            f"{id_} to be available", self._until_healthy(id_, f"{id_} to be available")
        )

    async def _timed(self, what: str, call: Any) -> None:
        self._since[what] = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timeout):
                await call
        except TimeoutError:
            reason = self._reasons.get(what) or "no reason is known"
            raise GateClosed(
                f"waited {self._timeout:.0f} s for {what}: {reason}",
                hint="run the same command again when that is settled",
            ) from None
        finally:
            self._since.pop(what, None)

    # -- workloads -------------------------------------------------------------------------------

    async def _until_healthy(self, id_: ObjectId, what: str) -> None:
        self._watch((id_.group, id_.kind))
        closer = asyncio.create_task(self._look_closer(id_, what), name=f"reasons of {id_}")
        try:
            async with self._changed:
                while True:
                    health = self.health(id_)
                    if health.state in {"healthy", "suspended"}:
                        return
                    if health.state == "degraded":
                        reason = self._closer.get(what) or health.reason
                        raise GateClosed(f"{id_} has failed: {reason}")
                    self._reasons[what] = self._closer.get(what) or health.reason
                    await self._changed.wait()
        finally:
            closer.cancel()

    def health(self, id_: ObjectId) -> Health:
        """Return the health of a workload, as far as the watch has seen our last change."""
        live = self._live.get(id_)
        if live is None:
            return Health("progressing", "it is not there yet")
        metadata = live["metadata"]
        uid, generation = self._expected.get(id_, ("", 0))
        if uid and (metadata["uid"] != uid or int(metadata.get("generation") or 0) < generation):
            return Health("progressing", "the change has not been seen yet")
        return assess(live)

    def _watch(self, kind: tuple[str, str]) -> None:
        if kind not in self._watches:
            task = self._group.create_task(self._follow(WORKLOADS[kind]), name=f"watch {kind[1]}")
            self._watches[kind] = task

    async def _follow(self, resource: Resource) -> None:
        async for event in self._api.follow(resource, label_selector=PART_OF, patient=False):
            if event.type == "SYNCED":
                continue
            metadata = event.object["metadata"]
            id_ = ObjectId(
                resource.group, resource.kind, metadata.get("namespace") or "", metadata["name"]
            )
            async with self._changed:
                if event.type == "DELETED":
                    self._live.pop(id_, None)
                else:
                    self._live[id_] = event.object
                self._changed.notify_all()

    async def _look_closer(self, id_: ObjectId, what: str) -> None:
        while True:
            await asyncio.sleep(LOOK_CLOSER)
            live = self._live.get(id_)
            self._closer[what] = await why_not_ready(self._api, live) if live else ""
            self._reasons[what] = self._closer[what] or self.health(id_).reason

    # -- the rest --------------------------------------------------------------------------------

    async def _until_served(self, definition: ObjectId, what: str) -> None:
        made = self._definitions[definition]
        if self._index.find(made.group, made.storage, made.kind) is not None:
            return
        self._reasons[what] = "the definition is not established"
        self._asking += 1
        looker = asyncio.create_task(self._look_at(definition, what), name=f"look at {made.kind}")
        try:
            async with self._changed:
                while self._index.find(made.group, made.storage, made.kind) is None:
                    if what in self._refused:
                        raise GateClosed(f"{definition} is not served: {self._refused[what]}")
                    if self._poller is None:
                        self._poller = self._group.create_task(self._poll(), name="poll kinds")
                    await self._changed.wait()
        finally:
            self._asking -= 1
            looker.cancel()

    async def _look_at(self, definition: ObjectId, what: str) -> None:
        while True:
            await asyncio.sleep(STUCK)
            with contextlib.suppress(ApiError):  # the poll says what is wrong with the server
                health = await look_at(self._api, definition.name)
                async with self._changed:
                    self._reasons[what] = health.reason or "the API server is slow to serve it"
                    if health.state == "degraded":
                        self._refused[what] = health.reason
                    self._changed.notify_all()

    async def _poll(self) -> None:
        """Ask what is served, once for all who wait, for as long as somebody does."""
        while self._asking:
            index = await self._api.resources(fresh=True)
            async with self._changed:
                self._index = index
                self._changed.notify_all()
            await asyncio.sleep(SERVED_POLL)
        self._poller = None

    async def _until_trusted(self, configuration: ObjectId, what: str) -> None:
        if self._simulated:
            return
        self._reasons[what] = "no controller has filled in clientConfig.caBundle"
        resource = CONFIGURATIONS[configuration.kind]
        async for _ in _polls():
            live = await self._api.find(resource, configuration.name)
            hooks = (live or {}).get("webhooks") or ()
            if live and all((hook.get("clientConfig") or {}).get("caBundle") for hook in hooks):
                return

    async def _until_namespace(self, namespace: ObjectId, what: str) -> None:
        self._reasons[what] = "its controller has not made it"
        async for _ in _polls():
            if await self._api.find(NAMESPACES, namespace.name) is not None:
                return


async def _polls() -> Any:
    pause = FIRST_POLL
    while True:
        yield None
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LAST_POLL)
