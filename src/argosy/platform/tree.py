"""Write and read the rendered tree: `rendered/<env>/<app>/<object>.yaml` and its index.

One object a file, named by what it is, so that a change to an object is a change to a file. A new
tree is complete before it takes the old one's place; a run that was stopped in between is healed
by the next. Secrets do not stand in the tree but in the ignored folder that `argosy.secrets`
keeps; the index names them, so that a tree without its secrets is noticed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from argosy.errors import UsageError
from argosy.manifests import split
from argosy.platform.model import RenderedApp, RenderedObject, RenderedPlatform
from argosy.sources.errors import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from argosy.manifests import ObjectId

__all__ = [
    "RENDERED",
    "Index",
    "IndexedApp",
    "TreeError",
    "file_name",
    "intact",
    "load_rendered",
    "read_index",
    "sweep",
    "write_tree",
]

RENDERED = "rendered"
INDEX = "index.json"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-._")
LONGEST = 240  # bytes of a file name; file systems take 255
FORMAT = 1  # of the index; a tree of another format is rendered anew


class TreeError(UsageError):
    """The rendered tree is missing or is not what `argosy render` left."""


class IndexedApp(Struct, frozen=True, omit_defaults=True):
    """What the index says of an app.

    Attributes:
        needs: apps that must stand before it.
        inputs: digest of everything that its build read, values apart.
        values: value keys that its build used, with the digest of each value.
        files: file name to sha256 of its content, sorted.
        secrets: `namespace/name` of the Secrets that stand in the ignored folder.
    """

    needs: tuple[str, ...]
    inputs: str
    files: dict[str, str]
    values: dict[str, str] = {}
    secrets: tuple[str, ...] = ()


class Index(Struct, frozen=True):
    """`rendered/<env>/index.json`: what was rendered from what.

    `provided` names apps that are left out although others need them, with those others: the
    cluster has them.
    """

    format: int
    platform: str
    release: str
    kubernetes: str
    engines: dict[str, str]
    apps: dict[str, IndexedApp]
    provided: dict[str, tuple[str, ...]] = {}


def file_name(of: ObjectId) -> str:
    """Return the file's name for an object: `deployment.apps_kubeflow_ml-pipeline.yaml`.

    The group is left out for the core group and the namespace is empty for cluster-scoped
    objects. Characters that some file system refuses (`:` in RBAC names, upper case) are
    percent-encoded, so that two objects never share a file and none leaves its folder.
    """
    kind = _escaped(of.kind.lower()) + (f".{_escaped(of.group)}" if of.group else "")
    whole = f"{kind}_{_escaped(of.namespace)}_{_escaped(of.name)}"
    if len(whole) > LONGEST:
        whole = f"{whole[: LONGEST - 17]}~{_sha256(whole.encode())[:16]}"
    return f"{whole}.yaml"


def _escaped(text: str) -> str:
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in text.encode())


def read_index(root: Path, env: str) -> Index | None:
    """Return the index of a rendered tree, or None when there is no readable one."""
    try:
        content = (root / RENDERED / env / INDEX).read_bytes()
        index = msgspec.json.decode(content, type=Index)
    except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return index if index.format == FORMAT and _is_sound(index) else None


def _is_sound(index: Index) -> bool:
    """Say whether every name in the index is that of a folder or file in the tree."""
    names = [name for app in index.apps.values() for name in app.files]
    return not any("/" in name or name in {"", ".", ".."} for name in [*index.apps, *names])


def intact(root: Path, env: str, app: str, files: Mapping[str, str]) -> bool:
    """Say whether an app's folder holds exactly `files` with the content that the index states."""
    folder = root / RENDERED / env / app
    try:
        if set(os.listdir(folder)) != set(files):
            return False
        return all(_sha256((folder / name).read_bytes()) == sum_ for name, sum_ in files.items())
    except OSError:
        return False


def sweep(root: Path, env: str) -> None:
    """Mend what a render that was killed left; only for who holds the platform's directory.

    Readers do not do this: they could take a render that is at work for one that was killed.

    Raises:
        OSError: the disk refused.
    """
    base = root / RENDERED
    _heal(base, env)
    for leftover in (base / f".{env}.new", base / f".{env}.old"):
        shutil.rmtree(leftover, ignore_errors=True)


def write_tree(
    root: Path, env: str, index: Index, contents: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a new tree in the place of the old one.

    Args:
        root: the platform's directory.
        env: the environment.
        index: what the new tree holds.
        contents: app to file name to text, for the apps that were built; the others' files are
            taken from the old tree.

    Raises:
        DiskError: the disk refused; the old tree is untouched.
    """
    base = root / RENDERED
    with writing(base):
        _write(base, env, index, contents)


def _write(base: Path, env: str, index: Index, contents: Mapping[str, Mapping[str, str]]) -> None:
    base.mkdir(exist_ok=True)
    old, new, aside = base / env, base / f".{env}.new", base / f".{env}.old"
    sweep(base.parent, env)
    try:
        new.mkdir()
        for name, app in index.apps.items():
            (new / name).mkdir()
            if name in contents:
                for file, text in contents[name].items():
                    (new / name / file).write_text(text, encoding="utf-8")
            else:
                for file in app.files:
                    _link(old / name / file, new / name / file)
        (new / INDEX).write_bytes(_encode(index))
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if old.exists():
        old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def load_rendered(
    root: Path, env: str, *, secrets: Iterable[tuple[str, Path]] = ()
) -> RenderedPlatform:
    """Read a rendered tree.

    Args:
        root: the platform's directory.
        env: the environment.
        secrets: (app, file) of each Secret in the ignored folder, to be read as well.

    Raises:
        TreeError: there is no tree, or a file of it is missing.
    """
    index = read_index(root, env)
    if index is None:
        asked = f" --env {env}" if env != "default" else ""
        raise TreeError(
            f"there is no rendered tree in {RENDERED}/{env}", hint=f"run `argosy render{asked}`"
        )
    beside: dict[str, list[Path]] = {}
    for owner, file in secrets:
        beside.setdefault(owner, []).append(file)
    apps = []
    for name, entry in index.apps.items():
        folder = root / RENDERED / env / name
        paths = [*(folder / file for file in entry.files), *sorted(beside.get(name, []))]
        objects = tuple(_read(root, path, name) for path in paths)
        apps.append(RenderedApp(name, entry.needs, objects))
    return RenderedPlatform(
        index.platform, env, index.kubernetes, tuple(apps), index.release, tuple(index.provided)
    )


def _read(root: Path, path: Path, app: str) -> RenderedObject:
    file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TreeError(f"{file} is missing", hint="run `argosy render`") from None
    documents = split(text, file=file)
    if len(documents) != 1:
        raise TreeError(
            f"{file} holds {len(documents)} objects instead of one", hint="run `argosy render`"
        )
    return RenderedObject(documents[0].id, file, text, documents[0].digest, app)


def _heal(base: Path, env: str) -> None:
    """Bring back the old tree when a run was stopped between the two renames."""
    aside = base / f".{env}.old"
    if aside.exists() and not (base / env).exists():
        aside.rename(base / env)


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def _encode(index: Index) -> bytes:
    return msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
