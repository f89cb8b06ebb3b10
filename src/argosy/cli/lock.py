"""`argosy lock`: pin every remote reference."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from argosy.cli.options import cache_dir, directory_option, mirror_option, output_option
from argosy.cli.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.sources.resolve import Move

__all__ = ["command"]


@click.command("lock")
@directory_option
@mirror_option
@click.option("--check", is_flag=True, help="Only say whether the lock fits, without a network.")
@click.option("--update", metavar="NAME", help="Resolve this one source anew; show what moves.")
@click.option("--dry-run", is_flag=True, help="Show what would move; write nothing.")
@output_option
def command(
    directory: Path,
    mirror: Path | None,
    check: bool,
    update: str | None,
    dry_run: bool,
    output: str,
) -> int:
    """Pin every remote reference to commits and file digests, in argosy.lock.

    References inside upstream's own kustomizations are followed and pinned as well. What moves
    (a branch, HEAD, latest) is refused unless its source gives a reason under 'waive'.

    \b
    Examples:
      argosy lock                     resolve everything
      argosy lock --check             exit code 1 when the lock does not fit platform.yaml
      argosy lock --update extras     resolve one source anew
      argosy lock --mirror ../mirror  a mirror stands for the network
    """
    from argosy.cli.progress import open_progress
    from argosy.platform.locking import check_lock, lock_platform, update_source
    from argosy.sources.blobs import BlobStore
    from argosy.sources.choose import fetcher_for

    if check and (update is not None or dry_run):
        raise click.UsageError("--check only looks; leave it out to lock, or leave out the rest")
    cache = cache_dir()
    blobs = BlobStore(cache)
    if check:
        problems = check_lock(
            directory,
            blobs=blobs,
            fetcher=fetcher_for(mirror, cache=cache, env=os.environ, offline=True),
        )
        _print_problems(problems, output)
        return 1 if problems else 0
    with open_progress() as progress:
        fetcher = fetcher_for(mirror, cache=cache, env=os.environ, progress=progress)
        if update is not None:
            moves = update_source(directory, update, fetcher=fetcher, blobs=blobs, dry_run=dry_run)
        else:
            _, moves = lock_platform(
                directory, fetcher=fetcher, blobs=blobs, dry_run=dry_run, progress=progress
            )
    _print_moves(moves, output)
    return 0


def _print_problems(problems: list[str], output: str) -> None:
    import msgspec

    if output == "json":
        click.echo(msgspec.json.encode({"problems": problems}))
        return
    for problem in problems:
        click.echo(problem)
    click.echo(counted(len(problems), "problem") if problems else "the lock fits platform.yaml")


def _print_moves(moves: list[Move], output: str) -> None:
    import msgspec

    if output == "json":
        rows = [{**move._asdict()} for move in moves]
        click.echo(msgspec.json.encode({"moves": rows}))
        return
    for move in moves:
        click.echo(_line(move))
    click.echo("nothing moves" if not moves else f"{counted(len(moves), 'source')} moved")


def _line(move: Move) -> str:
    counts = (
        f"{len(files)} {word}"
        for files, word in (
            (move.added, "added"),
            (move.removed, "removed"),
            (move.changed, "changed"),
        )
        if files
    )
    old = (move.old_commit or "")[:12]
    new = (move.new_commit or "")[:12]
    commits = f" {old} -> {new}" if old and new and old != new else f" {new or old}"
    return f"{move.name}:{commits.rstrip()} ({', '.join(counts) or 'no file'})"
