"""Decide whether labels are selected: matchLabels, matchExpressions, and a Service's plain map.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.manifests.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["selects", "selects_labels"]


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a LabelSelector selects labels; an empty one selects all, None selects none.

    Raises:
        ManifestError: when an expression has an unknown operator.
    """
    if selector is None:
        return False
    if not selects_labels(selector.get("matchLabels") or {}, labels):
        return False
    return all(_holds(item, labels) for item in selector.get("matchExpressions") or ())


def selects_labels(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Tell whether labels have every wanted value: the selector of a Service, once not empty."""
    return all(labels.get(key) == value for key, value in wanted.items())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = expression.get("key", ""), expression.get("operator")
    values = expression.get("values") or ()
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":  # also true when the label is missing, as in Kubernetes
        return labels.get(key) not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    raise ManifestError(
        f"`{operator}` is not an operator of a label selector",
        hint="In, NotIn, Exists and DoesNotExist are",
    )
