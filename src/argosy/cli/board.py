"""Show how an apply goes: a live table on a terminal, a line now and then everywhere else."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from argosy.platform.board import Board

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.platform.board import Waiting

__all__ = ["LineBoard", "open_board"]

SHOWN = 12  # things that are waited for; a table that scrolls is read by nobody
LINE_SECONDS = 5.0  # between two lines about the same wait


class LineBoard(Board):
    """A line when something begins to be waited for, and every few seconds while it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said: dict[str, float] = {}
        self._counted = 0.0

    def applied(self, done: int, total: int) -> None:
        """Say how far it is, now and then and at the end."""
        now = time.monotonic()
        if done == total or now - self._counted >= LINE_SECONDS:
            self._counted = now
            self._line(f"{done} of {total} objects")

    def waiting(self, found: list[Waiting]) -> None:
        """Say what takes long."""
        now = time.monotonic()
        for item in found[:SHOWN]:
            last = self._said.setdefault(item.what, now - item.seconds)
            if now - last >= LINE_SECONDS:
                self._said[item.what] = now
                self._line(f"{item.seconds:.0f} s: waiting for {item.what}: {item.reason}")

    def said(self, text: str) -> None:
        """Say it."""
        self._line(text)

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class TableBoard(Board):
    """A table that is drawn in place."""

    def __init__(self, live: Any, title: str) -> None:
        self._live = live
        self._title = title
        self._count = ""
        self._waiting: list[Waiting] = []

    def applied(self, done: int, total: int) -> None:
        """Take the count; the next tick draws it."""
        self._count = f"{done} of {total} objects"

    def waiting(self, found: list[Waiting]) -> None:
        """Draw the table."""
        self._waiting = found
        self._live.update(self._table())

    def said(self, text: str) -> None:
        """Print a line above the table."""
        self._live.console.print(text, highlight=False)

    def _table(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self._title}: {self._count}", title_justify="left", box=None)
        for name in ("waiting for", "because", "s"):
            table.add_column(name, overflow="fold", justify="right" if name == "s" else "left")
        for item in self._waiting[:SHOWN]:
            table.add_row(item.what, item.reason, f"{item.seconds:.0f}")
        if len(self._waiting) > SHOWN:
            table.add_row(f"and {len(self._waiting) - SHOWN} more", "", "")
        return table


@contextmanager
def open_board(title: str) -> Iterator[Board]:
    """Yield a board for this terminal, or for what stands in its place."""
    if not sys.stderr.isatty():
        yield LineBoard(sys.stderr)
        return
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        yield LineBoard(sys.stderr)
        return
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
        yield TableBoard(live, title)
