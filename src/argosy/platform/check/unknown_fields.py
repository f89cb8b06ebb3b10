"""ARG021: a field that its kind's schema does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG021",
    Severity.WARNING,
    "field that the schema does not have",
    "The API server drops the field without a word (server-side apply refuses it for built-in "
    "kinds, and kubectl warns), so what it was to do does not happen.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each unknown field."""
    for found in context.violations:
        if found.unknown:
            message = f"{found.message}; remove it, or correct its name or place."
            yield context.finding(SPEC, found.object, found.path, message)
