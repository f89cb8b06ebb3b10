"""ARG046: an AuthorizationPolicy of which one rule lets everybody in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import dig, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG046",
    Severity.WARNING,
    "rule that opens everything",
    "An AuthorizationPolicy with action ALLOW names who may call in some rules and has an empty "
    "rule beside them, which lets everybody in. A policy that has nothing but the empty rule says "
    "what it means and is left alone.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such policy."""
    for obj in context.index.of("AuthorizationPolicy", group="security.istio.io"):
        rules = dig(obj, "spec", "rules")
        allows = string(obj, "spec", "action") in {"", "ALLOW"}
        if not allows or not isinstance(rules, list) or len(rules) < 2:
            continue
        for number, rule in enumerate(rules):
            if rule == {}:
                message = (
                    "This rule is empty and lets everybody in, so the others say nothing; remove "
                    "it, or them."
                )
                yield context.finding(SPEC, identity(obj), f"spec.rules[{number}]", message)
