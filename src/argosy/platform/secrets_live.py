"""Say which Secrets differ from what is in the cluster, by looking at both.

A digest of a Secret's values in a readable inventory would let anybody try passwords against it,
so the digest of a Secret leaves its values out, and the values are compared here, in memory.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from argosy.kube import Resource
from argosy.manifests import ObjectId
from argosy.platform.applyset import PART_OF

if TYPE_CHECKING:
    from argosy.kube import KubeApi
    from argosy.manifests import Manifest
    from argosy.platform.live import LiveState
    from argosy.platform.model import RenderedPlatform

__all__ = ["changed_secrets", "same_values"]

SECRETS = Resource("", "v1", "secrets", "Secret", namespaced=True)


async def changed_secrets(
    api: KubeApi, platform: RenderedPlatform, state: LiveState
) -> frozenset[ObjectId]:
    """Return the rendered Secrets that are in the cluster with other values.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    rendered = {
        o.id: o for o in platform.objects() if o.id[:2] == ("", "Secret") and o.id in state.objects
    }
    if not rendered:
        return frozenset()
    live: dict[ObjectId, Manifest] = {}
    async for obj in api.list(SECRETS, label_selector=PART_OF):
        metadata = obj["metadata"]
        live[ObjectId("", "Secret", metadata["namespace"], metadata["name"])] = obj
    return frozenset(
        id_
        for id_, found in rendered.items()
        if id_ in live and not same_values(found.object(), live[id_])
    )


def same_values(wanted: Manifest, live: Manifest) -> bool:
    """Say whether a live Secret has all values that are wanted; it may have more."""
    values: dict[str, Any] = live.get("data") or {}
    data = dict(wanted.get("data") or {})
    for key, text in (wanted.get("stringData") or {}).items():
        data[key] = base64.b64encode(str(text).encode()).decode()
    return all(values.get(key, "") == (value or "") for key, value in data.items())
