"""ARG016: a namespaced object that names no namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.scopes import namespaced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG016",
    Severity.ERROR,
    "namespaced object without a namespace",
    "An object of a namespaced kind says nothing about where it lives. It lands in whatever "
    "namespace the person or tool that applies it happens to be in.",
)
# what is sent to the API server to ask it something; it is never stored
ASKED = frozenset({"LocalSubjectAccessReview", "Binding"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such object."""
    for obj in context.objects:
        where = identity(obj)
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        if where.namespace or where.kind in ASKED:
            continue
        if namespaced(context, where, version):
            message = (
                f"The {where.kind} lands in the namespace of whoever applies it; set "
                "metadata.namespace, or `namespace:` of the app."
            )
            yield context.finding(SPEC, where, "metadata.namespace", message)
