"""`argosy demo`: the whole way, on a local cluster."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.cli.options import cache_dir, mirror_option

if TYPE_CHECKING:
    from argosy.platform.demo import DemoReport

__all__ = ["command"]


@click.command("demo")
@mirror_option
@click.option(
    "--directory",
    "-C",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the platform is kept (default: in argosy's cache).",
)
@click.option("--name", default="demo", show_default=True, help="The local cluster's name.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use this cluster instead of a local one.",
)
@click.option("--kubeflow", "release", help="A catalogued release (default: the newest).")
def command(
    mirror: Path | None,
    directory: Path | None,
    name: str,
    kubeconfig: Path | None,
    release: str | None,
) -> None:
    """Bring up a platform on a local cluster: render, check, apply.

    The cluster is a real kube-apiserver, etcd, controller-manager and scheduler with simulated
    nodes; it is compiled at first use, which takes some minutes. Upstream's sources come from the
    network or from a mirror; with neither, an example platform of argosy's own is brought up.

    \b
    Example:
      argosy demo
      argosy demo --mirror ../mirror --kubeflow v1.11.0
    """
    from argosy.cli.board import open_board
    from argosy.cli.progress import open_progress
    from argosy.platform.demo import Demo

    cache = cache_dir()
    with open_progress() as progress:
        demo = Demo(
            directory,
            name=name,
            mirror=mirror,
            cache=cache,
            env=os.environ,
            progress=progress,
            release=release,
            kubeconfig=kubeconfig,
        )
        demo.prepare()
    _close(demo.apply(open_board))


def _close(report: DemoReport) -> None:
    if report.why:
        click.echo(f"This is argosy's own example platform, not Kubeflow: {report.why}.")
    width = max(len(step.name) for step in report.steps)
    for step in report.steps:
        click.echo(f"  {step.name:<{width}}  {step.seconds:6.1f} s  {step.result}")
    counts = [f"{up} of {all_} {name}" for name, (up, all_) in report.running.items() if all_]
    click.echo(f"\nRunning: {', '.join(counts)}.\n")
    for login in report.logins:
        click.echo(f"Login {login}\n")
    for line in _to_try(report):
        click.echo(f"  {line}")


def _to_try(report: DemoReport) -> list[str]:
    """Return the lines that a person can type next."""
    lines = [f"export KUBECONFIG={report.kubeconfig}"]
    own = Path(sys.executable).parent
    if shutil.which("argosy") is None or (own / "argosy").exists():
        lines.append(f"export PATH={own}:$PATH")
    lines.append(f"cd {report.folder}")
    if shutil.which("kubectl"):
        lines.append("kubectl get pods -A              # simulated nodes, real objects")
    target = "ml-pipeline -n kubeflow" if report.preset == "kubeflow" else "web -n example"
    return [
        *lines,
        "argosy status                    # each app's health and drift",
        "argosy diff --live               # nothing: the cluster is as rendered",
        f"argosy explain deployment/{target}",
        "argosy check --all               # what is wrong with it, known and waived",
        *report.ending,
    ]
