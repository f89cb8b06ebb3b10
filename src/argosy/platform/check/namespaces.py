"""ARG017: an object in a namespace that nothing in the tree makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import ObjectId, identity
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.scopes import namespaced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG017",
    Severity.ERROR,
    "namespace that nobody makes",
    "An object lives in a namespace that is not in the tree, is not one of Kubernetes' own, and "
    "is not made for a Profile in the tree. The API server refuses it. One finding a namespace "
    "and app.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for the first object of each app in each such namespace."""
    profiles = {identity(obj).name for obj in context.index.of("Profile", group="kubeflow.org")}
    seen: set[tuple[str, str]] = set()
    for obj in context.objects:
        where = identity(obj)
        space = where.namespace
        if (
            not space
            or space in profiles
            or space in context.brought.namespaces
            or context.index.has(ObjectId("", "Namespace", "", space))
        ):
            continue
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        app = context.rendered[where].app
        if (app, space) in seen or namespaced(context, where, version) is False:
            continue
        seen.add((app, space))
        message = (
            f"Nothing in the tree makes the namespace {space}; add a Namespace, or the app that "
            "brings it."
        )
        yield context.finding(SPEC, where, "metadata.namespace", message)
