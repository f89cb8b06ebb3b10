"""ARG032: a binding that grants a role that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG032",
    Severity.ERROR,
    "binding without its role",
    "A RoleBinding or ClusterRoleBinding names a Role or ClusterRole that is not in the tree and "
    "not one of Kubernetes' own. It is accepted and grants nothing.",
)
ROLES = frozenset({"ClusterRole", "Role"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each binding."""
    for reference in context.dangling:
        if reference.path == "roleRef" and reference.target.kind in ROLES:
            message = (
                f"There is no {reference.target}, so the binding grants nothing; add the role "
                "or remove the binding."
            )
            yield context.finding(SPEC, reference.source, reference.path, message)
