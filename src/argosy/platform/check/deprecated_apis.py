"""ARG013: an API version that is still served and will go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import identity
from argosy.platform.check.api_lifetimes import DEPRECATED
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG013",
    Severity.WARNING,
    "API version deprecated",
    "The object is written in an API version that Kubernetes, or the CustomResourceDefinition in "
    "the tree, calls deprecated. It works today and fails after an upgrade.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object in a deprecated version."""
    for obj in context.objects:
        message = _problem(context, obj)
        if message:
            yield context.finding(SPEC, identity(obj), "apiVersion", message)


def _problem(context: Context, obj: Manifest) -> str:
    api_version, where = str(obj.get("apiVersion", "")), identity(obj)
    lifetime = DEPRECATED.get((api_version, where.kind))
    if lifetime:
        return (
            f"{api_version} {where.kind} is deprecated since Kubernetes {lifetime.since}; "
            f"use {lifetime.instead}."
        )
    definition = context.definitions.get((where.group, where.kind))
    entry = definition and definition.version(api_version.rpartition("/")[2])
    if entry and entry.get("deprecated"):
        said = entry.get("deprecationWarning") or f"{api_version} {where.kind} is deprecated"
        return f"{str(said).rstrip('.')}; write the object in a newer version."
    return ""
