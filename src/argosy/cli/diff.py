"""`argosy diff`: what changes, against git or a live cluster."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from argosy.cli.options import (
    apps_option,
    cache_dir,
    cluster_options,
    directory_option,
    env_option,
    output_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.diff import PlatformDiff

__all__ = ["command"]


@click.command("diff")
@directory_option
@env_option
@apps_option
@click.option(
    "--against", metavar="REV", help="Compare with the tree in this commit (default: HEAD)."
)
@click.option("--live", is_flag=True, help="Compare with the cluster, by dry-run apply.")
@cluster_options
@output_option
def command(
    directory: Path,
    env: str | None,
    apps: tuple[str, ...],
    against: str | None,
    live: bool,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
) -> int:
    """Show what changes, by app, object and field, with a mark on each change that needs care.

    Compares rendered/<env>/ with the same folder in a commit, or with the cluster. Values of
    Secrets are masked. Exits with 1 when there is a difference and with 0 when there is none.

    \b
    Examples:
      argosy diff                        what was rendered since the last commit
      argosy diff --against v1.4.0       since a tag
      argosy diff --live                 what `argosy apply` would change in the cluster
      argosy diff --app katib -o json    one app, for scripts
    """
    from argosy.platform.config import load_platform
    from argosy.platform.diff_git import against_git, stale_apps, stale_note

    if live and against:
        raise click.UsageError("--live and --against exclude each other")
    loaded = load_platform(directory, env)
    if live:
        from argosy.platform.diff_live import against_cluster

        found = against_cluster(
            directory,
            loaded.env,
            apps=apps,
            kubeconfig=kubeconfig,
            context=context,
            environ=os.environ,
        )
    else:
        found = against_git(
            directory, loaded.env, rev=against or "HEAD", apps=apps, environ=os.environ
        )
    stale = stale_apps(loaded, cache=cache_dir(), environ=os.environ)
    if stale:
        found.notes.append(stale_note(stale, loaded.env))
    _print(found, output)
    return 1 if found.differs else 0


def _print(found: PlatformDiff, output: str) -> None:
    from argosy.platform.diff_text import lines, to_dict

    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(to_dict(found)), indent=2))
        return
    for line in lines(found, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ):
        click.echo(line)
