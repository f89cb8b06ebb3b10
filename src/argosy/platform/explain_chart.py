"""Explain an object that a Helm chart makes: its template, and the values that it may come from.

Helm says which template an object came from and nothing more. A value is looked for where it
could have been given, the nearest to the user first; what is found so is likely, not proven, and
said to be.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.manifests import Change, find_at, format_path, identity, mask, split, walk
from argosy.platform.explain_app import place_in
from argosy.platform.explain_model import Spot, Step
from argosy.platform.places import LOCAL
from argosy.sources.lock import LockedTree
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from argosy.manifests import Manifest, Segment
    from argosy.platform.explain_model import Explanation
    from argosy.platform.inputs import Inputs
    from argosy.platform.render import Renderer
    from argosy.sources.trees import Tree

__all__ = ["explain_chart"]

SHORTEST = 4  # letters; shorter values are found everywhere
_SOURCE = re.compile(r"^# Source: (\S+)", re.MULTILINE)


def explain_chart(
    found: Explanation,
    rendered: Manifest,
    path: Sequence[Segment],
    *,
    renderer: Renderer,
    inputs: Inputs,
) -> None:
    """Add template and values to an explanation.

    Args:
        found: what is known so far; it is added to.
        rendered: the object as rendered.
        path: the field that was asked for, empty for the object.
        renderer: the platform's lock and engines.
        inputs: what the app reads.

    Raises:
        EngineError: helm failed.
    """
    with renderer.workspace() as builder:
        text = asyncio.run(builder.build(inputs))
    wanted = identity(rendered)
    template = ""
    for document in split(text):
        own = document.id
        if own[:2] == wanted[:2] and own.name == wanted.name:
            said = _SOURCE.search(document.text)
            template = said.group(1) if said else ""
    if template:
        chart = template.partition("/")[2]
        folder = inputs.place.path
        file = f"{folder}/{chart}" if folder else chart
        found.origin = place_in(renderer.lock, inputs.place.source, file, 0)
        found.said = "a chart's template"
    shown = mask(rendered)
    leaves = _leaves(find_at(shown, path), tuple(path))
    for where, key, value in _values(renderer, inputs):
        hits = [leaf for leaf, held in leaves if _comes_from(held, value)]
        if hits and (path or where.source == "" or isinstance(value, str)):
            changes = [Change(format_path(leaf), "change", None, None) for leaf in hits]
            found.steps.append(Step("value", where, f"{key}: {value}", changes=changes, sure=False))
    if path and found.steps:
        found.set_by = found.steps[0].where
    elif path:
        found.set_by = found.origin


def _leaves(value: Any, path: tuple[Segment, ...]) -> list[tuple[tuple[Segment, ...], Any]]:
    return [((*path, *below), leaf) for below, leaf in walk(value)]


def _comes_from(held: Any, value: Any) -> bool:
    if isinstance(value, bool) or value is None or value == "":
        return False
    if isinstance(value, int):
        return held == value and type(held) is type(value)
    text = str(value)
    if len(text) < SHORTEST:
        return str(held) == text
    return isinstance(held, str) and text in held


def _values(renderer: Renderer, inputs: Inputs) -> Iterator[tuple[Spot, str, Any]]:
    """Yield the values that a chart was given, those that win first, each with its line."""
    app, loaded = inputs.app, renderer.loaded
    index = next(
        (n for n, added in enumerate(loaded.platform.apps.add) if added.name == app.name), 0
    )
    for steps, value in walk(dict(app.values)):
        where = Spot.of(loaded.where("apps", "add", index, "values", *steps))
        yield where, format_path(steps), value
    for file in reversed(app.values_files):
        yield from _file_values((loaded.root / file).read_bytes(), Spot("", file))
    tree: Tree
    if inputs.place.is_local:
        tree = DirTree(loaded.root, label=".")
    else:
        tree = LockedTree(renderer.lock.get(inputs.place.source), renderer.blobs)
    file = f"{inputs.place.path}/values.yaml" if inputs.place.path else "values.yaml"
    if tree.kind(file) == "file":
        source = LOCAL if inputs.place.is_local else inputs.place.source
        yield from _file_values(tree.read(file), place_in(renderer.lock, source, file, 0))


def _file_values(content: bytes, spot: Spot) -> Iterator[tuple[Spot, str, Any]]:
    marked = yaml.load_marked(content, file=spot.file)
    for steps, value in walk(marked.value or {}):
        yield spot._replace(line=marked.where(steps).line), format_path(steps), value
