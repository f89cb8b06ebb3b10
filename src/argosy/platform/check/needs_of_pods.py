"""ARG030: pods that cannot start, because what they name is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.pods import TEMPLATES
from argosy.graph.references.pods import PULL_SECRETS
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG030",
    Severity.ERROR,
    "pod that cannot start",
    "A workload's pods name a ConfigMap, Secret, ServiceAccount, PersistentVolumeClaim, "
    "PriorityClass or RuntimeClass that is not in the tree, that no Certificate issues and that "
    "nothing known makes at run time. References that Kubernetes may ignore (`optional: true`) "
    "do not count.",
)
MISSED = frozenset(
    {
        "ConfigMap",
        "PersistentVolumeClaim",
        "PriorityClass",
        "RuntimeClass",
        "Secret",
        "ServiceAccount",
    }
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each missing object, workload and place."""
    for reference in context.dangling:
        workload = (reference.source.group, reference.source.kind) in TEMPLATES
        pulls = PULL_SECRETS in reference.path  # ARG038: the pull itself decides
        if workload and not pulls and reference.target.kind in MISSED:
            message = (
                f"Pods will not start: there is no {reference.target}; add it, or correct the name."
            )
            yield context.finding(SPEC, reference.source, reference.path, message)
