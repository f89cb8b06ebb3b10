"""Look why a definition is not served, and wake an API server that has forgotten about it.

An API server establishes a definition when it hears of a change to it. One that is started while
a definition has its names and is not established yet hears of no change, and comes back to it
only after five minutes. A change that leaves nothing behind makes it look at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.kube import Resource
from argosy.platform.conditions import named
from argosy.platform.health import Health, assess

if TYPE_CHECKING:
    from argosy.kube import KubeApi

__all__ = ["look_at"]

DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
WOKEN = "argosy.dev/woken"
MANAGER = "argosy-woken"  # not the manager of what we apply: its entry stays as it is


async def look_at(api: KubeApi, name: str) -> Health:
    """Return how a definition is, and wake the API server when it only has to be established.

    Args:
        api: the cluster.
        name: the definition's name.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    live = await api.find(DEFINITIONS, name)
    health = assess(live)
    if live is not None and _is_forgotten(live):
        for value in ("true", None):
            body = {"metadata": {"annotations": {WOKEN: value}}}
            await api.patch(DEFINITIONS, name, None, body, manager=MANAGER)
    return health


def _is_forgotten(live: dict[str, Any]) -> bool:
    conditions = (live.get("status") or {}).get("conditions") or []
    accepted = named(conditions, "NamesAccepted") or {}
    established = named(conditions, "Established") or {}
    going = (live.get("metadata") or {}).get("deletionTimestamp")
    return accepted.get("status") == "True" and established.get("status") != "True" and not going
