"""Kubernetes quantities (`100m`, `1Gi`, `1e3`) as exact numbers.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from decimal import Decimal

from argosy.manifests.errors import ManifestError

__all__ = ["MULTIPLIERS", "parse_quantity", "same_quantity"]

MULTIPLIERS: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,50}(?:\.[0-9]{0,50})?|\.[0-9]{1,50}))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)\Z"
)


def parse_quantity(value: str | float) -> Decimal:
    """Return the exact number that a quantity means.

    Raises:
        ManifestError: when the value is no quantity.
    """
    match = _QUANTITY.match(str(value)) if not isinstance(value, bool) else None
    if match is None:
        raise ManifestError(
            f"`{value}` is not a quantity", hint="write a number with a suffix, as in 100m or 2Gi"
        )
    number = Decimal(match["number"])
    if match["exponent"]:
        return number.scaleb(int(match["exponent"]))
    return number * MULTIPLIERS[match["suffix"] or ""]


def same_quantity(one: str | float, other: str | float) -> bool:
    """Tell whether two values are quantities and mean the same number."""
    try:
        return parse_quantity(one) == parse_quantity(other)
    except ManifestError:
        return False
