"""Say whether labels match a selector, as Kubernetes decides it.

Takes both forms: a plain mapping (Service, ReplicationController) and a LabelSelector with
`matchLabels` and `matchExpressions`. An empty LabelSelector matches everything; None matches
nothing. An unknown operator matches nothing: the API server refuses it anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.shape import entries, mapping, string, strings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_subset", "matches"]


def is_subset(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Say whether every wanted label is there with that value."""
    return all(labels.get(key) == value for key, value in wanted.items())


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Say whether a LabelSelector matches labels."""
    if selector is None:
        return False
    if not is_subset(mapping(selector, "matchLabels"), labels):
        return False
    return all(_holds(term, labels) for term in entries(selector, "matchExpressions"))


def _holds(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = string(term, "key"), strings(term, "values")
    match term.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
