"""Draw progress: bars on a terminal when rich is installed, plain lines everywhere else.

Plain lines come at the start and the end of a task, and while it runs at most every few seconds,
so that a log of a long build stays readable.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.progress import Progress

__all__ = ["PlainProgress", "open_progress"]

QUIET_SECONDS = 5.0  # between two plain lines of one task; a person reads slower than that


class PlainProgress:
    """Progress as lines of text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tasks: dict[str, list[float]] = {}  # done, total, started, last line

    def start(self, task: str, *, total: int | None = None) -> None:
        """Open a task and say so."""
        now = time.monotonic()
        self._tasks[task] = [0, total or 0, now, now]
        self._line(f"{task} ...")

    def advance(self, task: str, steps: int = 1) -> None:
        """Count steps; say so now and then."""
        state = self._tasks.setdefault(task, [0, 0, time.monotonic(), time.monotonic()])
        state[0] += steps
        total = f"/{state[1]:.0f}" if state[1] else ""
        self._now_and_then(task, f"{state[0]:.0f}{total}")

    def message(self, task: str, text: str) -> None:
        """Say what the task does, now and then."""
        self._now_and_then(task, text)

    def finish(self, task: str, text: str = "") -> None:
        """Close a task with its result and the time it took."""
        state = self._tasks.pop(task, None)
        took = f" ({time.monotonic() - state[2]:.1f} s)" if state else ""
        self._line(f"{task}: {text or 'done'}{took}")

    def _now_and_then(self, task: str, text: str) -> None:
        state = self._tasks.get(task)
        now = time.monotonic()
        if state and now - state[3] >= QUIET_SECONDS:
            state[3] = now
            self._line(f"{task}: {text}")

    def _line(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


class _BarProgress:
    """Progress as bars, one a task, that stay on the screen with their result."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._ids: dict[str, Any] = {}

    def start(self, task: str, *, total: int | None = None) -> None:
        self._ids[task] = self._bars.add_task(task, total=total, text="")

    def advance(self, task: str, steps: int = 1) -> None:
        if task in self._ids:
            self._bars.advance(self._ids[task], steps)

    def message(self, task: str, text: str) -> None:
        if task in self._ids:
            self._bars.update(self._ids[task], text=text)

    def finish(self, task: str, text: str = "") -> None:
        if task in self._ids:
            at = self._ids.pop(task)
            total = self._bars.tasks[at].total or 1
            self._bars.update(at, total=total, completed=total, text=text or "done")


@contextmanager
def open_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield the progress that suits `stream` (stderr): bars on a terminal, lines elsewhere."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield PlainProgress(stream)
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars
    except ImportError:
        yield PlainProgress(stream)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Bars(*columns, console=Console(file=stream)) as bars:
        yield _BarProgress(bars)
