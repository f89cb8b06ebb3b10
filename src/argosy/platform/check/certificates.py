"""ARG037: certificates that nobody signs, and CAs taken from certificates that are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG037",
    Severity.ERROR,
    "certificate without its issuer or source",
    "A Certificate names an Issuer or ClusterIssuer that is not in the tree, an issuer names a "
    "key that is not there, a Gateway names a TLS secret that is not there, or an object asks "
    "cert-manager for the CA of a Certificate or Secret that is not there.",
)
KINDS = frozenset({"Certificate", "ClusterIssuer", "Issuer"})
SIGNING = frozenset({"Certificate", "ClusterIssuer", "Gateway", "Issuer"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such reference."""
    for reference in context.dangling:
        asked = reference.path.startswith("metadata.annotations")
        if reference.target.kind in KINDS or (
            reference.target.kind == "Secret" and (asked or reference.source.kind in SIGNING)
        ):
            message = f"There is no {reference.target}; add it, or correct the name."
            yield context.finding(SPEC, reference.source, reference.path, message)
