"""ARG070: a Secret whose data stands in the rendered tree for everybody to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import mapping
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG070",
    Severity.WARNING,
    "Secret in the clear",
    "A Secret with data is in the tree, which goes to git; when it comes from upstream its "
    "values are public constants. Values are never shown. One finding a Secret, with its keys.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each Secret with data."""
    for obj in context.index.of("Secret"):
        keys = sorted({key for field in ("data", "stringData") for key in mapping(obj, field)})
        if keys:
            message = (
                f"The values of {', '.join(keys)} stand in the rendered tree; generate them and "
                "keep them sealed or outside."
            )
            yield context.finding(SPEC, identity(obj), "data", message)
