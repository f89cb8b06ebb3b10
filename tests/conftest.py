"""What many tests share: the optional mirror of real upstream manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def upstream() -> Path:
    """Return the mirror of real upstream sources, or skip and say so."""
    place = Path(os.environ.get("ARGOSY_TEST_UPSTREAM", REPOSITORY.parent / "shared" / "upstream"))
    if not place.is_dir():
        pytest.skip(f"no mirror of upstream manifests at {place} (set ARGOSY_TEST_UPSTREAM)")
    return place
