"""Options that many commands share, and where they read the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "apps_option",
    "cache_dir",
    "cluster_options",
    "directory_option",
    "env_option",
    "mirror_option",
    "output_option",
]

F = TypeVar("F", bound="Callable[..., Any]")


def directory_option(function: F) -> F:
    """Add `-C/--directory`, the platform's directory, as the parameter `directory`."""
    return click.option(
        "-C",
        "--directory",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        help="The directory of platform.yaml (default: here).",
    )(function)


def env_option(function: F) -> F:
    """Add `--env`, the environment, as the parameter `env` (None is the default one)."""
    return click.option(
        "--env", metavar="E", help="The environment: envs/E.yaml is laid over platform.yaml."
    )(function)


def apps_option(function: F) -> F:
    """Add `--app`, repeatable, as the parameter `apps`."""
    return click.option(
        "--app", "apps", multiple=True, metavar="A", help="Only this app; may be given again."
    )(function)


def output_option(function: F) -> F:
    """Add `-o/--output text|json` as the parameter `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        help="What to print: text for people or JSON for scripts.",
    )(function)


def cache_dir() -> Path:
    """Return the cache's root: ARGOSY_CACHE, or argosy's folder in the user's cache."""
    if own := os.environ.get("ARGOSY_CACHE"):
        return Path(own).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "argosy"


def mirror_option(function: F) -> F:
    """Add `--mirror`, a directory that stands for the network, as the parameter `mirror`."""
    return click.option(
        "--mirror",
        envvar="ARGOSY_MIRROR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Take sources from this mirror instead of the network (or set ARGOSY_MIRROR).",
    )(function)


def cluster_options(function: F) -> F:
    """Add `--kubeconfig` and `--context`, the cluster, as parameters of those names."""
    context = click.option(
        "--context", metavar="NAME", help="The kubeconfig's context (default: the current one)."
    )
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The kubeconfig (default: as kubectl finds it).",
    )
    return kubeconfig(context(function))
