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
from argosy.platform.config import load_platform
from argosy.platform.init import plan_init, write_init
from argosy.platform.locking import lock_platform
from argosy.platform.places import LOCK_FILE
from argosy.platform.render import render
from argosy.platform.withheld import load_with_secrets
from argosy.sources.blobs import BlobStore
from argosy.sources.choose import fetcher_for
from argosy.sources.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path

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
    """

    folder: Path
    preset: str = KUBEFLOW
    why: str = ""
    kubeconfig: Path | None = None
    steps: list[Step] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)


class Demo:
    """The demo.

    Args:
        folder: the platform's directory; one that exists is used as it is.
        name: the local cluster's name.
        mirror: stands for the network, when given.
        cache: the cache's root.
        env: the process environment.
        progress: told of long steps.
        release: the Kubeflow release; the newest when left out.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        mirror: Path | None,
        cache: Path,
        env: Mapping[str, str],
        progress: Progress,
        release: str | None = None,
    ) -> None:
        self.report = DemoReport(folder)
        self._name = name
        self._mirror = mirror
        self._cache = cache
        self._env = dict(env)
        self._progress = progress
        self._release = release
        self._result = ""

    def prepare(self) -> None:
        """Lock, render and check the platform, and start the cluster.

        Raises:
            ArgosyError: the step that failed says what and why; run again to go on.
        """
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="tools") as pool:
            kustomize = pool.submit(self._tool, "kustomize")
            control_plane = pool.submit(self._tool, "cluster")
            try:
                self._sources()
                self._render(kustomize)
                self._check()
                self._cluster(control_plane)
            except BaseException:
                control_plane.cancel()
                raise

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
            self.report.preset = KUBEFLOW if load_platform(folder).platform.kubeflow else EXAMPLE
            if self.report.preset == EXAMPLE:
                self.report.why = f"that is what stands in {folder}"
        else:
            write_init(folder, plan_init(folder, preset=KUBEFLOW, release=self._release))
        if self.report.preset == EXAMPLE:
            return
        with self._step("lock"):
            try:
                self._result = self._lock()
            except FetchError as error:
                if self._mirror is not None or (folder / LOCK_FILE).exists():
                    raise
                self.report.preset, self.report.why = EXAMPLE, str(error)
                for name in plan_init(folder / "again", preset=KUBEFLOW):
                    (folder / name).unlink()
                write_init(folder, plan_init(folder, preset=EXAMPLE))
                self._result = "no network and no mirror: the example platform"

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
                self._result += ", every workload available"

        with self._step("apply"):
            asyncio.run(run())
        return self.report
