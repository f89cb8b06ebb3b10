"""ARG014: an alpha or beta API of Kubernetes, which a cluster serves only when told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG014",
    Severity.WARNING,
    "API version not served by default",
    "The object is written in an alpha or beta version of a built-in API. Since Kubernetes 1.24 "
    "a cluster serves new ones only with --runtime-config.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object in such a version."""
    for obj in context.objects:
        api_version, where = str(obj.get("apiVersion", "")), identity(obj)
        kind = context.openapi.find(where.group, api_version.rpartition("/")[2], where.kind)
        if kind and not kind.served_by_default:
            message = (
                f"A cluster serves {api_version} only with --runtime-config={api_version}=true; "
                "switch it on or write the object in a stable version."
            )
            yield context.finding(SPEC, where, "apiVersion", message)
