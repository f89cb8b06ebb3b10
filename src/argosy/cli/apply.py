"""`argosy apply`: bring a cluster to the rendered state."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

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

    from argosy.platform.apply import Prepared, Report

__all__ = ["command"]


@click.command("apply")
@directory_option
@env_option
@apps_option
@cluster_options
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--prune", is_flag=True, help="Delete what argosy applied and renders no more.")
@click.option(
    "--delete-budget",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many objects --prune may delete.",
)
@click.option(
    "--delete",
    multiple=True,
    metavar="KIND/[NS/]NAME",
    help="Let --prune delete this CRD, Namespace, Profile or PVC too.",
)
@click.option(
    "--replace",
    multiple=True,
    metavar="KIND/[NS/]NAME",
    help="Delete and make anew this object, which cannot be patched.",
)
@click.option("--adopt", is_flag=True, help="Take over what kubectl or Argo CD made.")
@click.option(
    "--force-conflicts",
    multiple=True,
    metavar="MANAGER",
    help="Take fields from this field manager.",
)
@click.option(
    "--wait/--no-wait",
    default=True,
    help="Wait until all workloads are rolled out and all kinds are served.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600.0,
    metavar="SECONDS",
    help="How long one thing may be waited for (default: 600).",
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
    output: str,
    wait: bool,
    timeout: float,
    **allowed: Any,
) -> int:
    """Bring the cluster to the rendered state, in the order that its objects need.

    Shows the plan and asks; then applies each object as soon as what it needs is there, and waits
    until every workload is rolled out. Interrupted at any point, the same command goes on.
    Exits with 1 when something is refused, fails or does not become ready, and for --dry-run when
    there is something to do.

    \b
    Examples:
      argosy apply --dry-run                what would be done, field by field
      argosy apply --yes                    in a pipeline
      argosy apply --app katib --prune      one app, and delete what it has no more
      argosy apply --replace Deployment/kubeflow/katib-ui
    """
    from argosy.kube import KubeApi, load_kubeconfig
    from argosy.platform.diff_git import known_apps
    from argosy.platform.plan import Options
    from argosy.platform.withheld import load_with_secrets

    platform = load_with_secrets(directory, env or "default")
    chosen = known_apps(apps, {app.name for app in platform.apps}, "rendered")
    config = load_kubeconfig(kubeconfig, context, os.environ)
    options = Options(
        prune=allowed["prune"],
        budget=allowed["delete_budget"],
        delete=frozenset(allowed["delete"]),
        replace=frozenset(allowed["replace"]),
        adopt=allowed["adopt"],
        force=frozenset(allowed["force_conflicts"]),
    )

    async def run() -> int:
        from argosy.platform.apply import prepare

        async with KubeApi(config, interactive=sys.stdin.isatty()) as api:
            prepared = await prepare(api, platform, apps=chosen, options=options)
            if output == "text":
                _show(prepared, full=dry_run)
            if dry_run:
                if output == "json":
                    _print_json(prepared, None)
                return 1 if prepared.plan.writes or prepared.plan.refusals else 0
            if prepared.plan.writes and not prepared.plan.refusals and not yes:
                _ask(config.title, platform.env, output)
            report = await _apply(api, prepared, output, timeout=timeout, wait=wait)
        if output == "text":
            _close(report)
        return 0

    return asyncio.run(run())


def _print_json(prepared: Prepared, report: Report | None) -> None:
    """Print the plan and, unless it was a dry run, what became of it: one document."""
    import msgspec

    from argosy.platform.plan_text import plan_dict, report_dict

    told = plan_dict(prepared.plan, prepared.inspected)
    if report:
        told["result"] = report_dict(report)
    click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2))


def _show(prepared: Prepared, *, full: bool) -> None:
    from argosy.platform.plan_text import plan_lines

    for line in plan_lines(prepared.plan, prepared.inspected, full=full):
        click.echo(line)
    if full and prepared.plan.writes:
        from argosy.platform.dependencies import Tree
        from argosy.platform.plan_text import wave_lines

        click.echo("order:")
        acting = frozenset(a.id for a in prepared.plan.of("create", "update", "adopt", "replace"))
        for line in wave_lines(Tree(prepared.scoped.platform).order(), acting):
            click.echo(line)


def _ask(cluster: str, env: str, output: str) -> None:
    if output == "json":
        raise click.UsageError("with -o json, say --yes, or --dry-run to look")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: say --yes, or --dry-run to look")
    click.confirm(f"Apply this to {cluster} ({env})?", abort=True, err=True)


async def _apply(
    api: Any, prepared: Prepared, output: str, *, timeout: float, wait: bool
) -> Report:
    from argosy.cli.board import open_board
    from argosy.platform.apply import Applying

    with open_board("apply") as board:
        applying = Applying(api, prepared, board=board, timeout=timeout, wait=wait)
        try:
            return await applying.run()
        finally:
            if output == "json":  # also of what failed or was interrupted: what was done is done
                _print_json(prepared, applying.report)


def _close(report: Report) -> None:
    took = " ".join(f"{name} {seconds:.1f} s," for name, seconds in report.seconds.items())
    click.echo(
        f"{len(report.applied)} applied, {len(report.deleted)} deleted, "
        f"{len(report.plan.unchanged)} unchanged; {took.rstrip(',') or 'nothing to do'}"
    )
