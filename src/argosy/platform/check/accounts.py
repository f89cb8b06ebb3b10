"""ARG033: rights or trust for a ServiceAccount that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.pods import TEMPLATES
from argosy.manifests import ObjectId
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG033",
    Severity.WARNING,
    "rights for an account that is not there",
    "A role binding or a mesh policy names a ServiceAccount that is not in the tree, in a "
    "namespace that is. It does nothing today, and whoever makes the account later has the "
    "rights.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each binding or policy, and account."""
    for reference in context.dangling:
        if reference.target.kind != "ServiceAccount":
            continue
        if (reference.source.group, reference.source.kind) in TEMPLATES:
            continue  # pods without their account do not start: ARG030
        space = reference.target.namespace
        known = context.index.has(ObjectId("", "Namespace", "", space))
        why = "" if known else f" (nor a namespace {space})"
        message = (
            f"There is no {reference.target}{why}; add the account, correct the name, or take "
            "its rights away."
        )
        yield context.finding(SPEC, reference.source, reference.path, message)
