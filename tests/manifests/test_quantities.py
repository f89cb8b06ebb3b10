"""Quantities are exact numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from argosy.manifests import ManifestError, parse_quantity, same_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [("100m", "0.1"), ("1", "1"), (2, "2"), ("1Gi", 2**30), ("1G", 10**9), ("1e3", 1000),
     ("1E3", 1000), ("1E", 10**18), ("1Ei", 2**60), (".5", "0.5"), ("5.", 5), ("-1k", -1000),
     ("+1.5Mi", 3 * 2**19), ("10n", "1e-8"), (0.5, "0.5"), ("1u", "0.000001")],
)  # fmt: skip
def test_a_quantity_is_a_number(text, number):
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", "1K", "1 Gi", "Gi", "1e", "0x1", "1GiB", "1.2.3", True, "\u0661"]
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ManifestError, match="is not a quantity"):
        parse_quantity(text)


def test_equal_quantities_may_look_different():
    assert same_quantity("1000m", 1)
    assert same_quantity("1Gi", "1024Mi")
    assert not same_quantity("1G", "1Gi")
    assert not same_quantity("a", "a")
