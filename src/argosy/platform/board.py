"""How an apply or a delete tells how it goes, without knowing about terminals."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Board", "Waiting"]


class Waiting(NamedTuple):
    """Something that is waited for just now: what, why it is not there, and since when."""

    what: str
    reason: str
    seconds: float


class Board:
    """Where work tells how it goes; this one keeps silent."""

    def applied(self, done: int, total: int) -> None:
        """Take the number of objects that are through."""

    def waiting(self, found: list[Waiting]) -> None:
        """Take what is waited for just now, the longest first."""

    def said(self, text: str) -> None:
        """Take a sentence."""
