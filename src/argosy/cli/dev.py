"""`argosy dev`: start and stop local clusters, say how they are, print their kubeconfig."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from argosy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from argosy.dev.status import ClusterStatus

__all__ = ["command"]

MEGABYTE = 1_000_000


def _name(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--name",
        metavar="N",
        default="default",
        show_default=True,
        help="Which cluster; several run side by side.",
    )(function)


@click.group(name="dev")
def command() -> None:
    """Start and stop local clusters: a real control plane, simulated nodes, no containers.

    \b
    Example:
      argosy dev up
      export KUBECONFIG=$(argosy dev kubeconfig --path)
    """


@command.command()
@_name
@click.option("--nodes", type=click.IntRange(1, 1000), help="Simulated nodes (at first 3).")
@click.option(
    "--webhooks/--no-webhooks",
    default=None,
    help="Call admission webhooks; simulated pods serve none, so they are off at first.",
)
@click.option(
    "--assets",
    is_flag=True,
    help="Use etcd and kube-apiserver from the folder KUBEBUILDER_ASSETS.",
)
@click.option(
    "--executor",
    "executors",
    multiple=True,
    type=click.Choice(["argo", "tekton"]),
    help="Build what Argo's or Tekton's pods start with, to run them for real.",
)
@click.option("--with", "part", metavar="PART", help="Run a part of argosy beside the cluster.")
def up(
    name: str,
    nodes: int | None,
    webhooks: bool | None,
    assets: bool,
    executors: tuple[str, ...],
    part: str | None,
) -> None:
    """Start a cluster, or go on with one that was stopped.

    Returns when the API server and the nodes are ready. The first start builds the cluster's
    binary, which takes minutes.

    \b
    Example:
      argosy dev up --name try --nodes 5
    """
    from argosy.cli.progress import open_progress
    from argosy.dev import cluster, parts

    port = _debug_port()
    start = parts.command(part, debug_port=port) if part else None  # refused before any work
    with open_progress() as progress:
        running = cluster.up(
            name,
            nodes=nodes,
            webhooks=webhooks,
            executors=executors or None,
            assets=_assets() if assets else None,
            env=os.environ,
            progress=progress,
        )
    click.echo(f"cluster {running.name} is ready at {running.server}")
    click.echo(f"export KUBECONFIG={running.kubeconfig}")
    if start:
        raise SystemExit(parts.run(start, kubeconfig=running.kubeconfig, env=os.environ))


@command.command()
@_name
@click.option("--all", "every", is_flag=True, help="Stop every cluster.")
@click.option("--delete", is_flag=True, help="Delete its data as well.")
def down(name: str, every: bool, delete: bool) -> None:
    """Stop a cluster; its data stays for the next `up`.

    \b
    Example:
      argosy dev down --name try --delete
    """
    from argosy.cli.progress import open_progress
    from argosy.dev import cluster, state

    names = state.names(cluster.clusters_folder(os.environ)) if every else [name]
    with open_progress() as progress:
        for each in names:
            ran = cluster.down(each, delete=delete, env=os.environ, progress=progress)
            text = "is stopped" if ran else "was not running"
            click.echo(f"cluster {each} {text}{' and deleted' if delete else ''}")


@command.command()
@_name
def reset(name: str) -> None:
    """Delete all data of a cluster and start it again, empty, with the same settings.

    \b
    Example:
      argosy dev reset
    """
    from argosy.cli.progress import open_progress
    from argosy.dev import cluster

    with open_progress() as progress:
        running = cluster.reset(name, env=os.environ, progress=progress)
    click.echo(f"cluster {running.name} is ready and empty at {running.server}")


@command.command()
@click.option("--name", metavar="N", help="Only this cluster.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def status(name: str | None, output: str) -> None:
    """Show clusters, their processes and what they weigh.

    The exit code is 1 when a cluster that was named does not run.

    \b
    Example:
      argosy dev status -o json
    """
    import msgspec

    from argosy.dev.status import status as ask

    found = ask(name, env=os.environ)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        for each in found:
            click.echo(_as_text(each))
        if not found:
            click.echo("there are no clusters; start one: argosy dev up")
    if name is not None and not found[0].running:
        raise SystemExit(1)


@command.command()
@_name
@click.option("--path", is_flag=True, help="Print where the file is instead of what is in it.")
def kubeconfig(name: str, path: bool) -> None:
    """Print a cluster's kubeconfig.

    \b
    Example:
      kubectl --kubeconfig $(argosy dev kubeconfig --path) get nodes
    """
    from argosy.dev import cluster

    folder, _ = cluster.find(name, env=os.environ)
    file = folder / "kubeconfig"
    click.echo(str(file) if path else file.read_text(), nl=path)


@command.command()
@_name
@click.option("--port", type=click.IntRange(1, 65535), help="Where it listens (any free port).")
@click.option(
    "--webhooks/--no-webhooks",
    default=True,
    show_default=True,
    help="Refuse what an admission webhook that nobody serves would be asked about.",
)
def proxy(name: str, port: int | None, webhooks: bool) -> None:
    """Put a server that behaves badly in front of a cluster, until ^C.

    It refuses objects as a real cluster does whose webhooks are not up yet, and injects the faults
    that are PUT to /.argosy/faults.

    \b
    Example:
      argosy dev proxy --name try --port 6443
    """
    import signal

    from argosy.dev import cluster
    from argosy.dev import proxy as proxies

    running = cluster.up(name, env=os.environ)
    with proxies.run(running, webhooks=webhooks, port=port or 0, env=os.environ) as front:
        click.echo(f"the proxy listens at {front.server}")
        click.echo(f"export KUBECONFIG={front.kubeconfig}")
        signal.pause()


@command.command()
@click.argument("names", nargs=-1)
def tools(names: tuple[str, ...]) -> None:
    """Build kustomize and helm (or the tools that are named) from their Go modules.

    They go to argosy's cache, where `argosy render` finds them when there are none on PATH.

    \b
    Example:
      argosy dev tools
      argosy dev tools kustomize
    """
    from argosy.cli.progress import open_progress
    from argosy.dev.toolchain import ensure

    with open_progress() as progress:
        for name in names or ("kustomize", "helm"):
            click.echo(f"{name}: {ensure(name, env=os.environ, progress=progress)}")


def _as_text(cluster: ClusterStatus) -> str:
    state = "running" if cluster.running else "stopped" if not cluster.components else "broken"
    lines = [f"{cluster.name}: {state}, {cluster.server}, {cluster.nodes} nodes"]
    for one in cluster.components:
        health = "ready" if one.ready else "alive" if one.alive else "gone"
        lines.append(
            f"  {one.name:<24} {health:<6} pid {one.pid:<8} {one.memory // MEGABYTE:>4} MB"
        )
    return "\n".join(lines)


def _assets() -> Path:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        raise UsageError("--assets needs the folder in KUBEBUILDER_ASSETS")
    return Path(folder).absolute()


def _debug_port() -> int | None:
    text = os.environ.get("ARGOSY_DEBUG_PORT")
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise UsageError(f"ARGOSY_DEBUG_PORT is not a port: {text!r}")
    return int(text)
