"""ARG038: the remaining references: scalers, StatefulSets, pull secrets, Ingress TLS, storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.references.pods import PULL_SECRETS
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG038",
    Severity.ERROR,
    "reference that leads nowhere",
    "A HorizontalPodAutoscaler scales, a StatefulSet is named by, a ServiceAccount pulls with, or "
    "an Ingress serves with an object that is not in the tree. Storage classes count only when "
    "the tree has any, because clusters bring their own.",
)
SCALED = "spec.scaleTargetRef"


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such reference."""
    for reference in context.dangling:
        source, wanted = reference.source, reference.target
        pulls = PULL_SECRETS in reference.path
        secret = wanted.kind == "Secret" and (pulls or source.kind == "Ingress")
        service = source.kind == "StatefulSet" and wanted.kind == "Service"
        if reference.path == SCALED or secret or service:
            message = f"There is no {wanted}; add it, or correct the name."
            yield context.finding(SPEC, source, reference.path, message)
    has_classes = bool(context.index.of("StorageClass", group="storage.k8s.io"))
    for reference in context.references if has_classes else ():
        if reference.target.kind == "StorageClass" and not context.index.has(reference.target):
            message = f"There is no {reference.target} in the tree; correct the name or add it."
            yield context.finding(SPEC, reference.source, reference.path, message)
