"""ARG036: a webhook, conversion or aggregated API whose Service or port is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.ports import missing_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.graph import Reference
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "called", "findings"]

SPEC = Spec(
    "ARG036",
    Severity.ERROR,
    "webhook without its Service",
    "The API server is told to call a Service that is not in the tree, or a port that it does not "
    "have: what the webhook matches is refused (failurePolicy Fail), the custom resource cannot "
    "be read (conversion), or the API is unavailable (APIService).",
)
CALLERS = frozenset(
    {
        "APIService",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)


def called(context: Context) -> Iterator[Reference]:
    """Yield the references from what makes the API server call, to the Services called."""
    for reference in context.references:
        if reference.source.kind in CALLERS and reference.target.kind == "Service":
            yield reference


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each call that cannot be made."""
    for reference in called(context):
        if not context.index.has(reference.target):
            message = (
                f"There is no {reference.target}, which the API server is told to call; add it, "
                "or remove the configuration."
            )
            yield context.finding(SPEC, reference.source, reference.path, message)
        elif said := missing_port(context, reference):
            message = f"{said}; correct the port."
            yield context.finding(SPEC, reference.source, reference.path, message)
