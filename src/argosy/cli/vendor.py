"""`argosy vendor`: write a mirror for sites without a network."""

from __future__ import annotations

import os
from pathlib import Path

import click

from argosy.cli.options import cache_dir, directory_option, mirror_option
from argosy.cli.words import counted

__all__ = ["command"]


@click.command("vendor")
@click.argument("dest", type=click.Path(file_okay=False, path_type=Path))
@directory_option
@mirror_option
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
def command(dest: Path, directory: Path, mirror: Path | None, dry_run: bool) -> None:
    """Write a mirror of everything that argosy.lock names, for air-gapped sites.

    Files that are there and right are left alone, so that an interrupted run goes on. Use the
    mirror with `--mirror DEST`, and prove it complete with `argosy verify`.

    \b
    Example:
      argosy vendor ../mirror
      argosy verify ../mirror --no-network
    """
    from argosy.cli.progress import open_progress
    from argosy.platform.places import LOCK_FILE
    from argosy.sources.blobs import BlobStore
    from argosy.sources.choose import fetcher_for
    from argosy.sources.lock import read_lock
    from argosy.sources.vendor import vendor

    lock = read_lock(directory / LOCK_FILE)
    if dry_run:
        for name, source in lock.sources.items():
            click.echo(f"{name}: {counted(len(source.files), 'file')}")
        return
    cache = cache_dir()
    with open_progress() as progress:
        fetcher = fetcher_for(mirror, cache=cache, env=os.environ, progress=progress)
        count = vendor(lock, dest, blobs=BlobStore(cache), fetcher=fetcher, progress=progress)
    click.echo(f"{counted(count, 'file')} written to {dest}")
