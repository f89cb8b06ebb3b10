"""ARG010: two apps, or two files of one app, that render the same object."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import ObjectId
    from argosy.platform.check.context import Context
    from argosy.platform.model import RenderedObject

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG010",
    Severity.ERROR,
    "object rendered twice",
    "Two apps render an object with the same group, kind, namespace and name. Which one the "
    "cluster has would depend on the order of the apply.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object after the first with its identity."""
    seen: dict[ObjectId, list[RenderedObject]] = defaultdict(list)
    for rendered in context.platform.objects():
        seen[rendered.id].append(rendered)
    for where, places in seen.items():
        for again in places[1:]:
            first = places[0]
            other = "itself" if again.app == first.app else f"app {first.app}"
            message = (
                f"The object is rendered by {other} too ({first.file}); leave it out of one of "
                "them with a patch."
            )
            yield Finding(
                SPEC.code, SPEC.severity, where, "", message, app=again.app, file=again.file
            )
