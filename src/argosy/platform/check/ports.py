"""What the port checks share: does a Service have the port that somebody names?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import dig, entries

if TYPE_CHECKING:
    from argosy.graph import Reference
    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["missing_port", "service_port"]


def service_port(service: Manifest, port: int | str) -> dict[str, object] | None:
    """Return the port of a Service by number or name."""
    for entry in entries(service, "spec", "ports"):
        if port in (entry.get("port"), entry.get("name")):
            found: dict[str, object] = entry
            return found
    return None


def missing_port(context: Context, reference: Reference) -> str:
    """Say that the Service which a reference means has no such port, "" when it has."""
    service = context.index.objects.get(reference.target)
    if service is None or reference.target.kind != "Service" or reference.port is None:
        return ""
    if dig(service, "spec", "type") == "ExternalName":
        return ""
    if service_port(service, reference.port):
        return ""
    has = ", ".join(str(e.get("port")) for e in entries(service, "spec", "ports"))
    return f"{reference.target} has no port {reference.port} (it has {has or 'none'})"
