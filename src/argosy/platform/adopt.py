"""Take over the fields that kubectl, Argo CD and their like own, by migrating managed fields.

Without the migration a field that the old tool set and argosy does not render would stay for
ever: nobody who is still there would own it. Controllers keep what is theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.kube.fields import adoption_patch, last_applied_managers
from argosy.platform.applyset import MANAGER

if TYPE_CHECKING:
    from argosy.kube import KubeApi, Resource
    from argosy.manifests import Manifest

__all__ = ["TOOLS", "is_tool", "take_over"]

# what people and delivery tools are called in managedFields; everything else is a controller
TOOLS = (
    "kubectl",
    "argocd",
    "helm",
    "kustomize-controller",
    "helm-controller",
    "flux",
    "kapp",
    "terraform",
    "before-first-apply",
)


def is_tool(manager: str) -> bool:
    """Say whether a field manager is a person's or a delivery tool's, and no controller's."""
    return any(manager == tool or manager.startswith((f"{tool}-", tool)) for tool in TOOLS)


async def take_over(api: KubeApi, resource: Resource, live: Manifest) -> bool:
    """Make us the owner of what tools own in an object; say whether anything was theirs.

    Raises:
        Conflict: the object has changed since it was read.
        ApiError: see `argosy.kube.errors`.
    """
    metadata = live["metadata"]
    entries = metadata.get("managedFields") or ()
    legacy = {e.get("manager", "") for e in entries if e.get("operation") == "Update"}
    applied = {e.get("manager", "") for e in entries if e.get("operation") == "Apply"}
    patch = adoption_patch(
        live,
        manager=MANAGER,
        legacy={name for name in legacy if is_tool(name)} | last_applied_managers(live),
        applied={name for name in applied if is_tool(name)},
    )
    if patch is None:
        return False
    await api.patch(resource, metadata["name"], metadata.get("namespace"), patch, form="json")
    return True
