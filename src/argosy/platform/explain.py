"""Explain why an object, or one field of it, is as it is.

Brings together what the others find out: the target in the rendered tree, its app and the reason
for it, its first file and line, and who changed what on the way from there to the rendered file.
Reads the lock and the cache; builds only levels that could tell something, and no app as a whole.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.manifests import ObjectId, find_at, format_path, identity, is_secret, mask, parse_path
from argosy.platform.definitions import outline
from argosy.platform.explain_app import Layers, asked_at, place_in
from argosy.platform.explain_blame import Attribution, Blame, differences, overlaps, steps_of
from argosy.platform.explain_field import FieldError, line_of, locate
from argosy.platform.explain_graph import Graph, names_on_the_way, without_schemas
from argosy.platform.explain_levels import Bench, Span, spans
from argosy.platform.explain_model import Explanation, Spot
from argosy.platform.explain_target import CRD, Target, TargetError, find_target, parts_of
from argosy.platform.places import LOCAL
from argosy.platform.render import Renderer
from argosy.platform.tree import RENDERED, TreeError, read_index
from argosy.sources.lock import LockedTree
from argosy.sources.paths import join
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from argosy.manifests import Change, Manifest, Segment
    from argosy.platform.config import LoadedPlatform
    from argosy.platform.explain_graph import Origin
    from argosy.platform.inputs import Inputs
    from argosy.platform.tree import Index
    from argosy.sources.fetch import Fetcher
    from argosy.sources.trees import Tree

__all__ = ["explain"]


def explain(
    loaded: LoadedPlatform,
    asked: str,
    *,
    namespace: str | None = None,
    cache: Path,
    environ: Mapping[str, str],
    fetcher: Fetcher | None = None,
    live: bool = False,
) -> Explanation:
    """Return why an object or a field is as it is.

    Args:
        loaded: the configuration with its environment.
        asked: `KIND/NAME` or `KIND/NAME:field.path`.
        namespace: the object's namespace; None takes any.
        cache: the cache's root.
        environ: the process environment, to find engines on PATH.
        fetcher: where locked content that is missing from the cache may be had.
        live: a field that is not rendered is no mistake: the cluster may have it.

    Raises:
        TargetError: the object is not in the tree, or several fit.
        FieldError: it has no such field.
        TreeError: nothing is rendered.
        LockError: the lock is missing or does not cover the app.
        OutsideError: an engine or the disk failed.
    """
    root, env = loaded.root, loaded.env
    index = read_index(root, env)
    if index is None:
        told = f" --env {env}" if env != "default" else ""
        raise TreeError(
            f"there is no rendered tree in {RENDERED}/{env}", hint=f"run `argosy render{told}`"
        )

    def read(app: str, file: str) -> str:
        return (root / RENDERED / env / app / file).read_text(encoding="utf-8")

    target = find_target(asked, namespace=namespace, index=index, read=read)
    renderer = Renderer(loaded, cache=cache, env=environ, fetcher=fetcher)
    case = _Case(renderer, target, index, cache=cache, environ=environ, fetcher=fetcher)
    try:
        return case.explain()
    except FieldError:
        if not live:
            raise
        return case.explain_place()


class _Case:
    """One question, with what is needed to answer it."""

    def __init__(
        self,
        renderer: Renderer,
        target: Target,
        index: Index,
        *,
        cache: Path,
        environ: Mapping[str, str],
        fetcher: Fetcher | None,
    ) -> None:
        self._renderer = renderer
        self._target = target
        self._index = index
        self._cache = cache
        self._environ = environ
        self._fetcher = fetcher
        self._loaded = renderer.loaded
        app = renderer.selection.apps.get(target.app)
        if app is None:
            raise TargetError(
                f"app {target.app} is rendered, but no part of the platform any more",
                hint="run `argosy render`",
            )
        self._app = app
        self._inputs: Inputs = renderer.inputs.read(app)
        self._layers = Layers(app, self._loaded, renderer.selection)
        self._text, self._file = self._rendered()
        self._whole = self._parsed()
        self._id = identity(self._whole)

    def explain(self) -> Explanation:
        app, place = self._app, self._inputs.place
        path = locate(_shown(self._whole), self._target.path) if self._target.path else ()
        source = self._renderer.lock.sources.get(place.source)
        found = Explanation(
            self._id,
            app.name,
            app.why,
            asked=asked_at(app, self._loaded),
            source=f"{source.url}@{source.ref}" if source and source.ref else "",
            commit=(source.commit or "") if source else "",
            rendered=self._file,
            path=format_path(path),
        )
        if not self._renderer.is_fresh(app, self._index):
            found.notes.append(
                f"app {app.name} has changed since it was rendered; this explains the old tree "
                "with the new files: run `argosy render`"
            )
        if app.chart or place.kind == "chart":
            from argosy.platform.explain_chart import explain_chart

            explain_chart(found, self._whole, path, renderer=self._renderer, inputs=self._inputs)
        else:
            self._kustomized(found, path)
        if not self._target.file:
            found.notes.append("its values are kept out of the rendered tree and never shown")
        if path:
            found.value = find_at(_shown(self._whole), path)
        return found

    def explain_place(self) -> Explanation:
        """Say where the object comes from, for a field of it that nobody has rendered."""
        unrendered = self._target.path
        self._target = self._target._replace(path="")
        found = self.explain()
        found.unrendered, found.steps = unrendered, []
        return found

    def _rendered(self) -> tuple[str, str]:
        root, env = self._loaded.root, self._loaded.env
        target = self._target
        if target.file:
            path = root / RENDERED / env / target.app / target.file
        else:
            folder = self._renderer.withheld.store.folder
            path = folder / f"{target.namespace}_{target.name}.yaml"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TreeError(f"{path} is missing", hint="run `argosy render`") from None
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        return text, shown.as_posix()

    def _parsed(self) -> Manifest:
        """Read the rendered object; schemas take long and are read only when they are asked for."""
        if self._target.kind == CRD and "schema" not in self._target.path:
            return without_schemas(outline(self._text, file=self._file))
        whole: Manifest = yaml.load(self._text, file=self._file)
        return whole

    def _kustomized(self, found: Explanation, path: tuple[Segment, ...]) -> None:
        place = self._inputs.place
        graph = Graph(cache(self._tree))
        others = [
            ObjectId(self._id.group, self._id.kind, *parts_of(one)[1:])
            for one in self._index.apps[self._target.app].files
            if one.startswith(f"{self._target.kind}_")
        ]
        origins = graph.origins(place.source, place.path, self._id, others)
        if not origins:
            found.notes.append(
                "no file of the app holds it: a plugin or a chart inside a kustomization makes it"
            )
            return
        origin = origins[0]
        found.origin = self._spot(origin.source, origin.file, origin.line)
        if origin.at:
            found.said = str(origin.at[0])
        blame = Blame(graph, place=self._spot, fill=self._layers.fill, value=self._layers.value)
        attributed = self._blamed(graph, blame, origin)
        if path:
            attributed = [one for one in attributed if _concerns(one.change, path)]
            self._field(found, origin, path, attributed, graph)
        found.steps = steps_of(attributed, fallback=self._fallback(graph), exact=bool(path))

    def _blamed(self, graph: Graph, blame: Blame, origin: Origin) -> list[Attribution]:
        """Return who changed the object on its way from the origin."""
        final = without_schemas(self._whole)
        shown_final = _shown(final)
        start = origin.object()
        names = names_on_the_way(origin.id.name, origin.id.kind, origin.chain)
        ids = tuple(
            dict.fromkeys([origin.id, self._id, *(origin.id._replace(name=n) for n in names)])
        )
        last = self._layers.lines(graph, blame, self._inputs.place)
        bench = Bench(self._renderer, self._inputs, cache=self._cache, env=self._environ)
        try:
            passed = spans(
                bench,
                origin,
                final=final,
                touches=lambda level: blame.touches(level, ids),
                start=start,
                outer=self._layers.any,
                until=lambda state: not differences(_shown(state), shown_final),
            )
        finally:
            bench.close()
        shown = [Span(one.levels, _shown(one.before), _shown(one.after)) for one in passed]
        return blame.attribute(shown, ids=ids, last=last, seen=graph.levels())

    def _field(
        self,
        found: Explanation,
        origin: Origin,
        path: tuple[Segment, ...],
        attributed: Sequence[Attribution],
        graph: Graph,
    ) -> None:
        """Say what the field was first, and which line gave it its value."""
        start = origin.object()
        if start is not None:
            found.first = find_at(_shown(start), path)
        exact = [one.change for one in attributed if one.change.path == format_path(path)]
        if found.first is None and exact:
            found.first = exact[0].old
        made = [one for one in attributed if len(locate_change(one.change)) <= len(path)]
        line = line_of(origin.text, path, line=origin.line) if origin.text else 0
        if not made and not line:
            made = list(attributed[:1])  # the field came with what is in it
        if made:
            last = made[-1]
            own = last.directive.where if last.directive else self._fallback(graph)(last.level)
            found.set_by = last.answer.where or own
        elif origin.text:
            found.set_by = self._spot(origin.source, origin.file, line or origin.line)
        elif origin.at:
            found.set_by = self._generated(origin, path)

    def _generated(self, origin: Origin, path: tuple[Segment, ...]) -> Spot:
        """Return the line of a generator that gives a key of its data."""
        from argosy.platform.explain_directives import key_of_generator

        level = origin.chain[0]
        name, index = origin.at
        entry = level.data[str(name)][index]
        key = str(path[1]) if len(path) > 1 else ""
        steps = key_of_generator(entry, key) if key else None
        if steps and steps[0] in {"files", "envs"}:
            named = str(entry[str(steps[0])][steps[1]])
            file = join(level.dir, named.partition("=")[2] or named)
            text = self._tree(level.source).read(file).decode(errors="replace").splitlines()
            numbers = [n for n, one in enumerate(text, 1) if one.partition("=")[0] == key]
            return self._spot(level.source, file, numbers[0] if numbers else 1)
        at = (*origin.at, *(steps or ()))
        return self._spot(level.source, level.file.file, level.file.where(at).line)

    def _tree(self, source: str) -> Tree:
        if source == LOCAL:
            return DirTree(self._loaded.root, label=".")
        renderer = self._renderer
        return LockedTree(renderer.lock.get(source), renderer.blobs, fetcher=self._fetcher)

    def _spot(self, source: str, file: str, line: int) -> Spot:
        return place_in(self._renderer.lock, source, file, line)

    def _fallback(self, graph: Graph) -> Any:
        sources = {level.file.file: level.source for level in graph.levels()}

        def place(name: str) -> Spot:
            first = name.partition(" + ")[0]
            return self._spot(sources.get(first, LOCAL), first or self._file, 0)

        return place


def _concerns(change: Change, path: tuple[Segment, ...]) -> bool:
    """Say whether a change is about a field; the order of a list is not about its items."""
    own = locate_change(change)
    return overlaps(own, path) and not (change.op == "order" and len(own) < len(path))


def locate_change(change: Change) -> tuple[Segment, ...]:
    """Return a change's path as segments."""
    return parse_path(change.path)


def _shown(obj: Manifest) -> Manifest:
    """Return an object as it may be shown; a Secret's values in one place, so that they compare."""
    if is_secret(identity(obj)) and isinstance(obj.get("stringData"), dict):
        written = {
            key: base64.b64encode(str(text).encode()).decode()
            for key, text in obj["stringData"].items()
        }
        obj = {key: value for key, value in obj.items() if key != "stringData"}
        obj["data"] = {**(obj.get("data") or {}), **written}
    return mask(obj)
