"""Count what a client asked for: requests by verb and code, retries, and time spent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Stats"]


@dataclass
class Stats:
    """Counters of one client; each attempt counts."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    retries: Counter[str] = field(default_factory=Counter)
    bytes_received: int = 0
    watch_events: int = 0

    def by_verb(self) -> dict[str, int]:
        """Return how many requests were sent, by verb."""
        totals: Counter[str] = Counter()
        for (verb, _), count in self.requests.items():
            totals[verb] += count
        return dict(totals)

    def failed(self) -> int:
        """Return how many attempts got no answer (code 0) or a code of 400 and above."""
        return sum(n for (_, code), n in self.requests.items() if not 0 < code < 400)
