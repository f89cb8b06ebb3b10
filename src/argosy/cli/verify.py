"""`argosy verify`: prove that a mirror is complete."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from argosy.cli.options import directory_option, output_option
from argosy.cli.words import counted

__all__ = ["command"]


@click.command("verify")
@click.argument("mirror", type=click.Path(exists=True, file_okay=False, path_type=Path))
@directory_option
@click.option("--no-network", is_flag=True, help="Prove it in a network namespace without a route.")
@output_option
def command(mirror: Path, directory: Path, no_network: bool, output: str) -> int:
    """Prove that a mirror holds everything that argosy.lock names.

    Each digest is compared; then the platform is locked and rendered from the mirror alone, with
    an empty cache. Exit code 1 when something is missing or different.

    \b
    Example:
      argosy verify ../mirror --no-network
    """
    import msgspec

    from argosy.platform.airgap import prove_mirror
    from argosy.sources.vendor import has_route, isolated

    if no_network and has_route():
        own = [sys.executable, "-m", "argosy.cli.main", "verify", str(mirror.absolute())]
        own += ["-C", str(directory.absolute()), "--no-network", "-o", output]
        alone = isolated(own, env=os.environ)
        if alone is None:
            raise click.ClickException(
                "this system does not let argosy make a network namespace (unshare --net); "
                "run it as root, or leave out --no-network"
            )
        return subprocess.run(alone, check=False).returncode
    problems = prove_mirror(directory, mirror, env=os.environ)
    if output == "json":
        click.echo(msgspec.json.encode({"problems": problems, "isolated": not has_route()}))
        return 1 if problems else 0
    for problem in problems:
        click.echo(problem)
    where = "without a network" if no_network else "from the mirror alone"
    click.echo(
        counted(len(problems), "problem") if problems else f"complete: locked and rendered {where}"
    )
    return 1 if problems else 0
