"""ARG001: a `<<__key__>>` token that nothing replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.places import place
from argosy.manifests import identity, walk_strings
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.placeholders import MARK, keys_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG001",
    Severity.ERROR,
    "placeholder not replaced",
    "A token of the form `<<__key__>>` stands in a rendered object: `values` of platform.yaml has "
    "no such key, or the app was not rendered by argosy.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each token and place."""
    for obj in context.objects:
        where = identity(obj)
        for steps, text in walk_strings(obj):
            if MARK in text:
                for key in dict.fromkeys(keys_in(text)):
                    message = (
                        f"<<__{key}__>> was never replaced; set `values.{key}` in platform.yaml."
                    )
                    yield context.finding(SPEC, where, place(obj, steps), message)
