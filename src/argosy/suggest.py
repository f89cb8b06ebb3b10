"""Say which known name a mistyped one is closest to. Pure; never guesses on the user's behalf."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean"]

CUTOFF = 0.6  # ratio of matching letters; below it, suggestions read like a joke


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the choice nearest to `name`, or "" when none is near.

    Letters' case does not count in the comparison; the choice is returned as it is written.
    """
    by_lower = {choice.lower(): choice for choice in sorted(choices, reverse=True)}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=CUTOFF)
    return f"did you mean '{by_lower[close[0]]}'?" if close else ""
