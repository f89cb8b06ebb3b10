"""Words for numbers of things."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, what: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {what}" + ("" if number == 1 else "s")
