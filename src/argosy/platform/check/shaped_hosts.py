"""ARG035: a DestinationRule for a Service that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG035",
    Severity.WARNING,
    "rule for a host that is not there",
    "A DestinationRule shapes the traffic to a Service that is not in the tree: it does nothing, "
    "and the Service that was meant goes without it.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each rule."""
    for reference in context.dangling:
        if reference.source.kind == "DestinationRule":
            message = f"There is no {reference.target}; correct the host or remove the rule."
            yield context.finding(SPEC, reference.source, reference.path, message)
