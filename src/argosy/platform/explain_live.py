"""Say who wrote a field of the live object, and when: what managedFields know.

Reads one object and changes nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from argosy.kube import KubeApi, load_kubeconfig
from argosy.kube.fields import owned_paths
from argosy.manifests import Match, format_path
from argosy.platform.explain_model import Owner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from argosy.manifests import Manifest, ObjectId, Segment

__all__ = ["live_owners", "owners_of"]


def live_owners(
    id_: ObjectId,
    path: Sequence[Segment],
    *,
    kubeconfig: Path | None,
    context: str | None,
    environ: Mapping[str, str],
) -> list[Owner] | None:
    """Return who wrote a field of the live object; None when the object is not there.

    Args:
        id_: the object.
        path: the field, empty for the object as a whole.
        kubeconfig: the file that names the cluster; None takes what kubectl would.
        context: the kubeconfig's context.
        environ: the process environment.

    Raises:
        KubeconfigError: no cluster is named.
        ApiError: the cluster does not answer, or does not know the kind.
    """
    config = load_kubeconfig(kubeconfig, context, environ)

    async def read() -> Manifest | None:
        async with KubeApi(config) as api:
            resource = await api.resource(id_.group, None, id_.kind)
            return await api.find(resource, id_.name, id_.namespace or None)

    live = asyncio.run(read())
    return None if live is None else owners_of(live, path)


def owners_of(live: Manifest, path: Sequence[Segment]) -> list[Owner]:
    """Return who wrote a field, its parents or what is in it, by managedFields.

    Args:
        live: the object.
        path: the field, empty for the object as a whole.
    """
    wanted = plain(path)
    found = []
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        owned = sorted(owned_paths(entry))
        if wanted:
            owned = [one for one in owned if _covers(one, wanted)]
        if owned:
            shown = owned[0] if wanted and len(owned) == 1 else ""
            operation = str(entry.get("operation", ""))
            found.append(
                Owner(str(entry.get("manager", "")), operation, str(entry.get("time", "")), shown)
            )
    return found


def plain(path: Sequence[Segment]) -> str:
    """Return a path as managedFields are told: no quotes around keys and values."""
    text = ""
    for segment in path:
        if isinstance(segment, Match):
            text += f"[{','.join(f'{key}={value}' for key, value in segment.fields)}]"
        elif isinstance(segment, int):
            text += format_path([segment])
        else:
            text += f".{segment}" if text else segment
    return text


def _covers(owned: str, wanted: str) -> bool:
    return owned == wanted or owned.startswith((f"{wanted}.", f"{wanted}["))
