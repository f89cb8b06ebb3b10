"""Decide which different values the API server takes for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.manifests.quantities import same_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["means_same", "without_nulls"]

# the parents of quantities in the core API, and the fields that are one themselves
_QUANTITY_PARENTS = frozenset(
    {"limits", "requests", "capacity", "allocatable", "hard", "used", "overhead", "default",
     "defaultRequest", "max", "min", "maxLimitRequestRatio", "podFixed", "storage"}
)  # fmt: skip
_QUANTITY_FIELDS = frozenset(
    {"sizeLimit", "divisor", "averageValue", "minAvailableQuantity", "storage"}
)
_INT_OR_STRING = frozenset(
    {"port", "targetPort", "maxSurge", "maxUnavailable", "minAvailable", "number"}
)


def means_same(old: Any, new: Any, path: Sequence[object]) -> bool:
    """Tell whether two different scalars at a path are the same to Kubernetes."""
    fields = [part for part in path if isinstance(part, str)]
    own = fields[-1] if fields else ""
    parent = fields[-2] if len(fields) > 1 else ""
    if isinstance(old, bool) or isinstance(new, bool):
        return False
    if not isinstance(old, str | int | float) or not isinstance(new, str | int | float):
        return False
    if parent in _QUANTITY_PARENTS or own in _QUANTITY_FIELDS:
        return same_quantity(old, new)
    return own in _INT_OR_STRING and str(old) == str(new)


def without_nulls(value: Any) -> Any:
    """Return a value without the fields that are null: the API server drops them."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value
