"""ARG020: a value that its kind's schema does not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG020",
    Severity.ERROR,
    "value that the schema does not allow",
    "The object does not fit the OpenAPI of the target Kubernetes version, or the "
    "CustomResourceDefinition in the tree. The API server refuses it. Not evaluated: CEL rules, "
    "`format`, what admission webhooks want, and the schemas inside definitions themselves.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each violation."""
    for found in context.violations:
        if not found.unknown:
            message = f"The schema does not allow this: {found.message}; correct the value."
            yield context.finding(SPEC, found.object, found.path, message)
