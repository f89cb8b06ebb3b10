"""`argosy rehearse`: try an upgrade on a fresh simulated cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from argosy.cli.options import cache_dir, directory_option, env_option, output_option

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("rehearse")
@directory_option
@env_option
@click.option(
    "--from",
    "rev",
    default="HEAD",
    show_default=True,
    metavar="REV",
    help="The commit whose rendered tree is applied first.",
)
@output_option
def command(directory: Path, env: str | None, rev: str, output: str) -> int:
    """Apply the tree of a commit, then the one on disk, to a cluster made for it.

    Prints a report for the pull request: hazards, what must be replaced, what is refused, every
    change. Takes about a minute; the cluster is removed. Exits with 1 when the upgrade does not
    pass.

    \b
    Examples:
      argosy rehearse                    what is not committed yet, against HEAD
      argosy rehearse --from main        a branch, against main
    """
    from argosy.cli.progress import open_progress
    from argosy.platform.rehearse import rehearse, report_lines

    with open_progress() as progress:
        found = rehearse(
            directory,
            env or "default",
            rev=rev,
            cache=cache_dir(),
            environ=os.environ,
            progress=progress,
        )
    if output == "json":
        import msgspec

        from argosy.platform.plan_text import plan_dict

        plan = plan_dict(found.plan, found.inspected) if found.inspected else {}
        shown = {
            "passed": found.passed,
            "before": found.before,
            "replaced": found.replaced,
            "refusals": found.refusals,
            "failed": found.failed,
            "seconds": found.seconds,
            "plan": plan,
        }
        click.echo(msgspec.json.encode(shown))
    else:
        for line in report_lines(found):
            click.echo(line)
    return 0 if found.passed else 1
