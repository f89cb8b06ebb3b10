"""Build the kustomizations that an object passes, to see what each of them makes of it.

The object at its origin and as rendered are known; in between, a kustomization is built only when
something in it could touch the object, the innermost first, and no further than to the level
behind which nothing changes any more. What was built is kept in the cache by the digest of the
app's inputs, so that a second question about an app builds nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.errors import ArgosyError, OutsideError
from argosy.manifests import split
from argosy.platform.crds import SchemaStore, reaches_into_schemas
from argosy.platform.explain_graph import names_on_the_way, without_schemas
from argosy.platform.places import LOCAL
from argosy.sources.blobs import write_whole
from argosy.sources.engines import Tuning, build
from argosy.sources.errors import EngineError
from argosy.sources.trees import DirTree
from argosy.sources.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.explain_graph import Level, Origin
    from argosy.platform.inputs import Inputs
    from argosy.platform.render import Renderer

__all__ = ["Bench", "Span", "spans"]

BUILDS = 2  # engines at a time: one a core of the smallest machine
KEPT = 12  # apps whose builds are kept; the largest app of Kubeflow leaves 0.5 MB
TUNING = Tuning(gogc=400, memory_limit="280MiB")


@dataclass(frozen=True)
class Span:
    """What one level, or several that were not told apart, made of an object."""

    levels: tuple[Level, ...]
    before: Manifest
    after: Manifest


class Bench:
    """Builds kustomizations of one app, in a folder of its own that is made when it is needed.

    Args:
        renderer: the platform's lock, blobs and engines.
        inputs: what the app reads.
        cache: the cache's root.
        env: the process environment.
    """

    def __init__(
        self, renderer: Renderer, inputs: Inputs, *, cache: Path, env: Mapping[str, str]
    ) -> None:
        self._renderer = renderer
        self._inputs = inputs
        self._cache = cache
        self._kept = cache / "explain" / inputs.digest
        self._env = env
        self._folder: Path | None = None
        self._space: Workspace | None = None

    def close(self) -> None:
        """Remove what was laid out."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def output(self, level: Level) -> str:
        """Return what building a kustomization gives, large schemas left out.

        Raises:
            EngineError: it cannot be built by itself.
            OutsideError: the cache cannot be written.
        """
        name = hashlib.sha256(f"{level.source}\0{level.dir}".encode()).hexdigest()[:16]
        file = self._kept / f"{name}.yaml"
        with suppress(OSError):
            return file.read_text(encoding="utf-8")
        space = self._laid_out()
        engines = self._renderer.engines
        charts = any(found.helm for found in self._inputs.reads.values())
        text = await build(
            engines.kustomize,
            space.path(level.source, level.dir),
            env=self._env,
            root=space.dest,
            app=self._inputs.app.name,
            tuning=TUNING,
            helm=engines.helm if charts else None,
        )
        self._keep(file, text)
        return text

    def _laid_out(self) -> Workspace:
        if self._space is None:
            self._folder = _folder(self._cache / "work")
            reaching = False
            store = SchemaStore()

            def cut(_source: str, _path: str, content: bytes) -> bytes | None:
                nonlocal reaching
                light = store.cut(content)
                reaching = reaching or reaches_into_schemas(content if light is None else light)
                return light

            self._space = self._filled("light", cut)
            if reaching:
                self._space = self._filled("whole", None)
        return self._space

    def _filled(
        self, name: str, transform: Callable[[str, str, bytes], bytes | None] | None
    ) -> Workspace:
        folder = self._folder or self._cache
        lock, blobs = self._renderer.lock, self._renderer.blobs
        space = Workspace(folder / name, lock, blobs=blobs, transform=transform)
        for source, found in self._inputs.reads.items():
            if source == LOCAL:
                tree = DirTree(self._renderer.loaded.root, label=".")
                space.add_tree(source, tree, found)
            else:
                space.add(source, found.files)
        return space

    def _keep(self, file: Path, text: str) -> None:
        """Keep a build; failing to is no harm."""
        with suppress(OSError, ArgosyError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text.encode(), mode=0o644)
            others = sorted(self._kept.parent.iterdir(), key=lambda one: one.stat().st_mtime)
            for old in others[:-KEPT]:
                shutil.rmtree(old, ignore_errors=True)


def spans(
    bench: Bench,
    origin: Origin,
    *,
    final: Manifest,
    touches: Callable[[Level], bool],
    start: Manifest | None,
    outer: bool,
    until: Callable[[Manifest], bool],
) -> list[Span]:
    """Return what the levels made of an object, from its origin to the rendered one.

    Args:
        bench: builds levels.
        origin: where the object was written first, and its way out.
        final: the object as rendered, without schemas.
        touches: says whether anything in a level could change the object.
        start: the object at its origin, without schemas; None for a generated one.
        outer: whether more is laid over the app (an overlay, what the catalogue mends), so that
            the app's own kustomization does not give the rendered object.
        until: says of an object at some level whether nothing more is going to change.

    Raises:
        OutsideError: the cache cannot be written.
    """
    chain = origin.chain
    kind = final.get("kind", "")
    names = names_on_the_way(origin.id.name, str(kind), chain)
    # a component cannot be built by itself; its parent's build holds what it did
    wanted = [
        index
        for index, level in enumerate(chain if outer else chain[:-1])
        if not level.is_component and (touches(level) or (start is None and index == 0))
    ]
    if start is not None and until(start):
        return [Span(tuple(level for level in chain if touches(level)), start, final)]
    known = asyncio.run(_states(bench, chain, wanted, names, final, until))
    found: list[Span] = []
    pending: list[Level] = []
    before = start
    for index, level in enumerate(chain):
        if touches(level):
            pending.append(level)
        state = known.get(index)
        if state is None:
            continue
        if before is not None:
            found.append(Span(tuple(pending), before, state))
            pending = []
        before = state
    if before is None:
        return []
    found.append(Span(tuple(pending), before, final))
    return found


async def _states(
    bench: Bench,
    chain: Sequence[Level],
    wanted: Sequence[int],
    names: Sequence[str],
    final: Manifest,
    until: Callable[[Manifest], bool],
) -> dict[int, Manifest]:
    """Build levels, the innermost first, and stop where nothing more changes."""
    turn = asyncio.Semaphore(BUILDS)

    async def one(index: int) -> Manifest | None:
        async with turn:
            try:
                text = await bench.output(chain[index])
            except EngineError:
                return None  # some bases build only inside of what includes them
        return _find(text, names[index], final)

    known: dict[int, Manifest] = {}
    async with asyncio.TaskGroup() as group:
        tasks = {
            index: group.create_task(one(index), name=f"build {chain[index].dir}")
            for index in wanted
        }
        for index in wanted:
            state = await tasks[index]
            if state is not None:
                known[index] = state
                if until(state):
                    for later in tasks.values():
                        later.cancel()
                    break
    return known


def _find(text: str, name: str, final: Manifest) -> Manifest | None:
    """Return the object of a name in what a build gave, whatever is behind the name."""
    metadata = final["metadata"]
    group = str(final.get("apiVersion", "")).rpartition("/")[0]
    found: list[tuple[ObjectId, Manifest]] = []
    for document in split(text):
        id_ = document.id
        same = id_.name == name or (
            id_.name.startswith(f"{name}-") and id_.name == metadata["name"]
        )
        hashed = id_.name.rpartition("-")[0] == name and len(id_.name) - len(name) == 11
        if id_.group == group and id_.kind == final.get("kind") and (same or hashed):
            found.append((id_, document.object()))
    found.sort(key=lambda one: (one[0].name != name, one[0].namespace != metadata.get("namespace")))
    return without_schemas(found[0][1]) if found else None


def _folder(work: Path) -> Path:
    try:
        work.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="explain-", dir=work))
    except OSError as error:
        raise OutsideError(f"cannot write to {work}: {error.strerror}") from error
