"""Write a platform directory to start from.

Refuses a directory that already holds one of the files; nothing is written then. The presets are
data beside this module.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

from argosy.errors import UsageError
from argosy.platform.catalogue import load_catalogue, releases
from argosy.platform.placeholders import substitute
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

__all__ = ["InitError", "plan_init", "presets", "write_init"]

# the name in the preset -> the name in the user's directory
_NAMES = {"gitignore": ".gitignore"}


class InitError(UsageError):
    """The directory cannot become a platform."""


def presets() -> tuple[str, ...]:
    """Return the presets there are."""
    folder = resources.files(__package__).joinpath("presets")
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir()))


def plan_init(
    directory: Path, *, preset: str, name: str | None = None, release: str | None = None
) -> dict[str, str]:
    """Return the files that a new platform directory gets, by relative path.

    Args:
        directory: where it will be; gives the platform's name when none is said.
        preset: one of `presets()`.
        name: the platform's name, a DNS label.
        release: a catalogued Kubeflow release; the newest when left out.

    Raises:
        InitError: there is no such preset, the name cannot be one, or a file is there already.
        CatalogueError: the release is not catalogued.
    """
    if preset not in presets():
        known = ", ".join(presets())
        hint = did_you_mean(preset, presets()) or f"presets: {known}"
        raise InitError(f"there is no preset {preset!r}", hint=hint)
    catalogue = load_catalogue(release or releases()[0])
    name = name or _label(directory.resolve().name)
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise InitError(
            f"{name!r} cannot be a platform's name",
            hint="give one with --name: lower-case letters, digits and '-'",
        )
    values = {
        "name": name,
        "release": catalogue.release,
        "kubernetes": catalogue.kubernetes.tested,
    }
    files = {
        path: substitute(entry.read_text("utf-8"), values)
        for path, entry in _walk(resources.files(__package__).joinpath("presets", preset), "")
    }
    for file in files:
        if (directory / file).exists():
            raise InitError(
                f"{directory / file} is already there", hint="choose an empty directory"
            )
    return files


def write_init(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files of `plan_init`.

    Raises:
        OSError: the disk refused.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = prefix + _NAMES.get(entry.name, entry.name)
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        else:
            yield path, entry


def _label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].rstrip("-")
