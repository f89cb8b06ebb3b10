"""Find what is wrong with a rendered platform, without a cluster.

One check a module: a `SPEC` with its stable code, and `findings(context)`, which is pure. The
list below names them in the order of their codes; `docs/checks.md` is made from it. What is
wrong goes in here, what is only ugly does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check import (
    accounts,
    addresses,
    called_services,
    certificates,
    clear_secrets,
    closed_gateways,
    closed_webhooks,
    dead_routes,
    deprecated_apis,
    destinations,
    dormant_apis,
    duplicates,
    floating_images,
    homeless,
    idle_policies,
    idle_services,
    idle_webhooks,
    judgement,
    keys,
    mesh_providers,
    names_itself,
    namespaces,
    needs_of_pods,
    other_references,
    placeholders,
    removed_apis,
    rival_routes,
    roles,
    root_policies,
    schema,
    scopes,
    shaped_hosts,
    short_timeouts,
    target_ports,
    unknown_fields,
    unknown_kinds,
    unset_settings,
    variables,
    wrong_ca,
)
from argosy.platform.check.context import Context
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.judgement import Judged, Report, WaiverLike, judge, load_reviewed
from argosy.platform.openapi import load_openapi

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from argosy.platform.model import RenderedPlatform

    class Check(Protocol):
        """What a check's module has."""

        SPEC: Spec

        def findings(self, context: Context) -> Iterable[Finding]:
            """Yield what is wrong."""


__all__ = [
    "CHECKS",
    "SPECS",
    "Context",
    "Finding",
    "Judged",
    "Report",
    "Severity",
    "Spec",
    "WaiverLike",
    "find",
    "run",
]

CHECKS: tuple[Check, ...] = (
    placeholders,
    variables,
    names_itself,
    duplicates,
    unknown_kinds,
    removed_apis,
    deprecated_apis,
    dormant_apis,
    scopes,
    homeless,
    namespaces,
    schema,
    unknown_fields,
    needs_of_pods,
    keys,
    roles,
    accounts,
    destinations,
    shaped_hosts,
    called_services,
    certificates,
    other_references,
    addresses,
    idle_services,
    idle_webhooks,
    idle_policies,
    target_ports,
    wrong_ca,
    closed_webhooks,
    root_policies,
    dead_routes,
    rival_routes,
    short_timeouts,
    closed_gateways,
    mesh_providers,
    floating_images,
    clear_secrets,
    unset_settings,
)
SPECS: tuple[Spec, ...] = (*(check.SPEC for check in CHECKS), judgement.SPEC)


def find(platform: RenderedPlatform) -> list[Finding]:
    """Return what every check finds, worst first.

    Raises:
        VersionError: there is no schema data for the platform's Kubernetes version.
        YamlError: a rendered file is not YAML.
    """
    context = Context(platform, load_openapi(platform.kubernetes))
    found = {finding for check in CHECKS for finding in check.findings(context)}
    return sorted(found, key=lambda finding: finding.order)


def run(
    platform: RenderedPlatform,
    *,
    waivers: Sequence[WaiverLike] = (),
    apps: frozenset[str] = frozenset(),
) -> Report:
    """Check a platform and sort what is found.

    Args:
        platform: the whole of it, so that references between apps lead somewhere.
        waivers: `checks.waive` of platform.yaml.
        apps: report on these alone; all when empty.

    Raises:
        VersionError: there is no schema data for the platform's Kubernetes version.
        YamlError: a rendered file is not YAML.
    """
    report = judge(
        find(platform),
        waivers=waivers,
        reviewed=load_reviewed(platform.release),
        platform=platform.name,
    )
    return report.only(apps)
