"""ARG034: a route to a Service, port or gateway that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.ports import missing_port

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG034",
    Severity.ERROR,
    "route that leads nowhere",
    "An Ingress or VirtualService sends requests to a Service that is not in the tree, or to a "
    "port that it does not have, or hangs on a Gateway that is not there. Hosts that may be names "
    "on the internet count only when their namespace is in the tree.",
)
ROUTES = frozenset({"Ingress", "VirtualService"})
TARGETS = frozenset({"Gateway", "Service"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each route."""
    for reference in context.dangling:
        if reference.source.kind in ROUTES and reference.target.kind in TARGETS:
            message = f"There is no {reference.target}; add it, or correct or remove the route."
            yield context.finding(SPEC, reference.source, reference.path, message)
    for reference in context.references:
        if reference.source.kind in ROUTES and (said := missing_port(context, reference)):
            message = f"{said}; correct the port."
            yield context.finding(SPEC, reference.source, reference.path, message)
