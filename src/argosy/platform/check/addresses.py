"""ARG040: the address of a Service that is not there, in some text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import ObjectId
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.ports import missing_port

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG040",
    Severity.WARNING,
    "address of a Service that is not there",
    "An environment variable, an argument or a configuration text holds an address of the form "
    "name.namespace.svc[…][:port], and the tree has no such Service, or it has no such port. "
    "Addresses in namespaces that are not in the tree, and what routes and webhooks say in their "
    "own fields, are left to other checks.",
)
# their own fields are references of another sort, reported by ARG034 to ARG037
TYPED = frozenset({"Certificate", "DestinationRule", "VirtualService"})


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each address and place."""
    for reference in context.addresses:
        if reference.source.kind in TYPED:
            continue
        space = reference.target.namespace
        if not context.index.has(ObjectId("", "Namespace", "", space)):
            continue
        if not context.index.has(reference.target):
            message = f"There is no {reference.target}; correct the address, or add the Service."
            yield context.finding(SPEC, reference.source, reference.path, message)
        elif said := missing_port(context, reference):
            yield context.finding(
                SPEC, reference.source, reference.path, f"{said}; correct the address."
            )
