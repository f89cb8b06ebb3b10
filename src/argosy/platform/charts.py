"""What a chart is told, and whether it is the chart that was asked for.

Placeholders in Helm values are filled in before helm sees them, so that a template that counts,
encodes or branches on a value gets the value and not its placeholder. Refuses a folder that holds
no chart, or another one than platform.yaml names.
"""

from __future__ import annotations

import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from argosy import yaml
from argosy.errors import ArgosyError
from argosy.platform.config import ConfigError
from argosy.platform.placeholders import MARK, keys_in, substitute
from argosy.platform.places import place_of
from argosy.sources.closure import closure
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.sources.lock import Lock

__all__ = [
    "ChartValues",
    "archive_of",
    "check_chart_folder",
    "inflates_charts",
    "refuse_unnamed",
    "values_of",
]


class ChartValues(NamedTuple):
    """Values files' texts, later ones win, and the placeholders that stood in them."""

    texts: tuple[str, ...]
    keys: frozenset[str]


def values_of(app: App, root: Path, values: Mapping[str, str | int | float | bool]) -> ChartValues:
    """Return what a chart is told: its values files, then what platform.yaml says.

    Args:
        app: the app.
        root: the platform's directory.
        values: what stands for placeholders.

    Raises:
        YamlError: a values file is not YAML.
        OSError: a values file cannot be read.
    """
    texts, keys = [], set[str]()
    for file in app.values_files:
        text = (root / file).read_text(encoding="utf-8")
        found = yaml.load(text, file=file)
        if MARK in text:
            keys.update(keys_in(text))
            text = yaml.dump(substitute(found, values))
        texts.append(text)
    if app.values:
        text = yaml.dump(dict(app.values))
        keys.update(keys_in(text))
        texts.append(yaml.dump(substitute(dict(app.values), values)) if MARK in text else text)
    return ChartValues(tuple(texts), frozenset(keys))


def inflates_charts(loaded: LoadedPlatform, selection: Selection, lock: Lock) -> bool:
    """Say whether a kustomization inflates a chart, so that helm is needed for it.

    A chart has to lie in the tree, so a locked one shows as a locked Chart.yaml.
    """
    if any(
        file.rpartition("/")[2] == "Chart.yaml"
        for one in lock.sources.values()
        for file in one.files
    ):
        return True
    own = DirTree(loaded.root, label=".")
    starts = set()
    for app in selection.apps.values():
        place = place_of(app, loaded, selection)
        if place.is_local:
            starts.add(place.path)
        if app.overlay:
            starts.add(posixpath.normpath(app.overlay))
    for start in sorted(starts):
        with suppress(ArgosyError):  # said with the app's name when the app is read
            if closure(own, [start]).helm:
                return True
    return False


def archive_of(folder: Path) -> Path:
    """Return what helm is given: a chart's folder, or the packed chart that lies in it."""
    if folder.is_dir() and not (folder / "Chart.yaml").is_file():
        packed = sorted(folder.glob("*.tgz"))
        return packed[0] if packed else folder
    return folder


def check_chart_folder(app: App, chart: Path, path: str) -> None:
    """Refuse a folder that is not the chart that an app names; archives are helm's to read.

    Raises:
        ConfigError: there is no chart, or its name or version is another one.
        YamlError: Chart.yaml is not YAML.
    """
    if not chart.is_dir():
        return
    file = chart / "Chart.yaml"
    if not file.is_file():
        raise ConfigError(
            f"app {app.name!r}: there is no chart in {path or '.'}",
            where=app.where,
            hint="a chart is a folder with a Chart.yaml, or a packed .tgz",
        )
    said = yaml.load(file.read_bytes(), file=posixpath.join(path, "Chart.yaml"))
    said = said if isinstance(said, dict) else {}
    for key, asked in (("name", app.chart), ("version", app.version)):
        if asked and str(said.get(key)) != asked:
            raise ConfigError(
                f"app {app.name!r}: the chart in {path or '.'} has {key} {said.get(key)}, "
                f"not {asked}",
                where=app.where,
            )


def refuse_unnamed(app: App, path: str, files: Iterable[str]) -> None:
    """Refuse a chart that platform.yaml takes for a folder of plain YAML.

    Raises:
        ConfigError: the folder has a Chart.yaml.
    """
    if posixpath.join(path, "Chart.yaml") in set(files):
        raise ConfigError(
            f"app {app.name!r}: {path or '.'} holds a Helm chart",
            where=app.where,
            hint=f"add `chart: {posixpath.basename(path) or app.name}`",
        )
