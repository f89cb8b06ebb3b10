"""Let one apply write at a time: a Lease in `argosy-system`.

Whoever cannot have it is told who holds it and since when. A holder that was stopped and goes on
later finds out before its next write: `check` renews what has run out, and refuses when somebody
else took over meanwhile. A holder on this machine that is no longer running is taken over at once,
one elsewhere when its time is up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from argosy.errors import OutsideError
from argosy.kube import AlreadyExists, ApiError, Conflict, Resource
from argosy.platform.applyset import NAMESPACE

if TYPE_CHECKING:
    from argosy.kube import KubeApi
    from argosy.manifests import Manifest

__all__ = ["NAME", "Lease", "LeaseHeld", "Surroundings", "this_process"]

NAME = "argosy-platform"
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
DURATION = 15.0  # seconds: how long a crash elsewhere keeps others out
RENEWAL = 5.0  # seconds: two renewals may fail before the lease runs out
MARGIN = 2.0  # seconds: a write that is under way when the lease runs out


class LeaseHeld(OutsideError):
    """Somebody else is applying, or took over while we were stopped."""


class Surroundings(Protocol):
    """Time, and what is known of other processes on this machine."""

    def now(self) -> datetime:
        """Return the time of day."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, stops included."""

    def is_gone(self, holder: str) -> bool:
        """Say whether a holder was a process of this machine that does not run any more."""


class ThisMachine:
    """The real surroundings."""

    def now(self) -> datetime:
        """Return the time of day."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that only ever grow, stops included."""
        return asyncio.get_running_loop().time()

    def is_gone(self, holder: str) -> bool:
        """Say whether a holder was a process of this machine that does not run any more."""
        host, _, rest = holder.partition("/")
        pid, _, started = rest.partition("@")
        if host != socket.gethostname() or not pid.isdigit() or not started:
            return False
        return _started(int(pid)) != started


def this_process() -> str:
    """Return what we call ourselves as a holder: host, process and when that was started."""
    pid = os.getpid()
    return f"{socket.gethostname()}/{pid}@{_started(pid)}"


def _started(pid: int) -> str:
    """Return when a process was started, in clock ticks since boot; "" when it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    # proc(5): state is the first field behind the name, starttime the twentieth
    return "" if fields[0] in {"Z", "X"} else fields[19]


class Lease:
    """The right to write, for as long as it is renewed. Use `held` around what writes.

    Args:
        api: the cluster.
        holder: who we are, from `this_process`.
        purpose: what we do, for whoever is refused ("apply kubeflow").
        surroundings: time and processes.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        holder: str,
        purpose: str,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._api = api
        self._holder = holder
        self._purpose = purpose
        self._around: Surroundings = surroundings or ThisMachine()
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def acquire(self, *, attempts: int = 3) -> None:
        """Take the lease, or renew it.

        Raises:
            LeaseHeld: somebody else has it.
            ApiError: see `argosy.kube.errors`.
        """
        started = self._around.monotonic()
        live = await self._find()
        if live is None:
            try:
                await self._api.create(LEASES, self._body({}, {}), NAMESPACE)
            except AlreadyExists:
                await self.acquire(attempts=attempts)
                return
        else:
            self._refuse_held(live)
            try:
                await self._api.replace(LEASES, self._body(live["metadata"], live["spec"]))
            except Conflict as error:
                # somebody was quicker, or our own first attempt was and its answer was lost
                if attempts <= 1:
                    raise LeaseHeld("others want to write too", hint="try again later") from error
                await self.acquire(attempts=attempts - 1)
                return
        self._until = started + DURATION

    async def check(self) -> None:
        """Make sure that we still hold the lease; call this before each write.

        Raises:
            LeaseHeld: somebody else took over while we were stopped.
            ApiError: see `argosy.kube.errors`.
        """
        if self._around.monotonic() < self._until - MARGIN:
            return
        async with self._lock:
            if self._around.monotonic() >= self._until - MARGIN:
                await self.acquire()

    async def keep(self) -> None:
        """Renew the lease for ever; run it as a task beside the work."""
        while True:
            await asyncio.sleep(RENEWAL)
            # a renewal that fails is made up for by the next one, or by `check` before a write
            with contextlib.suppress(ApiError):
                async with self._lock:
                    await self.acquire()

    async def release(self) -> None:
        """Let others have the lease; one that is not ours any more is left alone."""
        with contextlib.suppress(ApiError):
            live = await self._find()
            if live and (live.get("spec") or {}).get("holderIdentity") == self._holder:
                body = self._body(live["metadata"], live["spec"])
                body["spec"]["holderIdentity"] = ""
                await self._api.replace(LEASES, body)

    async def _find(self) -> Manifest | None:
        selector = f"metadata.name={NAME}"
        async for live in self._api.list(LEASES, NAMESPACE, field_selector=selector):
            return live
        return None

    def _refuse_held(self, live: Manifest) -> None:
        spec: dict[str, Any] = live.get("spec") or {}
        other = spec.get("holderIdentity") or ""
        if other in {"", self._holder} or self._around.is_gone(other):
            return
        renewed = _time(spec.get("renewTime"))
        length = float(spec.get("leaseDurationSeconds") or DURATION)
        left = (renewed + timedelta(seconds=length) - self._around.now()).total_seconds()
        if left <= 0:
            return
        purpose = ((live.get("metadata") or {}).get("annotations") or {}).get("argosy.dev/purpose")
        raise LeaseHeld(
            f"{other} is writing to this platform ({purpose or 'unknown'}, "
            f"since {spec.get('acquireTime', '?')})",
            hint=f"wait until it is done; if it crashed, try again in {left:.0f} s",
        )

    def _body(self, metadata: Manifest, spec: Manifest) -> Manifest:
        now = self._around.now().strftime(_FORMAT)
        mine = spec.get("holderIdentity") == self._holder
        transitions = int(spec.get("leaseTransitions") or 0)
        body: Manifest = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                "labels": {"app.kubernetes.io/managed-by": "argosy"},
                "annotations": {"argosy.dev/purpose": self._purpose},
            },
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": int(DURATION),
                "acquireTime": spec.get("acquireTime") if mine else now,
                "renewTime": now,
                "leaseTransitions": transitions + (0 if mine else 1),
            },
        }
        if "resourceVersion" in metadata:
            body["metadata"]["resourceVersion"] = metadata["resourceVersion"]
        return body


_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def _time(text: Any) -> datetime:
    try:
        return datetime.strptime(str(text), _FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
