"""`argosy status`: each app's objects, health and drift."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import click

from argosy.cli.options import (
    apps_option,
    cluster_options,
    directory_option,
    env_option,
    output_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.status import PlatformStatus

__all__ = ["command"]


@click.command("status")
@directory_option
@env_option
@apps_option
@cluster_options
@click.option("--watch", is_flag=True, help="Look again every few seconds, until ^C.")
@output_option
def command(
    directory: Path,
    env: str | None,
    apps: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    watch: bool,
    output: str,
) -> int:
    """Show how each app is: its objects, their health as Argo CD defines it, and drift.

    Exits with 1 when something is missing, degraded or drifted, and with 0 when all is well or
    still on its way.

    \b
    Examples:
      argosy status
      argosy status --app katib -o json
    """
    from argosy.kube import KubeApi, load_kubeconfig
    from argosy.platform.diff_git import known_apps
    from argosy.platform.withheld import load_with_secrets

    platform = load_with_secrets(directory, env or "default")
    chosen = known_apps(apps, {app.name for app in platform.apps}, "rendered")
    config = load_kubeconfig(kubeconfig, context, os.environ)

    async def run() -> int:
        from argosy.platform.status import read_status

        async with KubeApi(config, interactive=sys.stdin.isatty()) as api:
            while True:
                found = await read_status(api, platform, apps=chosen)
                if watch and sys.stdout.isatty():
                    click.clear()
                _show(found, output)
                if not watch:
                    return 0 if found.well else 1
                await asyncio.sleep(PAUSE)

    return asyncio.run(run())


PAUSE = 3.0  # seconds between two looks of --watch


def _show(found: PlatformStatus, output: str) -> None:
    from argosy.platform.status import status_lines

    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
        return
    for line in status_lines(found):
        click.echo(line)
