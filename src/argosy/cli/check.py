"""`argosy check`: find what is wrong with the rendered platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from argosy.cli.options import apps_option, directory_option, env_option, output_option

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from argosy.platform.check import Finding, Judged, Report

__all__ = ["command"]

COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


@click.command("check")
@directory_option
@env_option
@apps_option
@output_option
@click.option(
    "--strict",
    is_flag=True,
    help="Fail on warnings and on upstream's known defects too, not on new errors alone.",
)
@click.option("--all", "everything", is_flag=True, help="Show the waived findings one by one too.")
def command(
    directory: Path,
    env: str | None,
    apps: tuple[str, ...],
    output: str,
    strict: bool,
    everything: bool,
) -> int:
    """Find what is wrong with the rendered platform, without a cluster.

    Exits with 1 when there is a new error, one that neither `checks.waive` in platform.yaml nor
    the release's reviewed list speaks of. What each code means stands in docs/checks.md.

    \b
    Examples:
      argosy check                     the default environment
      argosy check --env prod --strict fail on anything that is not waived
      argosy check --app katib -o json
    """
    from argosy.platform.check import WaiverLike, load_checked, run
    from argosy.platform.config import load_platform

    loaded = load_platform(directory, env)
    rendered, withheld = load_checked(directory, loaded.env)
    for app in apps:
        _known(app, [one.name for one in rendered.apps])
    waivers = [
        WaiverLike(waiver.code, waiver.object, waiver.reason)
        for waiver in loaded.platform.checks.waive
    ]
    report = run(rendered, waivers=waivers, apps=frozenset(apps), withheld=withheld)
    failed = report.failed(strict=strict)
    if output == "json":
        click.echo(report.to_json(failed=failed))
    else:
        _print(report, everything=everything)
    return 1 if failed else 0


def _known(app: str, apps: list[str]) -> None:
    from argosy.errors import UsageError
    from argosy.suggest import did_you_mean

    if app not in apps:
        hint = did_you_mean(app, apps) or f"it has {', '.join(apps)}"
        raise UsageError(f"the rendered tree has no app {app!r}", hint=hint)


def _print(report: Report, *, everything: bool) -> None:
    _section("New findings", ((finding, "") for finding in report.new))
    _section("Known defects of upstream's", _with_reasons(report.known))
    if everything:
        _section("Waived", _with_reasons(report.waived))
    else:
        for code, number in report.waived_by_code().items():
            click.echo(f"waived: {number} x {code}")
    click.echo(report.summary())


def _with_reasons(judged: Iterable[Judged]) -> Iterable[tuple[Finding, str]]:
    return ((one.finding, one.reason) for one in judged)


def _section(title: str, findings: Iterable[tuple[Finding, str]]) -> None:
    shown = list(findings)
    if not shown:
        return
    click.secho(f"{title} ({len(shown)})", bold=True)
    for finding, reason in shown:
        severity = finding.severity.value
        place = f" {finding.path}" if finding.path else ""
        click.secho(f"  {severity} {finding.code} ", fg=COLOURS[severity], nl=False)
        click.echo(f"{finding.object}{place}")
        click.echo(f"    {finding.message}")
        if reason:
            click.echo(f"    why: {reason}")
        if finding.file:
            click.echo(f"    {finding.file}")
    click.echo()
