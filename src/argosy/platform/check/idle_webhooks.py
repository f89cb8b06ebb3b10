"""ARG042: a Service that the API server calls, and that no pods stand behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import dig
from argosy.platform.check.called_services import called
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG042",
    Severity.ERROR,
    "webhook that nobody serves",
    "The Service of a webhook, conversion or aggregated API selects the pods of no workload in "
    "the tree: with failurePolicy Fail every object that it matches is refused.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each configuration and Service."""
    seen = set()
    for reference in called(context):
        service = context.index.objects.get(reference.target)
        if service is None or (reference.source, reference.target) in seen:
            continue
        seen.add((reference.source, reference.target))
        if dig(service, "spec", "selector") and not context.index.behind(service):
            message = (
                f"The selector of {reference.target} matches no workload; add the workload that "
                "answers, or remove the configuration."
            )
            yield context.finding(SPEC, reference.source, reference.path, message)
