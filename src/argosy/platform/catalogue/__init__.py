"""The catalogue: which apps a Kubeflow release consists of, and what each of them needs.

Upstream installs a release by building everything at once and applying it until it succeeds. The
catalogue is what that leaves unsaid, as data beside this module: the apps, their paths, the order
between them and the reason for each step of it, the choices that upstream offers in comments, and
how the values of upstream's Secrets are made.

    CatalogueError(UsageError)     a release, app, group or variant that is not in the catalogue

A file that is broken (a cycle, a need of an app that does not exist) is refused when it is
loaded: that is a defect of argosy, and no release goes out with it, since tests load every one.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from argosy import yaml
from argosy.errors import UsageError
from argosy.secrets.rules import SecretRule
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Brings",
    "CatalogueApp",
    "CatalogueError",
    "Group",
    "KubernetesVersions",
    "Patch",
    "Release",
    "UpstreamSource",
    "Variant",
    "load_catalogue",
    "releases",
]

PREFIX = "kubeflow-"  # files are named kubeflow-<release>.yaml


class CatalogueError(UsageError):
    """A release, an app, a group or a variant that the catalogue does not have."""


class UpstreamSource(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a release's manifests come from; `ref` is a tag, `commit` what it stood for."""

    git: str
    ref: str
    commit: str


class KubernetesVersions(Struct, frozen=True, forbid_unknown_fields=True):
    """The oldest Kubernetes that upstream states, and the one that its CI runs."""

    min: str
    tested: str


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """A kustomize patch that makes upstream's build right, with the defect that it mends."""

    why: str
    target: dict[str, str]
    patch: str
    options: dict[str, bool] = {}


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One of the ways in which upstream offers an app."""

    title: str
    path: str


class Brings(Struct, frozen=True, forbid_unknown_fields=True):
    """What an app brings that others name; told when it is left out and the cluster has it.

    Attributes:
        kinds: kinds that it defines, as `Kind.group`.
        namespaces: namespaces that are its own, or that of what it belongs to (`istio-system`).
    """

    kinds: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


class CatalogueApp(Struct, frozen=True, forbid_unknown_fields=True):
    """One app of a release.

    Attributes:
        title: one sentence for people.
        path: the kustomization, in the release's source.
        needs: apps that must be there and answer before this one is applied, each with its reason.
        uses: apps that must run as well, in any order, each with its reason.
        optional: why upstream does not install it by default; "" when it does.
        components: kustomize Components of upstream that belong to it, in the source.
        patches: what is mended in upstream's build.
        variants: upstream's ways to install it; `variant` is the default one.
        secrets: how the values of its Secrets are made.
        brings: kinds and namespaces that are there when the app is.
    """

    title: str
    path: str
    brings: Brings = Brings()
    name: str = ""
    needs: dict[str, str] = {}
    uses: dict[str, str] = {}
    optional: str = ""
    components: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    variants: dict[str, Variant] = {}
    variant: str = ""
    secrets: tuple[SecretRule, ...] = ()

    def path_of(self, variant: str = "") -> str:
        """Return the path of a variant (the default one for "").

        Raises:
            CatalogueError: the app has no such variant.
        """
        if not variant:
            return self.path
        if variant not in self.variants:
            known = ", ".join(self.variants) or "none"
            raise CatalogueError(
                f"app {self.name} has no variant '{variant}'",
                hint=did_you_mean(variant, self.variants) or f"its variants: {known}",
            )
        return self.variants[variant].path


class Group(Struct, frozen=True, forbid_unknown_fields=True):
    """A name for several apps that people think of as one."""

    title: str
    apps: tuple[str, ...]


class Release(Struct, frozen=True, forbid_unknown_fields=True):
    """A release of Kubeflow.

    Attributes:
        whole: upstream's own kustomization of everything; the default apps make its objects.
        objects: how many objects that is.
        kustomize: the version that upstream's CI builds with.
        apps: by name, in an order in which they could be installed.
    """

    release: str
    title: str
    source: UpstreamSource
    whole: str
    objects: int
    kubernetes: KubernetesVersions
    kustomize: str
    apps: dict[str, CatalogueApp]
    groups: dict[str, Group] = field(default_factory=dict)

    def app(self, name: str) -> CatalogueApp:
        """Return the app of this name.

        Raises:
            CatalogueError: there is none; the hint names the nearest one.
        """
        if name not in self.apps:
            raise self._unknown(name)
        return self.apps[name]

    def default_apps(self) -> tuple[str, ...]:
        """Return what upstream installs: every app that is not optional."""
        return tuple(name for name, app in self.apps.items() if not app.optional)

    def expand(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the apps meant by names of apps and groups, in the catalogue's order.

        Raises:
            CatalogueError: a name is neither.
        """
        wanted: set[str] = set()
        for name in names:
            if name in self.apps:
                wanted.add(name)
            elif name in self.groups:
                wanted.update(self.groups[name].apps)
            else:
                raise self._unknown(name)
        return tuple(name for name in self.apps if name in wanted)

    def closure(
        self, names: Iterable[str], *, without: Iterable[str] = ()
    ) -> dict[str, tuple[str, str]]:
        """Return what comes along with apps: name -> (the app that asked first, the reason).

        The named apps themselves map to ("", ""). `without` names what is there already or not
        wanted; what only it would bring along stays away too. Order is the catalogue's.

        Raises:
            CatalogueError: a name is neither an app nor a group.
        """
        left_out = set(self.expand(without))
        why: dict[str, tuple[str, str]] = dict.fromkeys(self.expand(names), ("", ""))
        queue = list(why)
        for name in queue:
            app = self.apps[name]
            for other, reason in [*app.needs.items(), *app.uses.items()]:
                if other not in why and other not in left_out:
                    why[other] = (name, reason)
                    queue.append(other)
        return {name: why[name] for name in self.apps if name in why}

    def _unknown(self, name: str) -> CatalogueError:
        names = [*self.apps, *self.groups]
        return CatalogueError(
            f"Kubeflow {self.release} has no app or group '{name}'",
            hint=did_you_mean(name, names) or f"known: {', '.join(names)}",
        )


def releases() -> tuple[str, ...]:
    """Return the catalogued releases, newest first."""
    names = [
        entry.name.removeprefix(PREFIX).removesuffix(".yaml")
        for entry in resources.files(__package__).iterdir()
        if entry.name.startswith(PREFIX) and entry.name.endswith(".yaml")
    ]
    # Date releases (26.03) follow the numbered ones (v1.11.0), and are the larger numbers.
    return tuple(sorted(names, key=_version, reverse=True))


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.removeprefix("v").split("."))


@functools.cache
def load_catalogue(release: str) -> Release:
    """Return the catalogue of a release.

    Raises:
        CatalogueError: the release is not catalogued; the hint names those that are.
    """
    known = releases()
    if release not in known:
        raise CatalogueError(
            f"Kubeflow release '{release}' is not in the catalogue",
            hint=did_you_mean(release, known) or f"known: {', '.join(known)}",
        )
    file = resources.files(__package__).joinpath(f"{PREFIX}{release}.yaml")
    return _decode(yaml.load(file.read_bytes(), file=file.name))


def _decode(data: dict[str, Any]) -> Release:
    """Turn the file's content into a Release, with names filled in and references checked."""
    for name, app in data["apps"].items():
        app["name"] = name
    release = msgspec.convert(data, Release)
    _check(release)
    return release


def _check(release: Release) -> None:
    """Refuse a catalogue that contradicts itself."""
    done: set[str] = set()
    for name, app in release.apps.items():
        for other in app.needs:
            if other not in done:
                raise ValueError(f"{name} needs {other}, which does not stand before it")
        unknown = set(app.uses) - set(release.apps)
        if unknown:
            raise ValueError(f"{name} uses {sorted(unknown)}, which do not exist")
        if app.variants and app.variants[app.variant].path != app.path:
            raise ValueError(f"{name}: path is not that of its default variant")
        done.add(name)
    for name, group in release.groups.items():
        if name in release.apps or not set(group.apps) <= set(release.apps):
            raise ValueError(f"group {name} hides an app or names one that does not exist")
