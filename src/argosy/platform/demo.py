"""Bring up the example platform on a local cluster, step by step, each with its time.

With a mirror or a network that is Kubeflow; with neither it is the small platform that comes with
argosy, and the report says why. The cluster's binary is compiled (minutes, once) while the
platform is locked, rendered and checked. Every step can be interrupted and goes on when the demo
is run again.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argosy.dev import cluster, toolchain
from argosy.errors import OutsideError
from argosy.kube import KubeApi, load_kubeconfig
from argosy.platform import check
from argosy.platform.apply import Applying, prepare
from argosy.platform.catalogue import load_catalogue, releases
from argosy.platform.config import load_platform
from argosy.platform.health import assess
from argosy.platform.init import plan_init, write_init
from argosy.platform.locking import lock_platform
from argosy.platform.render import render
from argosy.platform.withheld import load_with_secrets
from argosy.sources.blobs import BlobStore
from argosy.sources.choose import fetcher_for
from argosy.sources.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from argosy.manifests import Manifest
    from argosy.platform.board import Board
    from argosy.progress import Progress

    OpenBoard = Callable[[str], AbstractContextManager[Board]]

__all__ = ["Demo", "DemoReport", "Step"]

EXAMPLE, KUBEFLOW = "example", "kubeflow"


@dataclass(frozen=True)
class Step:
    """One step: its name, what came of it, and the seconds that it took."""

    name: str
    result: str
    seconds: float


@dataclass
class DemoReport:
    """What the demo brought up.

    Attributes:
        folder: the platform's directory, the user's to play with.
        preset: `kubeflow` or `example`.
        why: why it is the example and not Kubeflow; "" when it is Kubeflow.
        kubeconfig: of the local cluster.
        steps: what was done.
        logins: user and place of the password of each login that was made.
        running: what the cluster says runs: of each kind how many are available, and how many
            there are.
        ending: the command that takes the local cluster down; none for one that was given.
    """

    folder: Path
    preset: str = KUBEFLOW
    why: str = ""
    kubeconfig: Path | None = None
    steps: list[Step] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    running: dict[str, tuple[int, int]] = field(default_factory=dict)
    ending: tuple[str, ...] = ()


class Demo:
    """The demo.

    Args:
        folder: the platform's directory, used as it is when it holds one; None for a folder of
            its own in the cache, one for each release.
        name: the local cluster's name.
        mirror: stands for the network, when given.
        cache: the cache's root.
        env: the process environment.
        progress: told of long steps.
        release: the Kubeflow release; the newest when left out.
        kubeconfig: of a cluster to use instead of a local one; nothing is built or started then.

    Raises:
        CatalogueError: the release is not catalogued.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        name: str,
        mirror: Path | None,
        cache: Path,
        env: Mapping[str, str],
        progress: Progress,
        release: str | None = None,
        kubeconfig: Path | None = None,
    ) -> None:
        self._release = release or releases()[0]
        load_catalogue(self._release)  # says so before anything is built
        self._home = cache / "demo" / name
        self._given = folder is not None
        self.report = DemoReport(folder or self._home / f"{KUBEFLOW}-{self._release}")
        self._name = name
        self._mirror = mirror
        self.report.kubeconfig = kubeconfig
        self._cache = cache
        self._env = dict(env)
        self._progress = progress
        self._result = ""

    def prepare(self) -> None:
        """Lock, render and check the platform, and start the cluster.

        Raises:
            ArgosyError: the step that failed says what and why; run again to go on.
        """
        self._sources()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tools") as pool:
            kustomize = pool.submit(self._tool, "kustomize")
            given = self.report.kubeconfig is not None
            control_plane = None if given else pool.submit(self._tool, "cluster")
            self._render(kustomize)
            self._check()
            if control_plane is not None:
                self._cluster(control_plane)

    def _tool(self, name: str) -> Path:
        return toolchain.ensure(name, cache=self._cache, env=self._env, progress=self._progress)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        self._result = ""
        yield
        self.report.steps.append(Step(name, self._result, time.monotonic() - started))

    def _sources(self) -> None:
        folder = self.report.folder
        if (folder / "platform.yaml").exists():
            if load_platform(folder).platform.kubeflow is None:
                self.report.preset, self.report.why = EXAMPLE, f"that is what stands in {folder}"
                return
        else:
            write_init(folder, plan_init(folder, preset=KUBEFLOW, release=self._release))
        with self._step("lock"):
            try:
                self._result = self._lock()
            except FetchError as error:
                if self._mirror is not None or self._given:
                    raise
                self._example(str(error))
                self._result = "no network and no mirror: the example platform"

    def _example(self, why: str) -> None:
        """Go on with the example, in a folder of its own, so that a later run may do better."""
        folder = self._home / EXAMPLE
        self.report.folder, self.report.preset, self.report.why = folder, EXAMPLE, why
        if not (folder / "platform.yaml").exists():
            write_init(folder, plan_init(folder, preset=EXAMPLE, name="demo"))

    def _lock(self) -> str:
        fetcher = fetcher_for(
            self._mirror, cache=self._cache, env=self._env, progress=self._progress
        )
        lock, _ = lock_platform(
            self.report.folder,
            fetcher=fetcher,
            blobs=BlobStore(self._cache),
            progress=self._progress,
        )
        files = sum(len(source.files) for source in lock.sources.values())
        return f"{files} files of {len(lock.sources)} sources pinned"

    def _render(self, kustomize: Future[Path]) -> None:
        with self._step("kustomize"):
            place = kustomize.result().parent
            self._result = "ready"
            self._env["PATH"] = f"{place}:{self._env.get('PATH', '')}"
        with self._step("render"):
            done = render(
                load_platform(self.report.folder),
                cache=self._cache,
                env=self._env,
                progress=self._progress,
            )
            built = len(done.built)
            self._result = f"{done.objects} objects, {built} apps built, {len(done.reused)} reused"
            self.report.logins = [
                f"{one.user} ({one.use}): password in {done.store}/credentials.yaml"
                for one in done.credentials
            ]

    def _check(self) -> None:
        with self._step("check"):
            loaded = load_platform(self.report.folder)
            rendered, withheld = check.load_checked(self.report.folder, loaded.env)
            found = check.run(rendered, withheld=withheld)
            self._result = found.summary()

    def _cluster(self, binary: Future[Path]) -> None:
        with self._step("control plane"):
            binary.result()
            self._result = "built"
        with self._step("cluster"):
            up = cluster.up(self._name, env=self._env, cache=self._cache, progress=self._progress)
            self.report.kubeconfig = up.kubeconfig
            self.report.ending = (f"argosy dev down --name {self._name} --delete",)
            self._result = f"a real Kubernetes API server at {up.server}"

    def apply(self, open_board: OpenBoard) -> DemoReport:
        """Bring the platform to the cluster and return what the demo did.

        Raises:
            ArgosyError: something was not applied, or did not become ready.
        """
        if self.report.kubeconfig is None:
            raise OutsideError("the cluster did not start", hint="run the demo again")
        platform = load_with_secrets(self.report.folder, "default")
        config = load_kubeconfig(self.report.kubeconfig, None, self._env)

        async def run() -> None:
            async with KubeApi(config) as api:
                prepared = await prepare(api, platform)
                with open_board("apply") as board:
                    done = await Applying(api, prepared, board=board).run()
                unchanged = len(prepared.plan.unchanged)
                self._result = f"{len(done.applied)} objects applied, {unchanged} unchanged"
                self.report.running = await _running(api)

        with self._step("apply"):
            asyncio.run(run())
        return self.report


async def _running(api: KubeApi) -> dict[str, tuple[int, int]]:
    """Ask the cluster what is available."""
    index = await api.resources()
    counts: dict[str, tuple[int, int]] = {}
    for name, group, kind in (
        ("Deployments", "apps", "Deployment"),
        ("StatefulSets", "apps", "StatefulSet"),
        ("pods", "", "Pod"),
        ("nodes", "", "Node"),
    ):
        resource = index.find(group, None, kind)
        found = [obj async for obj in api.list(resource)] if resource else []
        counts[name] = (sum(_is_up(obj) for obj in found), len(found))
    return counts


def _is_up(obj: Manifest) -> bool:
    if obj["kind"] != "Node":
        return assess(obj).state == "healthy"
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any((c["type"], c["status"]) == ("Ready", "True") for c in conditions)
