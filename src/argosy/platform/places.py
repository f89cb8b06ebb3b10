"""Say where each app's files come from, and what the lock must hold for them.

Pure but for looking at which environments there are. A git source is locked under its name and
its ref (`kubeflow-26.03`), so that environments on different releases share one lock; remotes met
inside upstream's kustomizations are locked under what they are.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from argosy.platform.apps import KUBEFLOW, select
from argosy.platform.config import ConfigError, Source, load_platform
from argosy.sources.remote import ChartRef, FileRef, GitRef, LocalRef, remote_name
from argosy.sources.resolve import Request, Waiver

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform

__all__ = ["LOCAL", "LOCK_FILE", "Place", "environments", "place_of", "requests", "waivers"]

LOCAL = "local"  # the platform's own directory, as a source
LOCK_FILE = "argosy.lock"


@dataclass(frozen=True)
class Place:
    """Where an app's files are: a source by its name in the lock (or LOCAL), and paths in it."""

    source: str
    path: str
    kind: Literal["tree", "chart", "file"]
    ref: GitRef | FileRef | ChartRef | LocalRef

    @property
    def is_local(self) -> bool:
        """Say whether the files stand in the platform's own directory, unlocked."""
        return self.source == LOCAL


def place_of(app: App, loaded: LoadedPlatform, selection: Selection) -> Place:
    """Return where an app's files come from.

    Raises:
        ConfigError: the source cannot hold what the app asks for.
    """
    source = loaded.platform.sources.get(app.source) if app.source else Source(path=".")
    if source is None and app.source == KUBEFLOW and selection.release:
        upstream = selection.release.source
        source = Source(git=upstream.git, ref=upstream.ref)
    if source is None:
        raise ConfigError(f"there is no source {app.source!r}", where=app.where)
    if source.git is not None:
        name = f"{app.source}-{(source.ref or '').replace('/', '-')}"
        return Place(name, app.path, "tree", GitRef(source.git, "", source.ref))
    if source.file is not None:
        file = FileRef(source.file)
        return Place(app.source, remote_name(file).rpartition("/")[2], "file", file)
    if source.helm is not None or source.oci is not None:
        repository = source.helm or source.oci or ""
        chart = app.chart
        if source.oci is not None and not chart:
            repository, _, chart = source.oci.rpartition("/")
        ref = ChartRef(repository, chart, app.version)
        archive = remote_name(ref).rpartition("/")[2]
        return Place(f"{app.source}-{chart}-{app.version}", archive, "chart", ref)
    path = posixpath.normpath(posixpath.join(source.path or ".", app.path))
    if path.startswith(("..", "/")):
        raise ConfigError(
            f"app {app.name!r} lies outside the platform's directory: {path}", where=app.where
        )
    kind: Literal["tree", "chart"] = "chart" if app.chart else "tree"
    return Place(LOCAL, "" if path == "." else path, kind, LocalRef(loaded.root))


def environments(root: Path) -> tuple[str | None, ...]:
    """Return the default environment (None) and those that have a file in envs/."""
    return (None, *sorted(file.stem for file in (root / "envs").glob("*.yaml")))


def requests(root: Path) -> tuple[list[Request], list[Waiver]]:
    """Return what the lock must hold for every environment, and which refs may move.

    Raises:
        ConfigError: an environment's configuration is wrong.
    """
    wanted: dict[Request, None] = {}
    accepted: dict[Waiver, None] = {}
    for env in environments(root):
        loaded = load_platform(root, env)
        selection = select(loaded)
        for app in selection.apps.values():
            wanted.update(dict.fromkeys(_of_app(app, loaded, selection)))
        accepted.update(dict.fromkeys(waivers(loaded, selection)))
    return list(wanted), list(accepted)


def _of_app(app: App, loaded: LoadedPlatform, selection: Selection) -> Iterable[Request]:
    place = place_of(app, loaded, selection)
    paths = (place.path, *app.components) if not place.is_local else (place.path,)
    where = app.where
    if app.source in loaded.platform.sources:
        where = loaded.where("sources", app.source)
    yield Request(place.source, place.ref, paths, where)
    if app.overlay:
        where = loaded.where("apps", "overlays", app.name)
        yield Request(LOCAL, LocalRef(loaded.root), (posixpath.normpath(app.overlay),), where)


def waivers(loaded: LoadedPlatform, selection: Selection) -> Iterable[Waiver]:
    """Yield the sources that may move, with the reason that platform.yaml gives."""
    for app in selection.apps.values():
        source = loaded.platform.sources.get(app.source)
        if source is not None and source.waive:
            yield Waiver(place_of(app, loaded, selection).source, source.waive)
