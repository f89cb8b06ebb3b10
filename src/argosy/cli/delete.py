"""`argosy delete`: take a platform down."""

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

    from argosy.kube import ClusterConfig
    from argosy.manifests import ObjectId
    from argosy.platform.delete import DeleteOptions, Deletion

__all__ = ["command"]


@click.command("delete")
@directory_option
@env_option
@apps_option
@cluster_options
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--delete-crds", is_flag=True, help="Delete CRDs, and every custom resource.")
@click.option("--delete-namespaces", is_flag=True, help="Delete Namespaces and all inside.")
@click.option("--delete-pvcs", is_flag=True, help="Delete PVCs, and the data on them.")
@click.option("--delete-profiles", is_flag=True, help="Delete Profiles, and users' namespaces.")
@click.option(
    "--delete",
    "names",
    multiple=True,
    metavar="KIND/[NS/]NAME",
    help="Delete this CRD, Namespace, PVC or Profile; may be given again.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=120.0,
    metavar="SECONDS",
    help="How long objects may take to go (default: 120).",
)
@output_option
def command(
    directory: Path,
    env: str | None,
    apps: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    dry_run: bool,
    yes: bool,
    delete_crds: bool,
    delete_namespaces: bool,
    delete_pvcs: bool,
    delete_profiles: bool,
    names: tuple[str, ...],
    timeout: float,
    output: str,
) -> int:
    """Delete what argosy has applied of this platform, in reverse order.

    CRDs, Namespaces, PVCs and Profiles stay unless they are named. What does not go is reported
    with the finalizer and the controller that hold it. Interrupted, the same command goes on.

    \b
    Examples:
      argosy delete --dry-run
      argosy delete --app katib
      argosy delete --yes --delete-crds --delete-namespaces --delete-pvcs
      argosy delete --delete PersistentVolumeClaim/kubeflow/katib-mysql
    """
    from argosy.kube import load_kubeconfig
    from argosy.platform.config import load_platform
    from argosy.platform.delete import DeleteOptions

    loaded = load_platform(directory, env)
    config = load_kubeconfig(kubeconfig, context, os.environ)
    options = DeleteOptions(
        crds=delete_crds,
        namespaces=delete_namespaces,
        pvcs=delete_pvcs,
        profiles=delete_profiles,
        names=frozenset(names),
    )
    call = _run(
        config,
        loaded.platform.metadata.name,
        loaded.env,
        apps=apps,
        options=options,
        dry_run=dry_run,
        yes=yes,
        timeout=timeout,
        output=output,
    )
    return asyncio.run(call)


async def _run(
    config: ClusterConfig,
    name: str,
    env: str,
    *,
    apps: tuple[str, ...],
    options: DeleteOptions,
    dry_run: bool,
    yes: bool,
    timeout: float,
    output: str,
) -> int:
    from argosy.cli.board import open_board
    from argosy.kube import KubeApi
    from argosy.platform.delete import Deleting, plan_deletion, read_members
    from argosy.platform.diff_git import known_apps

    async with KubeApi(config, interactive=sys.stdin.isatty()) as api:
        state, index = await read_members(api, name, env)
        chosen = known_apps(apps, set(state.parents), "in the cluster")
        deletion = plan_deletion(state, apps=chosen, options=options)
        if output == "text":
            _show(deletion)
        if dry_run:
            _tell(deletion, [], output)
            return 0
        if deletion.count and not yes:
            _ask(config.title, name, output)
        if not deletion.count and not deletion.parents:
            _tell(deletion, [], output)
            return 0
        with open_board("delete") as board:
            deleting = Deleting(
                api,
                name,
                env,
                deletion=deletion,
                state=state,
                index=index,
                board=board,
                timeout=timeout,
            )
            gone = await deleting.run()
    _tell(deletion, gone.deleted, output)
    return 0


def _show(deletion: Deletion) -> None:
    for layer in deletion.layers:
        for found in layer:
            click.echo(f"- {found.id}")
    for found in deletion.kept:
        click.echo(f"= {found.id}  (kept)")
    for note in deletion.notes:
        click.echo(f"note {note}")
    click.echo(f"{deletion.count} to delete, {len(deletion.kept)} kept")


def _tell(deletion: Deletion, deleted: list[ObjectId], output: str) -> None:
    """Say what was done."""
    if output == "text":
        if deleted:
            click.echo(f"{len(deleted)} deleted, {len(deletion.kept)} kept")
        return
    import msgspec

    told = {
        "delete": [str(found.id) for layer in deletion.layers for found in layer],
        "keep": [str(found.id) for found in deletion.kept],
        "notes": deletion.notes,
        "deleted": [str(id_) for id_ in deleted],
    }
    click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2))


def _ask(cluster: str, name: str, output: str) -> None:
    if output == "json":
        raise click.UsageError("with -o json, say --yes, or --dry-run to look")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: say --yes, or --dry-run to look")
    click.confirm(f"Delete this from {cluster} ({name})?", abort=True, err=True)
