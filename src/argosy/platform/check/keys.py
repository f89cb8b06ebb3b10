"""ARG031: a key that the ConfigMap or Secret does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.shape import mapping
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG031",
    Severity.ERROR,
    "key that is not there",
    "A workload takes one key of a ConfigMap or Secret that is in the tree and has no such key; "
    "its pods stay in CreateContainerConfigError. A Secret without any data is left out, since "
    "somebody else fills it.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each missing key and place."""
    for reference in context.references:
        found = context.index.objects.get(reference.target)
        if found is None or not reference.key or reference.optional:
            continue
        keys = _keys(found)
        if keys and reference.key not in keys:
            message = (
                f"{reference.target} has no key {reference.key!r} (it has "
                f"{', '.join(sorted(keys))}); add it, or correct the reference."
            )
            yield context.finding(SPEC, reference.source, reference.path, message)


def _keys(obj: Manifest) -> set[str]:
    return {key for field in ("data", "binaryData", "stringData") for key in mapping(obj, field)}
