"""ARG071: a Secret that stands on one machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG071",
    Severity.INFO,
    "Secret kept beside the tree",
    "Rendering took a Secret's values, which upstream publishes, out of the tree, made new ones "
    "and keeps them in the ignored folder of the machine that rendered. `argosy apply` on that "
    "machine brings them to the cluster; Argo CD and other machines do not have them.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each Secret that the tree leaves out."""
    for where, app in context.withheld.items():
        message = (
            "Its values are on the machine that rendered, and not in the tree; seal it or keep "
            "it in a secret store before Argo CD syncs the tree."
        )
        yield Finding(
            SPEC.code,
            SPEC.severity,
            where,
            "",
            message,
            app=app,
            file=f"rendered/{context.platform.env}/index.json",
        )
