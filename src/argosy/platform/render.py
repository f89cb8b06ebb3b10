"""Render: from platform.yaml and argosy.lock to `rendered/<env>/<app>/`, offline.

An app whose inputs have the digests that the index states, and whose files are as the index
states, is not built. The others are built two at a time, each apart. The old tree stays whole
until the new one is complete; Secrets with data go to the ignored folder instead of the tree.
Refuses two apps that render the same object.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from argosy.errors import OutsideError
from argosy.platform.apps import check_names, select
from argosy.platform.build import Builder, Engines
from argosy.platform.inputs import Inputs, InputsReader
from argosy.platform.namespaced import cluster_kinds, is_namespaced
from argosy.platform.output import AppOutput, OutputError, split_output, value_digests
from argosy.platform.places import LOCK_FILE, place_of
from argosy.platform.tree import FORMAT, Index, IndexedApp, intact, read_index, write_tree
from argosy.platform.withheld import Withheld, secret_names
from argosy.progress import NO_PROGRESS
from argosy.sources.blobs import BlobStore
from argosy.sources.engines import find_helm, find_kustomize
from argosy.sources.lock import Lock, read_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.progress import Progress
    from argosy.secrets.values import Credential
    from argosy.sources.fetch import Fetcher

__all__ = ["BUILDS", "PRIVATE", "RenderReport", "Renderer", "one_at_a_time", "render"]

PRIVATE = ".argosy"  # what stays on this machine: the lock file and the secrets
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
        seconds: of the whole.
    """

    built: dict[str, float]
    reused: tuple[str, ...]
    objects: int
    secrets: int
    credentials: tuple[Credential, ...]
    store: Path
    provided: dict[str, tuple[str, ...]]
    seconds: float


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
        OutsideError: the disk refused.
    """
    started = time.monotonic()
    root = out or loaded.root
    with one_at_a_time(root):
        renderer = Renderer(loaded, cache=cache, env=env, fetcher=fetcher, root=root)
        asked = check_names(apps, renderer.selection)
        index = read_index(root, loaded.env)
        stale = [
            app
            for app in renderer.selection.apps.values()
            if (not asked or app.name in asked) and not renderer.is_fresh(app, index)
        ]
        outputs, took = renderer.build(stale, progress)
        taken = renderer.withheld.take(outputs, renderer.selection)
        outputs = taken.outputs
        new_index = renderer.index_of(index, outputs)
        if outputs or index is None or [*new_index.apps.items()] != [*index.apps.items()]:
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
        self.engines = _find_engines(self.selection, loaded, cache=cache, env=env)
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
        known = index.apps.get(app.name) if index else None
        if known is None or known.inputs != self.inputs.digest(app):
            return False
        values = self.loaded.platform.values
        if known.values != value_digests(frozenset(known.values), values):
            return False
        if not self.withheld.has(known.secrets):
            return False
        return intact(self._root, self.loaded.env, app.name, known.files)

    def build(
        self, apps: Iterable[App], progress: Progress = NO_PROGRESS
    ) -> tuple[dict[str, AppOutput], dict[str, float]]:
        """Build apps and return their objects, and the seconds that each took.

        Raises:
            ArgosyError: the first build that failed; the others are stopped.
        """
        wanted = [self.inputs.read(app) for app in apps]
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
        progress.finish(TASK, f"{len(wanted)} apps built")
        return outputs, took

    @contextmanager
    def workspace(self) -> Iterator[Builder]:
        """Yield a builder with a folder of its own, removed afterwards.

        Raises:
            OutsideError: the cache cannot be written.
        """
        work = self._cache / "work"
        try:
            work.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="render-", dir=work))
        except OSError as error:
            raise OutsideError(f"cannot write to {work}: {error.strerror}") from error
        try:
            yield Builder(
                folder,
                root=self.loaded.root,
                lock=self.lock,
                blobs=self.blobs,
                fetcher=self._fetcher,
                engines=self.engines,
                kubernetes=self.selection.kubernetes,
                env=self._env,
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def output(self, inputs: Inputs, text: str) -> AppOutput:
        """Return the objects in what an app's engine printed.

        Raises:
            OutputError: an object comes twice.
            VersionError: there is no data for the target's Kubernetes version.
        """
        app = inputs.app
        namespaced = None
        if app.namespace:
            clustered = cluster_kinds(text)
            kubernetes = self.selection.kubernetes
            namespaced = lambda of: is_namespaced(of, kubernetes, clustered)  # noqa: E731
        return split_output(
            text,
            app=app.name,
            values=self.loaded.platform.values,
            namespace=app.namespace,
            is_namespaced=namespaced,
            tidy=bool(app.chart),
        )

    def index_of(self, old: Index | None, outputs: Mapping[str, AppOutput]) -> Index:
        """Return the index of the new tree: built apps anew, the others as they were.

        Raises:
            OutputError: two apps render the same object.
        """
        entries: dict[str, IndexedApp] = {}
        for name, app in self.selection.apps.items():
            if name in outputs:
                entries[name] = self._entry(app, outputs[name])
            elif old and name in old.apps:
                entries[name] = structs.replace(old.apps[name], needs=app.needs)
        _refuse_shared(entries)
        release = self.selection.release
        return Index(
            format=FORMAT,
            platform=self.loaded.platform.metadata.name,
            release=release.release if release else "",
            kubernetes=self.selection.kubernetes,
            engines=self.engines.versions(),
            apps=entries,
        )

    def _entry(self, app: App, output: AppOutput) -> IndexedApp:
        return IndexedApp(
            needs=app.needs,
            inputs=self.inputs.digest(app),
            files={
                name: hashlib.sha256(text.encode()).hexdigest()
                for name, text in output.files.items()
            },
            values=value_digests(output.keys, self.loaded.platform.values),
            secrets=secret_names(output),
        )


def _refuse_shared(entries: Mapping[str, IndexedApp]) -> None:
    """Refuse two apps that render one object: they would take it from each other for ever."""
    owner: dict[str, str] = {}
    for name, app in entries.items():
        for file in [*app.files, *app.secrets]:
            if file in owner:
                raise OutputError(
                    f"apps {owner[file]} and {name} both render {file.removesuffix('.yaml')}",
                    hint="leave it out of one of them with an overlay ($patch: delete)",
                )
            owner[file] = name


def _lock_of(loaded: LoadedPlatform, selection: Selection) -> Lock:
    """Return the lock; a platform that fetches nothing needs none."""
    path = loaded.root / LOCK_FILE
    if path.exists():
        return read_lock(path)
    fetched = [a for a in selection.apps.values() if not place_of(a, loaded, selection).is_local]
    return read_lock(path) if fetched else Lock({})


def _find_engines(
    selection: Selection, loaded: LoadedPlatform, *, cache: Path, env: Mapping[str, str]
) -> Engines:
    charts = any(
        app.chart or place_of(app, loaded, selection).kind == "chart"
        for app in selection.apps.values()
    )
    return Engines(
        find_kustomize(env=env, cache=cache), find_helm(env=env, cache=cache) if charts else None
    )


@contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Hold the platform's directory against a second run that writes to it.

    Raises:
        OutsideError: another argosy holds it, or the directory cannot be written.
    """
    private = root / PRIVATE
    try:
        private.mkdir(parents=True, exist_ok=True)
        file = os.open(private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutsideError(f"cannot write to {private}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutsideError(
                f"another argosy is writing to {root}", hint="wait until it is done"
            ) from None
        yield
    finally:
        os.close(file)
