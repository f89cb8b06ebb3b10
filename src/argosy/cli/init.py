"""`argosy init`: write a platform directory."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command("init")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--preset", default="kubeflow", show_default=True, help="What to start from.")
@click.option("--name", help="The platform's name (default: the directory's).")
@click.option("--kubeflow", "release", help="A catalogued release (default: the newest).")
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
def command(
    directory: Path, preset: str, name: str | None, release: str | None, dry_run: bool
) -> None:
    """Write a platform directory to start from.

    \b
    Example:
      argosy init acme-ml --preset kubeflow
      cd acme-ml && argosy lock && argosy render
    """
    from argosy.platform.init import plan_init, write_init

    files = plan_init(directory, preset=preset, name=name, release=release)
    if not dry_run:
        write_init(directory, files)
    for file in files:
        click.echo(f"{'would write' if dry_run else 'wrote'} {directory / file}")
    click.echo(f"next: cd {directory} && argosy lock && argosy render")
