"""Decide whether to try a request again, and after how long.

Full jitter (a random delay up to a ceiling that doubles) keeps many clients from coming back
together; what the server says in `Retry-After` is the least we wait. Pure: randomness comes in
as a parameter, and nothing sleeps here.

| failure | tried again when |
|---|---|
| no connection | always: nothing was sent |
| connection lost, timed out, 502, 503, 504 | the request is idempotent |
| 500 | the request is idempotent and no admission webhook is the cause |
| 429, or 5xx with Retry-After | always: the server did not do it |
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argosy.kube.errors import ServerError, TooManyRequests, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from argosy.kube.errors import ApiError

__all__ = ["NO_RETRIES", "Backoff", "Sent", "retry_after"]

LONGEST_RETRY_AFTER = 60.0  # seconds; a server that asks for more is down, and we say so


class Sent(enum.Enum):
    """How far a request got before it failed."""

    NOTHING = "nothing"
    MAYBE = "maybe"
    ANSWERED = "answered"


@dataclass(frozen=True)
class Backoff:
    """How patient to be.

    Args:
        attempts: how often a request is sent at most.
        base: the first delay's ceiling in seconds; it doubles each time.
        cap: the longest ceiling in seconds.
    """

    attempts: int = 6
    base: float = 0.1
    cap: float = 10.0

    def delay(self, attempt: int, error: ApiError, random: Callable[[], float]) -> float:
        """Return the seconds to wait after failed `attempt` (from 1)."""
        ceiling = min(self.cap, self.base * 2.0 ** (attempt - 1))
        return (error.retry_after or 0.0) + random() * ceiling

    def worth_it(self, attempt: int, error: ApiError, *, idempotent: bool, sent: Sent) -> bool:
        """Return whether to send again after failed `attempt` (from 1)."""
        if attempt >= self.attempts or (error.retry_after or 0.0) > LONGEST_RETRY_AFTER:
            return False
        if isinstance(error, Unreachable):
            return idempotent or sent is Sent.NOTHING
        if isinstance(error, TooManyRequests):
            return True
        if isinstance(error, ServerError):
            if error.webhook:
                return False
            return idempotent or error.retry_after is not None
        return False


NO_RETRIES = Backoff(attempts=1)


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header; None when it has none.

    The API server sends seconds; a date (some load balancers) counts as one second, since its
    clock is not ours.
    """
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return 1.0
