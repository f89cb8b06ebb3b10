"""Read `platform.yaml` and `envs/<env>.yaml` into one typed `Platform`.

Refuses unknown keys (and says which one was meant), wrong types, an environment without its file,
and sources and apps that say two things at once. Each refusal names file and line; each value
can be asked where it was written, which is what `argosy explain` prints.

An environment's file holds the same keys as platform.yaml and is laid over it: mappings merge,
`apps.add` merges by name, every other list and value replaces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from argosy import yaml
from argosy.errors import Location
from argosy.platform.config_errors import ConfigError, Steps, explain_invalid, nearest
from argosy.platform.placeholders import keys_in
from argosy.sources.remote import is_remote
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "DEFAULT_ENV",
    "AddedApp",
    "Apps",
    "Checks",
    "ConfigError",
    "LoadedPlatform",
    "Metadata",
    "Platform",
    "Source",
    "Waiver",
    "json_schema",
    "load_platform",
]

FILE = "platform.yaml"
DEFAULT_ENV = "default"
NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"  # a DNS label: it becomes part of object names
ENV_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"  # it names a file in envs/ and a folder in rendered/
NULL_DEPTH = 2  # deeper, null is a value: Helm takes it as "forget the chart's default"
Scalar = str | int | float | bool
Name = str


class _Config(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Metadata(_Config, frozen=True):
    """Who the platform is; `name` is a DNS label, as it becomes part of object names."""

    name: Name


class Source(_Config, frozen=True):
    """Where files come from: exactly one of `git`, `helm`, `oci`, `file` and `path`.

    Attributes:
        git: URL of a repository; needs `ref`.
        ref: tag or 40-digit commit; a branch only with `waive`.
        helm: URL of a chart repository; apps name `chart` and `version`.
        oci: URL of an OCI chart without its version.
        file: URL of one YAML file, such as a release asset.
        path: a directory of this repository.
        waive: why a ref that moves (branch, HEAD, latest) is accepted.
    """

    git: str | None = None
    ref: str | None = None
    helm: str | None = None
    oci: str | None = None
    file: str | None = None
    path: str | None = None
    waive: str | None = None


class AddedApp(_Config, frozen=True):
    """An app that the catalogue does not know.

    Attributes:
        name: unique among the platform's apps; a DNS label.
        source: a key of `sources`; without it `path` is in this repository.
        path: directory in the source: a kustomization, or plain YAML files.
        chart: name of the chart; makes the app a Helm release.
        version: version of the chart.
        values: Helm values written here; they win over `valuesFiles`.
        valuesFiles: Helm values files of this repository, later ones win.
        namespace: the namespace of the release, or of namespaced objects that name none.
        needs: apps that must stand before this one.
    """

    name: Name
    source: str | None = None
    path: str = "."
    chart: str | None = None
    version: str | None = None
    values: dict[str, Any] = {}
    valuesFiles: tuple[str, ...] = ()
    namespace: str | None = None
    needs: tuple[str, ...] = ()


class Apps(_Config, frozen=True):
    """Which apps the platform has.

    Attributes:
        include: apps and groups of the catalogue; what they need comes along. All when left out.
        exclude: apps to leave out; refused when another app needs one of them.
        options: variant of an app, as the catalogue offers them (`oauth2-proxy: m2m-dex-and-eks`).
        add: apps of your own.
        overlays: app name to a kustomize Component of this repository that is laid over it.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    options: dict[str, str] = {}
    add: tuple[AddedApp, ...] = ()
    overlays: dict[str, str] = {}


class Waiver(_Config, frozen=True):
    """A finding that is accepted; `object` is a pattern such as `Secret kubeflow/*`."""

    code: str
    reason: str
    object: str = "*"


class Checks(_Config, frozen=True):
    """What `argosy check` does not complain about, each with its reason."""

    waive: tuple[Waiver, ...] = ()


class Platform(_Config, frozen=True):
    """The whole of platform.yaml.

    Attributes:
        apiVersion: `argosy.dev/v1`.
        kind: `Platform`.
        metadata: the platform's name.
        kubeflow: a catalogued Kubeflow release such as "26.03".
        kubernetes: the target's Kubernetes minor version such as "1.35".
        sources: places that added apps come from, by name.
        apps: which apps there are.
        values: what stands for `<<__key__>>` in overlays and added apps.
        checks: accepted findings.
    """

    apiVersion: Literal["argosy.dev/v1"]
    kind: Literal["Platform"]
    metadata: Metadata
    kubeflow: str | None = None
    kubernetes: str | None = None
    sources: dict[str, Source] = {}
    apps: Apps = Apps()
    values: dict[str, Scalar] = {}
    checks: Checks = Checks()


class LoadedPlatform:
    """A `Platform` that knows where each of its values was written.

    Attributes:
        platform: the typed configuration.
        root: the directory of platform.yaml.
        env: the environment that was laid over it.
        files: the files that were read, relative to `root`.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        root: Path,
        env: str,
        files: tuple[str, ...],
        origins: dict[Steps, Location],
    ) -> None:
        self.platform = platform
        self.root = root
        self.env = env
        self.files = files
        self._origins = origins

    def where(self, *steps: str | int) -> Location:
        """Return where the value at `steps` (`"apps", "add", 0, "name"`) was written.

        A value that was written nowhere (a default) is said to stand where its nearest
        written parent does.
        """
        return nearest(self._origins, steps)


def load_platform(root: Path, env: str | None = None) -> LoadedPlatform:
    """Read and check the configuration in `root`.

    Args:
        root: the directory that holds platform.yaml.
        env: the environment; None is `default`, for which no file is asked for.

    Raises:
        ConfigError: a file is missing or says something that it must not.
        YamlError: a file is not YAML.
    """
    if env is not None and not re.fullmatch(ENV_NAME, env):
        raise ConfigError(
            f"{env!r} cannot be the name of an environment",
            hint="use letters, digits, '-', '_' and '.', a letter or digit first",
        )
    base = _read(root, FILE, missing="write one with `argosy init`")
    documents = [base]
    files = [FILE]
    if env is not None and (env != DEFAULT_ENV or (root / "envs" / f"{env}.yaml").exists()):
        names = sorted(path.stem for path in (root / "envs").glob("*.yaml"))
        hint = did_you_mean(env, names) or f"environments here: {', '.join(names) or 'none'}"
        files.append(f"envs/{env}.yaml")
        laid = _read(root, files[-1], missing=hint, may_be_empty=True)
        documents += [laid] if laid.value is not None else []
    origins: dict[Steps, Location] = {}
    merged: Any = None
    for document in documents:
        merged = _merge(merged, document.value, document, (), (), origins)
    platform = _convert(merged, origins)
    _validate(platform, origins)
    return LoadedPlatform(
        platform,
        root=root,
        env=env or DEFAULT_ENV,
        files=tuple(files),
        origins=origins,
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of platform.yaml, for editors."""
    schema = msgspec.json.schema(Platform)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "argosy platform",
        **schema,
    }


def _read(root: Path, name: str, *, missing: str, may_be_empty: bool = False) -> yaml.Marked:
    path = root / name
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no {name} in {root}", hint=missing) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"byte {error.start} is not UTF-8 text", where=name) from error
    marked = yaml.load_marked(text, file=name)
    if not isinstance(marked.value, dict) and not (may_be_empty and marked.value is None):
        raise ConfigError("the file must hold a mapping of keys", where=Location(name, 1))
    return marked


def _merge(
    under: Any,
    over: Any,
    document: yaml.Marked,
    here: Steps,
    there: Steps,
    origins: dict[Steps, Location],
) -> Any:
    """Lay `over` (at `here` in its document, at `there` in the result) over `under`."""
    origins[there] = document.where(here)
    if isinstance(over, dict):
        merged = dict(under) if isinstance(under, dict) else {}
        for key, value in over.items():
            if value is None and len(there) < NULL_DEPTH:
                continue  # `apps:` with only comments below it says nothing
            merged[key] = _merge(
                merged.get(key), value, document, (*here, key), (*there, key), origins
            )
            origins[(*there, key)] = document.where((*here, key), key=True)
        return merged
    if isinstance(over, list):
        result = list(under) if there == ("apps", "add") and isinstance(under, list) else []
        names = {app.get("name"): at for at, app in enumerate(result) if isinstance(app, dict)}
        for index, item in enumerate(over):
            name = item.get("name") if isinstance(item, dict) else None
            at = names.get(name, len(result)) if isinstance(name, str) else len(result)
            below = result[at] if at < len(result) else None
            value = _merge(below, item, document, (*here, index), (*there, at), origins)
            result[at : at + 1] = [value]
        return result
    return over


def _convert(merged: Any, origins: dict[Steps, Location]) -> Platform:
    try:
        return msgspec.convert(merged, Platform)
    except msgspec.ValidationError as error:
        raise explain_invalid(str(error), merged, origins, _STRUCTS) from None


_STRUCTS: dict[Steps, type[Struct]] = {
    (): Platform,
    ("metadata",): Metadata,
    ("sources", "*"): Source,
    ("apps",): Apps,
    ("apps", "add", "*"): AddedApp,
    ("checks",): Checks,
    ("checks", "waive", "*"): Waiver,
}


def _validate(platform: Platform, origins: dict[Steps, Location]) -> None:
    """Check what the types cannot say."""
    _check_name(platform.metadata.name, ("metadata", "name"), origins)
    if platform.kubernetes is not None and not re.fullmatch(r"1\.\d+", platform.kubernetes):
        raise ConfigError(
            f"kubernetes: {platform.kubernetes!r} is not a minor version",
            where=nearest(origins, ("kubernetes",)),
            hint='write it like "1.35"',
        )
    for name, source in platform.sources.items():
        _check_source(name, source, origins)
    for key in platform.values:
        _check_key(key, origins)
    seen: set[str] = set()
    for index, app in enumerate(platform.apps.add):
        _check_app(app, ("apps", "add", index), platform, origins)
        if app.name in seen:
            raise ConfigError(
                f"two apps are named {app.name!r}", where=nearest(origins, ("apps", "add", index))
            )
        seen.add(app.name)
    for index, waiver in enumerate(platform.checks.waive):
        if not waiver.reason.strip():
            raise ConfigError(
                f"the waiver of {waiver.code} gives no reason",
                where=nearest(origins, ("checks", "waive", index)),
            )


def _check_name(name: str, steps: Steps, origins: dict[Steps, Location]) -> None:
    if not re.fullmatch(NAME, name):
        raise ConfigError(
            f"{name!r} cannot be a name",
            where=nearest(origins, steps),
            hint="use at most 63 lower-case letters, digits and '-', no '-' at either end",
        )


_SCHEMES = {
    "helm": ("https://", "http://"),
    "oci": ("oci://",),
    "file": ("https://", "http://"),
    "path": ("",),
}
_LIKE = {
    "git": "https://github.com/acme/extras, or name a folder of this repository as 'path'",
    "helm": "https://charts.acme.com",
    "oci": "oci://ghcr.io/acme/charts/web",
    "file": "https://acme.com/release.yaml",
}


def _check_key(key: str, origins: dict[Steps, Location]) -> None:
    """Refuse a value that no placeholder can name; YAML reads a bare `on` or `n` as a boolean."""
    where = nearest(origins, ("values", key))
    if key in {"true", "false", "null"}:
        raise ConfigError(
            f"YAML reads this key as {key}", where=where, hint="put it in quotes, or rename it"
        )
    if list(keys_in(f"<<__{key}__>>")) != [key]:
        raise ConfigError(
            f"{key!r} cannot stand in a placeholder",
            where=where,
            hint="use letters, digits, '-', '_' and '.', a letter or digit at both ends",
        )


def _check_source(name: str, source: Source, origins: dict[Steps, Location]) -> None:
    where = nearest(origins, ("sources", name))
    kinds = [k for k in ("git", "helm", "oci", "file", "path") if getattr(source, k) is not None]
    if len(kinds) != 1:
        said = " and ".join(kinds) if kinds else "none of them"
        raise ConfigError(
            f"source {name!r} must name exactly one of git, helm, oci, file and path, not {said}",
            where=where,
        )
    kind = kinds[0]
    url = getattr(source, kind)
    sound = is_remote(url) or "::" in url if kind == "git" else url.startswith(_SCHEMES[kind])
    if not sound:
        raise ConfigError(
            f"source {name!r}: {url!r} is not a URL for {kind}",
            where=nearest(origins, ("sources", name, kind)),
            hint=f"write it like {_LIKE[kind]}",
        )
    if source.waive is not None and not source.waive.strip():
        raise ConfigError(
            f"source {name!r} waives the rule against moving refs without a reason", where=where
        )
    if kinds == ["git"] and source.ref is None:
        raise ConfigError(
            f"source {name!r} has no ref, so it would follow whatever the default branch holds",
            where=where,
            hint="add a tag or a commit as 'ref'",
        )


def _check_app(
    app: AddedApp, steps: Steps, platform: Platform, origins: dict[Steps, Location]
) -> None:
    _check_name(app.name, (*steps, "name"), origins)
    if app.namespace is not None:
        _check_name(app.namespace, (*steps, "namespace"), origins)
    where = nearest(origins, steps)
    if app.source is not None and app.source not in platform.sources:
        hint = did_you_mean(app.source, platform.sources)
        raise ConfigError(
            f"app {app.name!r} comes from source {app.source!r}, which is not under sources",
            where=nearest(origins, (*steps, "source")),
            hint=hint or None,
        )
    source = platform.sources[app.source] if app.source else Source(path=".")
    if (source.helm or source.oci) and not (app.chart or source.oci):
        raise ConfigError(f"app {app.name!r} names no chart", where=where, hint="add 'chart'")
    if (source.helm or source.oci) and app.version is None:
        raise ConfigError(
            f"app {app.name!r} names no version of its chart", where=where, hint="add 'version'"
        )
    if app.values and not (app.chart or source.oci):
        raise ConfigError(
            f"app {app.name!r} has Helm values but no chart",
            where=nearest(origins, (*steps, "values")),
        )
