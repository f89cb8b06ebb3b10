"""Say who wrote a field of the live object, and when: what managedFields know.

Reads one object and changes nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from argosy.kube import KubeApi, load_kubeconfig
from argosy.kube.fields import owned_paths
from argosy.manifests import Match, find_at, format_path, identity, is_secret, mask, parse_path
from argosy.platform.explain_field import locate
from argosy.platform.explain_model import Owner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from argosy.manifests import Manifest, ObjectId, Segment
    from argosy.platform.explain_model import Explanation

__all__ = ["owners_of", "read_object", "tell_live"]


def read_object(
    id_: ObjectId,
    *,
    kubeconfig: Path | None,
    context: str | None,
    environ: Mapping[str, str],
) -> Manifest | None:
    """Return a live object; None when it is not there.

    Args:
        id_: the object.
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

    return asyncio.run(read())


def tell_live(found: Explanation, live: Manifest | None) -> None:
    """Add to an explanation who wrote the field in the cluster.

    Args:
        found: the explanation; it is changed.
        live: the object in the cluster; None when it is not there.

    Raises:
        FieldError: the field is not rendered, and the cluster does not have it either.
    """
    if live is None:
        found.notes.append("it is not in the cluster")
        if found.unrendered:
            found.notes.append(f"{found.unrendered} is not rendered")
        return
    if not found.unrendered:
        found.owners = owners_of(live, parse_path(found.path))
        return
    shown = mask(live) if is_secret(identity(live)) else live
    path = locate(shown, found.unrendered)
    found.path, found.value = format_path(path), find_at(shown, path)
    found.owners = owners_of(live, path)
    found.notes.append(
        "it is not rendered: this is what the cluster has"
        + ("" if found.owners else ", a default of the API server's")
    )


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
