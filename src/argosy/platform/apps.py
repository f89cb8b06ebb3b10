"""Decide which apps a platform has, in which order, and why each of them is in.

Pure. Takes the configuration and the catalogue of its Kubeflow release; returns the closed
selection. Refuses names that nobody knows, two apps of one name, a need that is not there and a
cycle of needs. An app that is excluded although others need it is taken to be in the cluster
already, and the selection says so.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from argosy.platform.catalogue import CatalogueError, Release, load_catalogue
from argosy.platform.config import AddedApp, ConfigError
from argosy.platform.openapi import available
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.errors import Location
    from argosy.platform.catalogue import CatalogueApp, Patch
    from argosy.platform.config import LoadedPlatform
    from argosy.secrets.rules import SecretRule

__all__ = ["KUBEFLOW", "App", "Selection", "check_names", "select"]

KUBEFLOW = "kubeflow"  # the name of the release's own source in the lock


@dataclass(frozen=True)
class App:
    """An app of the platform, before it is built.

    Attributes:
        name: unique in the platform.
        source: name of a source, or "" for the platform's own directory.
        path: what is built, in the source.
        needs: apps of this platform that must stand before it.
        why: the reason that it is in, for people.
        where: where it was asked for; None for what came along.
        overlay: a kustomize Component of the platform's directory laid over it, or "".
        components: kustomize Components of the same source that belong to it.
        patches: what the catalogue mends in upstream's build.
        secrets: how the values of its Secrets are made.
        chart: name of the Helm chart, "" for kustomize and plain YAML.
        version: version of the chart.
        values: Helm values written in platform.yaml.
        values_files: Helm values files of the platform's directory.
        namespace: for objects that name none.
    """

    name: str
    source: str
    path: str
    needs: tuple[str, ...]
    why: str
    where: Location | None = None
    overlay: str = ""
    components: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    secrets: tuple[SecretRule, ...] = ()
    chart: str = ""
    version: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    values_files: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True)
class Selection:
    """The apps of a platform, each after those that it needs.

    Attributes:
        apps: by name, in order.
        provided: excluded apps that others need, with the names of those: the cluster must have
            them.
        kubernetes: the target's minor version.
        release: the catalogued release, or None.
    """

    apps: dict[str, App]
    provided: dict[str, tuple[str, ...]]
    kubernetes: str
    release: Release | None


DEFAULT_KUBERNETES = "1.35"  # where neither platform.yaml nor the catalogue says


def select(loaded: LoadedPlatform) -> Selection:
    """Return the closed selection of apps.

    Raises:
        ConfigError: the configuration contradicts itself.
        CatalogueError: the release is not catalogued, or a name is not in it.
    """
    platform = loaded.platform
    with _placed(loaded, "kubeflow"):
        release = load_catalogue(platform.kubeflow) if platform.kubeflow is not None else None
    if release:
        _check_names_of(release, loaded)
    _check_kubernetes(loaded)
    apps = _from_catalogue(loaded, release) if release else {}
    if not release and (platform.apps.include or platform.apps.exclude or platform.apps.options):
        raise ConfigError(
            "apps are picked from a catalogue, but no Kubeflow release is named",
            where=loaded.where("apps"),
            hint='add a line like kubeflow: "26.03", or list your own apps under apps.add',
        )
    for index, added in enumerate(platform.apps.add):
        where = loaded.where("apps", "add", index)
        if added.name in apps:
            raise ConfigError(
                f"app {added.name!r} is already in Kubeflow {platform.kubeflow}",
                where=where,
                hint="give yours another name, or exclude the catalogue's",
            )
        _check_values_files(loaded, index, added)
        apps[added.name] = _added(added, where, platform.apps.overlays)
    _check_overlays(loaded, apps)
    excluded = set(release.expand(platform.apps.exclude)) if release else set()
    provided = _provided(apps, excluded)
    apps = _ordered(loaded, apps, excluded)
    kubernetes = platform.kubernetes or (
        release.kubernetes.tested if release else DEFAULT_KUBERNETES
    )
    return Selection(apps, provided, kubernetes, release)


@contextmanager
def _placed(loaded: LoadedPlatform, *steps: str | int) -> Iterator[None]:
    """Say where in platform.yaml a name stands that the catalogue does not know."""
    try:
        yield
    except CatalogueError as error:
        raise CatalogueError(
            error.message, where=error.where or loaded.where(*steps), hint=error.hint
        ) from None


def _check_names_of(release: Release, loaded: LoadedPlatform) -> None:
    asked = loaded.platform.apps
    for key, names in (("include", asked.include or ()), ("exclude", asked.exclude)):
        for index, name in enumerate(names):
            with _placed(loaded, "apps", key, index):
                release.expand([name])
    for name, variant in asked.options.items():
        with _placed(loaded, "apps", "options", name):
            release.app(name)
            if release.app(name).variants:
                release.app(name).path_of(variant)


def _check_kubernetes(loaded: LoadedPlatform) -> None:
    wanted = loaded.platform.kubernetes
    if wanted is not None and wanted not in available():
        raise ConfigError(
            f"argosy has no schemas of Kubernetes {wanted}",
            where=loaded.where("kubernetes"),
            hint=f"known: {', '.join(available())}",
        )


def check_names(names: Iterable[str], selection: Selection) -> frozenset[str]:
    """Return `--app` names as a set.

    Raises:
        ConfigError: the platform has no app of that name.
    """
    for name in names:
        if name not in selection.apps:
            hint = did_you_mean(name, selection.apps) or f"apps: {', '.join(selection.apps)}"
            raise ConfigError(f"the platform has no app {name!r}", hint=hint)
    return frozenset(names)


def _from_catalogue(loaded: LoadedPlatform, release: Release) -> dict[str, App]:
    asked = loaded.platform.apps
    wanted = release.default_apps() if asked.include is None else asked.include
    excluded = set(release.expand(asked.exclude))
    if asked.include is None:
        wanted = tuple(name for name in wanted if name not in excluded)
    for option in asked.options:
        if release.app(option).variants == {}:
            raise ConfigError(
                f"app {option!r} has no variants to choose from",
                where=loaded.where("apps", "options", option),
            )
    chosen = release.closure(wanted, without=asked.exclude)
    for name in chosen:
        if name in excluded:
            raise ConfigError(
                f"app {name!r} is both included and excluded", where=loaded.where("apps")
            )
    default = "Kubeflow's default" if asked.include is None else "asked for"
    return {
        name: _catalogued(release.app(name), loaded, by, reason or default)
        for name, (by, reason) in chosen.items()
    }


def _catalogued(app: CatalogueApp, loaded: LoadedPlatform, by: str, reason: str) -> App:
    asked = loaded.platform.apps
    return App(
        name=app.name,
        source=KUBEFLOW,
        path=app.path_of(asked.options.get(app.name, "")),
        needs=tuple(app.needs),
        why=f"{by} needs it: {reason}" if by else reason,
        where=None if by else loaded.where("apps", "include"),
        overlay=asked.overlays.get(app.name, ""),
        components=app.components,
        patches=app.patches,
        secrets=app.secrets,
    )


def _added(added: AddedApp, where: Location, overlays: Mapping[str, str]) -> App:
    return App(
        name=added.name,
        source=added.source or "",
        path=added.path,
        needs=added.needs,
        why="added in platform.yaml",
        where=where,
        overlay=overlays.get(added.name, ""),
        chart=added.chart or "",
        version=added.version or "",
        values=added.values,
        values_files=added.valuesFiles,
        namespace=added.namespace or "",
    )


def _check_values_files(loaded: LoadedPlatform, index: int, added: AddedApp) -> None:
    root = loaded.root.resolve()
    for number, file in enumerate(added.valuesFiles):
        where = loaded.where("apps", "add", index, "valuesFiles", number)
        path = (root / file).resolve()
        if not path.is_relative_to(root):
            raise ConfigError(
                f"the values file {file!r} lies outside the platform's directory", where=where
            )
        if not path.is_file():
            raise ConfigError(f"there is no values file {file!r}", where=where)


def _check_overlays(loaded: LoadedPlatform, apps: Mapping[str, App]) -> None:
    for name, path in loaded.platform.apps.overlays.items():
        where = loaded.where("apps", "overlays", name)
        if name not in apps:
            raise ConfigError(
                f"there is an overlay for {name!r}, which is not an app of this platform",
                where=where,
                hint=did_you_mean(name, apps) or None,
            )
        root = loaded.root.resolve()
        if not (root / path).resolve().is_relative_to(root):
            raise ConfigError(
                f"the overlay {path!r} lies outside the platform's directory", where=where
            )
        if not (root / path).is_dir():
            raise ConfigError(f"the overlay {path!r} is not a directory", where=where)


def _provided(apps: Mapping[str, App], excluded: set[str]) -> dict[str, tuple[str, ...]]:
    wanted_by: dict[str, list[str]] = {}
    for app in apps.values():
        for need in app.needs:
            if need in excluded:
                wanted_by.setdefault(need, []).append(app.name)
    return {name: tuple(by) for name, by in wanted_by.items()}


def _ordered(loaded: LoadedPlatform, apps: Mapping[str, App], excluded: set[str]) -> dict[str, App]:
    """Return the apps so that each stands after its needs, otherwise in the given order."""
    done: dict[str, App] = {}
    path: list[str] = []

    def visit(app: App) -> None:
        if app.name in done:
            return
        if app.name in path:
            circle = [*path[path.index(app.name) :], app.name]
            raise ConfigError(
                f"apps need each other in a circle: {' -> '.join(circle)}",
                where=app.where or loaded.where("apps"),
            )
        path.append(app.name)
        for need in app.needs:
            if need in apps:
                visit(apps[need])
            elif need not in excluded:
                raise ConfigError(
                    f"app {app.name!r} needs {need!r}, which is not an app of this platform",
                    where=app.where or loaded.where("apps"),
                    hint=did_you_mean(need, apps) or None,
                )
        path.pop()
        present = tuple(need for need in app.needs if need in apps)
        done[app.name] = replace(app, needs=present)

    for app in apps.values():
        visit(app)
    return done
