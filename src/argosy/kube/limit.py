"""Decide how many requests may be in flight, and whose turn it is.

The limit adapts as TCP's window does: halved when the server says 429 (once for all requests
that were already under way), and grown by one for each full window of successes. Waiters go in
order of priority, then of arrival: a user's change overtakes bulk work.
Pure bookkeeping around futures; no clock, no network.
"""

from __future__ import annotations

import asyncio
import enum
import heapq

__all__ = ["AdaptiveLimit", "Priority"]

FLOOR = 2  # requests; below this a slow server and a stuck one look the same


class Priority(enum.IntEnum):
    """Whose turn it is when not all can go at once."""

    USER = 0
    NORMAL = 1
    BULK = 2


class AdaptiveLimit:
    """A semaphore with priorities whose size follows what the server can take."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = max(ceiling, 1)
        self._floor = min(FLOOR, self._ceiling)
        self._size = float(self._ceiling)
        self._epoch = 0
        self._arrivals = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.in_flight = 0

    @property
    def size(self) -> int:
        """Return how many may be in flight now."""
        return int(self._size)

    @property
    def waiting(self) -> int:
        """Return how many wait for their turn."""
        return sum(not turn.done() for _, _, turn in self._waiting)

    async def acquire(self, priority: Priority = Priority.NORMAL) -> int:
        """Wait for a turn; return the epoch to hand to `slow_down`."""
        if self.in_flight < self.size and not self._waiting:
            self.in_flight += 1
            return self._epoch
        turn = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (priority, self._arrivals, turn))
        self._wake()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the turn had come and nobody takes it
            else:
                self._wake()
            raise
        return self._epoch

    def release(self) -> None:
        """Give the turn back."""
        self.in_flight -= 1
        self._wake()

    def speed_up(self) -> None:
        """Take note that a request succeeded."""
        if self._size < self._ceiling:
            self._size = min(self._ceiling, self._size + 1 / self._size)
            self._wake()

    def slow_down(self, epoch: int) -> None:
        """Take note that the server said 429 to a request that got its turn in `epoch`."""
        if epoch == self._epoch:
            self._epoch += 1
            self._size = max(self._floor, self._size / 2)

    def _wake(self) -> None:
        while self._waiting and (self._waiting[0][2].done() or self.in_flight < self.size):
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
