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
    moot_rules,
    names_itself,
    namespaces,
    needs_of_pods,
    one_sided_mtls,
    other_references,
    placeholders,
    pod_rules,
    removed_apis,
    repeated_policies,
    rival_routes,
    roles,
    root_policies,
    schema,
    scopes,
    sealed_ports,
    shaped_hosts,
    short_timeouts,
    target_ports,
    unknown_fields,
    unknown_kinds,
    unsealed_secrets,
    unset_settings,
    variables,
    wrong_ca,
)
from argosy.platform.check.context import Context
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.judgement import WaiverLike, judge, load_reviewed
from argosy.platform.check.load import load_checked
from argosy.platform.check.report import Judged, Report
from argosy.platform.openapi import available, load_openapi

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from argosy.manifests import ObjectId
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
    "judge",
    "load_checked",
    "load_reviewed",
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
    pod_rules,
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
    repeated_policies,
    moot_rules,
    wrong_ca,
    closed_webhooks,
    root_policies,
    dead_routes,
    rival_routes,
    short_timeouts,
    closed_gateways,
    mesh_providers,
    sealed_ports,
    one_sided_mtls,
    floating_images,
    clear_secrets,
    unsealed_secrets,
    unset_settings,
)
SPECS: tuple[Spec, ...] = (*(check.SPEC for check in CHECKS), judgement.SPEC)


def find(
    platform: RenderedPlatform, *, withheld: Mapping[ObjectId, str] | None = None
) -> list[Finding]:
    """Return what every check finds, worst first.

    Args:
        platform: the whole of it; without a target version the newest known one counts.
        withheld: Secrets that are kept beside the tree, each with its app.

    Raises:
        VersionError: there is no schema data for the platform's Kubernetes version.
        YamlError: a rendered file is not YAML.
    """
    openapi = load_openapi(platform.kubernetes or available()[0])
    context = Context(platform, openapi, withheld=withheld)
    found = {finding for check in CHECKS for finding in check.findings(context)}
    return sorted(found, key=lambda finding: finding.order)


def run(
    platform: RenderedPlatform,
    *,
    waivers: Sequence[WaiverLike] = (),
    apps: frozenset[str] = frozenset(),
    withheld: Mapping[ObjectId, str] | None = None,
) -> Report:
    """Check a platform and sort what is found.

    Args:
        platform: the whole of it, so that references between apps lead somewhere.
        waivers: `checks.waive` of platform.yaml.
        apps: report on these alone; all when empty.
        withheld: Secrets that are kept beside the tree, each with its app.

    Raises:
        VersionError: there is no schema data for the platform's Kubernetes version.
        YamlError: a rendered file is not YAML.
    """
    report = judge(
        find(platform, withheld=withheld),
        waivers=waivers,
        reviewed=load_reviewed(platform.release),
        platform=platform.name,
    )
    return report.only(apps)
