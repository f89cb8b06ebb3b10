"""`argosy render`: build every app."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.cli.options import (
    apps_option,
    cache_dir,
    directory_option,
    env_option,
    mirror_option,
    output_option,
)
from argosy.cli.words import counted

if TYPE_CHECKING:
    from argosy.platform.render import RenderReport

__all__ = ["command"]


@click.command("render")
@directory_option
@env_option
@apps_option
@mirror_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write rendered/ there instead of beside platform.yaml.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be built and why; write nothing.")
@output_option
def command(
    directory: Path,
    env: str | None,
    apps: tuple[str, ...],
    mirror: Path | None,
    out: Path | None,
    dry_run: bool,
    output: str,
) -> int:
    """Build every app into rendered/<env>/<app>/, one object a file.

    Works from argosy.lock alone. An app whose inputs have not changed is not built; the old tree
    stays whole until the new one is complete.

    \b
    Examples:
      argosy render                         the default environment
      argosy render --env prod              with envs/prod.yaml laid over platform.yaml
      argosy render --app katib --app dex   only these two
    """
    from argosy.cli.progress import open_progress
    from argosy.platform.config import load_platform
    from argosy.platform.render import plan_render, render
    from argosy.sources.choose import fetcher_for

    cache = cache_dir()
    loaded = load_platform(directory, env)
    fetcher = fetcher_for(mirror, cache=cache, env=os.environ, offline=True)
    if dry_run:
        planned = plan_render(
            loaded, cache=cache, env=os.environ, apps=apps, out=out, fetcher=fetcher
        )
        _print_plan(planned, output)
        return 0
    with open_progress() as progress:
        report = render(
            loaded,
            cache=cache,
            env=os.environ,
            apps=apps,
            out=out,
            fetcher=fetcher,
            progress=progress,
        )
    if output == "json":
        import msgspec

        shown = {**report.__dict__, "credentials": [c.name for c in report.credentials]}
        click.echo(msgspec.json.encode(shown, enc_hook=str))
    else:
        _print(report)
    return 0


def _print_plan(planned: dict[str, str], output: str) -> None:
    if output == "json":
        import msgspec

        click.echo(msgspec.json.encode({"apps": planned}))
        return
    for name, why in planned.items():
        click.echo(f"{name}: {why}")
    click.echo(f"{counted(len(planned), 'app')} to render" if planned else "nothing to build")


def _print(report: RenderReport) -> None:
    built = f"{len(report.built)} built" if report.built else "nothing to build"
    click.echo(
        f"{counted(report.objects, 'object')} in "
        f"{counted(len(report.built) + len(report.reused), 'app')}: {built}, "
        f"{len(report.reused)} unchanged, {report.seconds:.1f} s"
    )
    for name, by in report.provided.items():
        need = "needs" if len(by) == 1 else "need"
        click.echo(f"{name} is left out, so the cluster must have it: {', '.join(by)} {need} it")
    for hook in report.left_out:
        click.echo(f"left out {hook}: this Helm hook has no place in a rendered tree")
    for credential in report.credentials:
        click.echo(
            f"made a login: {credential.user} ({credential.use}); "
            f"its password is in {report.store}/credentials.yaml"
        )
