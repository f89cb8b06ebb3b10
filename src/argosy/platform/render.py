"""Render: from platform.yaml and argosy.lock to `rendered/<env>/<app>/`, offline.

An app whose inputs have the digests that the index states, and whose files are as the index
states, is not built. The others are built two at a time, each apart. The old tree stays whole
until the new one is complete; Secrets with data go to the ignored folder instead of the tree.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argosy.platform.apps import check_names, select
from argosy.platform.build import RELEASE_NAMESPACE, Builder, Engines
from argosy.platform.charts import inflates_charts, values_of
from argosy.platform.hold import one_at_a_time
from argosy.platform.indexing import make_index
from argosy.platform.inputs import Inputs, InputsReader
from argosy.platform.namespaced import cluster_kinds, is_namespaced
from argosy.platform.output import AppOutput, split_output, value_digests
from argosy.platform.places import LOCK_FILE, place_of
from argosy.platform.scratch import scratch
from argosy.platform.tree import Index, intact, read_index, sweep, write_tree
from argosy.platform.withheld import Withheld
from argosy.progress import NO_PROGRESS
from argosy.sources.blobs import BlobStore
from argosy.sources.engines import find_helm, find_kustomize
from argosy.sources.errors import KustomizationError, PathError
from argosy.sources.lock import Lock, read_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.progress import Progress
    from argosy.secrets.values import Credential
    from argosy.sources.fetch import Fetcher

__all__ = ["BUILDS", "RenderReport", "Renderer", "plan_render", "render"]

BUILDS = 2  # engines at a time: one a core of the smallest machine; each takes up to 300 MiB
TASK = "render"


@dataclass(frozen=True)
class RenderReport:
    """What a render did.

    Attributes:
        built: seconds that each built app took, by name.
        reused: apps whose inputs had not changed.
        objects: how many objects the tree holds.
        secrets: how many Secrets went to the ignored folder.
        credentials: generated logins that are new.
        store: the ignored folder where Secrets and logins are kept.
        provided: apps left out that the cluster must have, with who needs them.
        left_out: Helm hooks of built apps that a rendered tree has no place for.
        seconds: of the whole.
    """

    built: dict[str, float]
    reused: tuple[str, ...]
    objects: int
    secrets: int
    credentials: tuple[Credential, ...]
    store: Path
    provided: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    seconds: float


def plan_render(
    loaded: LoadedPlatform,
    *,
    cache: Path,
    env: Mapping[str, str],
    apps: Iterable[str] = (),
    out: Path | None = None,
    fetcher: Fetcher | None = None,
) -> dict[str, str]:
    """Return the apps that `render` would build, with the reason, or would drop from the tree.

    Nothing is written. Args and errors: as for `render`.
    """
    root = out or loaded.root
    renderer = Renderer(loaded, cache=cache, env=env, fetcher=fetcher, root=root)
    asked = check_names(apps, renderer.selection)
    index = read_index(root, loaded.env)
    found = renderer.stale(index, asked)
    gone = set(index.apps if index else ()) - set(renderer.selection.apps)
    found |= dict.fromkeys(sorted(gone), "it goes: the platform does not have it any more")
    return found


def render(
    loaded: LoadedPlatform,
    *,
    cache: Path,
    env: Mapping[str, str],
    apps: Iterable[str] = (),
    out: Path | None = None,
    fetcher: Fetcher | None = None,
    progress: Progress = NO_PROGRESS,
) -> RenderReport:
    """Bring the rendered tree of an environment up to date.

    Args:
        loaded: the configuration with its environment.
        cache: the cache's root.
        env: the process environment, to find engines on PATH.
        apps: only these; the others stay as they were rendered last.
        out: another directory to hold `rendered/`; the platform's own when left out.
        fetcher: where locked content that is missing from the cache may be had.
        progress: told of each app.

    Raises:
        ConfigError: the selection contradicts itself.
        LockError: the lock is missing, or does not cover an app.
        EngineError: an engine failed.
        OutputError: two apps render the same object.
        DiskError: the disk refused.
        OutsideError: another argosy is at work in the platform's directory.
    """
    started = time.monotonic()
    root = out or loaded.root
    with one_at_a_time(root):
        sweep(root, loaded.env)
        renderer = Renderer(loaded, cache=cache, env=env, fetcher=fetcher, root=root)
        asked = check_names(apps, renderer.selection)
        index = read_index(root, loaded.env)
        stale = [renderer.selection.apps[name] for name in renderer.stale(index, asked)]
        outputs, took = renderer.build(stale, progress)
        taken = renderer.withheld.take(outputs, renderer.selection)
        outputs = taken.outputs
        new_index = make_index(
            index,
            outputs,
            loaded=loaded,
            selection=renderer.selection,
            digests={app.name: renderer.inputs.digest(app) for app in stale},
            engines=renderer.engines.versions(),
        )
        if outputs or new_index != index or [*new_index.apps] != [*index.apps]:
            contents = {name: output.files for name, output in outputs.items()}
            write_tree(root, loaded.env, new_index, contents)
        renderer.inputs.remember()
    return RenderReport(
        built=took,
        reused=tuple(name for name in new_index.apps if name not in took),
        objects=sum(len(app.files) + len(app.secrets) for app in new_index.apps.values()),
        secrets=sum(len(app.secrets) for app in new_index.apps.values()),
        credentials=taken.credentials,
        store=renderer.withheld.store.folder,
        provided=renderer.selection.provided,
        left_out=tuple(f"{name}: {hook}" for name, out in outputs.items() for hook in out.left_out),
        seconds=time.monotonic() - started,
    )


class Renderer:
    """The steps of a render, for those who need one of them alone (`explain`).

    Args: as for `render`.
    """

    def __init__(
        self,
        loaded: LoadedPlatform,
        *,
        cache: Path,
        env: Mapping[str, str],
        fetcher: Fetcher | None = None,
        root: Path | None = None,
    ) -> None:
        self.loaded = loaded
        self.selection = select(loaded)
        self.withheld = Withheld(root or loaded.root, loaded.env)
        self.lock = _lock_of(loaded, self.selection)
        self.blobs = BlobStore(cache)
        self.engines = _find_engines(self.selection, loaded, self.lock, cache=cache, env=env)
        self._root = root or loaded.root
        self._cache = cache
        self._env = env
        self._fetcher = fetcher
        self.inputs = InputsReader(
            loaded,
            self.selection,
            lock=self.lock,
            cache=cache,
            blobs=self.blobs,
            fetcher=fetcher,
            engines=self.engines.versions(),
        )

    def is_fresh(self, app: App, index: Index | None) -> bool:
        """Say whether the tree holds an app as its inputs would give it."""
        return not self.why_stale(app, index)

    def why_stale(self, app: App, index: Index | None) -> str:
        """Return why an app has to be built, "" when the tree holds it as its inputs give it."""
        known = index.apps.get(app.name) if index else None
        if known is None:
            return "it is not rendered yet"
        with _said_of(app):
            if known.inputs != self.inputs.digest(app):
                return "its inputs have changed"
        if known.values != value_digests(frozenset(known.values), self.loaded.platform.values):
            return "a value that it uses has changed"
        if not self.withheld.has(known.secrets):
            return "a Secret of it is not on this machine"
        if not intact(self._root, self.loaded.env, app.name, known.files):
            return "its rendered files have been changed"
        return ""

    def stale(self, index: Index | None, asked: frozenset[str]) -> dict[str, str]:
        """Return the apps that have to be built, each with the reason; of `asked` alone, if any."""
        found = {
            name: self.why_stale(app, index)
            for name, app in self.selection.apps.items()
            if not asked or name in asked
        }
        return {name: why for name, why in found.items() if why}

    def build(
        self, apps: Iterable[App], progress: Progress = NO_PROGRESS
    ) -> tuple[dict[str, AppOutput], dict[str, float]]:
        """Build apps and return their objects, and the seconds that each took.

        Raises:
            ArgosyError: the first build that failed; the others are stopped.
        """
        wanted = []
        for app in apps:
            with _said_of(app):
                wanted.append(self.inputs.read(app))
        if not wanted:
            return {}, {}
        # the largest first, so that no core is idle while the other builds the last large one
        wanted.sort(key=lambda one: -sum(len(found.files) for found in one.reads.values()))
        progress.start(TASK, total=len(wanted))
        outputs: dict[str, AppOutput] = {}
        took: dict[str, float] = {}

        async def run() -> None:
            turn = asyncio.Semaphore(BUILDS)
            async with asyncio.TaskGroup() as group:
                for inputs in wanted:
                    group.create_task(one(inputs, turn), name=f"build {inputs.app.name}")

        async def one(inputs: Inputs, turn: asyncio.Semaphore) -> None:
            async with turn:
                started = time.monotonic()
                text = await builder.build(inputs)
                outputs[inputs.app.name] = self.output(inputs, text)
                took[inputs.app.name] = time.monotonic() - started
                progress.advance(TASK)

        with self.workspace() as builder:
            try:
                asyncio.run(run())
            except ExceptionGroup as group:
                raise group.exceptions[0] from None
        progress.finish(TASK, f"{len(wanted)} app{'s' if len(wanted) > 1 else ''} built")
        return outputs, took

    @contextmanager
    def workspace(self) -> Iterator[Builder]:
        """Yield a builder with a folder of its own, removed afterwards.

        Raises:
            DiskError: the cache cannot be written.
        """
        with scratch(self._cache / "work") as folder:
            yield Builder(
                folder,
                root=self.loaded.root,
                lock=self.lock,
                blobs=self.blobs,
                fetcher=self._fetcher,
                engines=self.engines,
                kubernetes=self.selection.kubernetes,
                values=self.loaded.platform.values,
                env=self._env,
            )

    def output(self, inputs: Inputs, text: str) -> AppOutput:
        """Return the objects in what an app's engine printed.

        Raises:
            OutputError: an object comes twice.
            VersionError: there is no data for the target's Kubernetes version.
        """
        app = inputs.app
        chart = bool(app.chart) or inputs.place.kind == "chart"
        namespace = app.namespace or (RELEASE_NAMESPACE if chart else "")
        namespaced = None
        if namespace:
            clustered = cluster_kinds(text)
            kubernetes = self.selection.kubernetes
            namespaced = lambda of: is_namespaced(of, kubernetes, clustered)  # noqa: E731
        values = self.loaded.platform.values
        told = values_of(app, self.loaded.root, values).keys if chart else frozenset()
        return split_output(
            text,
            app=app.name,
            values=values,
            namespace=namespace,
            is_namespaced=namespaced,
            tidy=chart,
            hooks=chart or any(found.helm for found in inputs.reads.values()),
            keys=told,
        )


@contextmanager
def _said_of(app: App) -> Iterator[None]:
    """Give a mistake that is found nowhere in particular the line of the app."""
    try:
        yield
    except (KustomizationError, PathError) as error:
        if error.where is not None:
            raise
        said = f"app {app.name!r}: {error.message}"
        raise type(error)(said, where=app.where, hint=error.hint) from error


def _lock_of(loaded: LoadedPlatform, selection: Selection) -> Lock:
    """Return the lock; a platform that fetches nothing needs none."""
    path = loaded.root / LOCK_FILE
    if path.exists():
        return read_lock(path)
    fetched = [a for a in selection.apps.values() if not place_of(a, loaded, selection).is_local]
    return read_lock(path) if fetched else Lock({})


def _find_engines(
    selection: Selection, loaded: LoadedPlatform, lock: Lock, *, cache: Path, env: Mapping[str, str]
) -> Engines:
    charts = any(
        app.chart or place_of(app, loaded, selection).kind == "chart"
        for app in selection.apps.values()
    )
    helm = charts or inflates_charts(loaded, selection, lock)
    return Engines(
        find_kustomize(env=env, cache=cache), find_helm(env=env, cache=cache) if helm else None
    )
