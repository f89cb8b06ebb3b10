"""ARG012: an API version that Kubernetes has dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import identity
from argosy.platform.check.api_lifetimes import REMOVED
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG012",
    Severity.ERROR,
    "API version removed",
    "The object is written in an API version that Kubernetes served once and that the target "
    "version has dropped. The API server refuses it.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object in a dropped version."""
    for obj in context.objects:
        api_version, where = str(obj.get("apiVersion", "")), identity(obj)
        lifetime = REMOVED.get((api_version, where.kind)) or REMOVED.get((api_version, "*"))
        version = api_version.rpartition("/")[2]
        if lifetime and not context.openapi.find(where.group, version, where.kind):
            message = (
                f"{api_version} {where.kind} was removed in Kubernetes {lifetime.since}; "
                f"write it as {lifetime.instead}."
            )
            yield context.finding(SPEC, where, "apiVersion", message)
