"""Let SIGTERM and SIGHUP end a command as ^C does: builds stopped, temporary files removed.

Python's own answer to them is to be gone at once, which leaves engines running and folders behind.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["stop_as_interrupted"]


def stop_as_interrupted() -> None:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, unless they are ignored (`nohup`)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)  # asyncio has a handler of its own that cancels tasks
    else:  # a shell starts background jobs with SIGINT ignored
        raise KeyboardInterrupt
