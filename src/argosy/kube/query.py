"""Write query strings. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["encode"]


def encode(params: Mapping[str, str | bool | int]) -> str:
    """Return `params` as a query string; what is "", False or 0 is left out."""
    return "&".join(
        f"{key}={'true' if value is True else quote(str(value), safe='')}"
        for key, value in params.items()
        if value
    )
