"""ARG045: a NetworkPolicy that says what another one in its namespace says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import mapping
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import ObjectId
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG045",
    Severity.WARNING,
    "policy that repeats another",
    "Two NetworkPolicies of one namespace have the same content. Most often one was meant for "
    "another namespace, which is without it: kustomize's `namespace:` moves everything that it "
    "reaches.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each policy after the first of its content."""
    seen: dict[str, ObjectId] = {}
    policies = context.index.of("NetworkPolicy", group="networking.k8s.io")
    # the one with the plainest name is most likely the one that belongs here
    for obj in sorted(policies, key=lambda obj: (len(identity(obj).name), identity(obj))):
        where = identity(obj)
        content = f"{where.namespace} {mapping(obj, 'spec')!r}"
        first = seen.setdefault(content, where)
        if first != where:
            message = (
                f"It says what {first} says; if it is for another namespace, set that, else "
                "remove it."
            )
            yield context.finding(SPEC, where, "spec", message)
