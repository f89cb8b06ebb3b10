"""Measure commands side by side: wall time, and the peak memory of the whole process tree.

Two subjects are run alternately in one session (ABBA), since the machines are noisy: a ratio of
paired rounds means something, a time alone does not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Row", "Sample", "ratio_of", "run", "table"]

SAMPLE_SECONDS = 0.02  # between two looks at the process tree; kustomize lives for 40 of them
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sample:
    """One run: seconds of wall time, and the peak of the tree's resident memory in MiB."""

    seconds: float
    mebibytes: float


@dataclass(frozen=True)
class Row:
    """One line of the table: what, what it should be, what it was."""

    what: str
    target: str
    figure: str
    met: bool | None = None


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Sample:
    """Run a command to its end and return what it took.

    Raises:
        RuntimeError: it failed; its stderr is the message.
    """
    peak = 0
    started = time.monotonic()
    with subprocess.Popen(
        list(command),
        env=dict(env),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        errors: list[bytes] = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))  # type: ignore[union-attr]
        reader.start()
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(SAMPLE_SECONDS)
        seconds = time.monotonic() - started
        reader.join()
    if process.returncode != 0:  # 1 is a difference or a refusal: not what is measured
        raise RuntimeError(f"{' '.join(command)}: {b''.join(errors).decode()[-2000:]}")
    return Sample(seconds, peak / 2**20)


def _resident(root: int) -> int:
    """Return the bytes that a process and all its descendants hold together."""
    pages: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pages[int(entry.name)] = int(fields[21])
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting, total = [root], 0
    while waiting:
        one = waiting.pop()
        total += pages.get(one, 0)
        waiting += children.get(one, [])
    return total * PAGE


def ratio_of(
    ours: Callable[[], Sample], peer: Callable[[], Sample], *, rounds: int
) -> tuple[float, list[Sample], list[Sample]]:
    """Run both alternately and return the median of the paired ratios, and all samples."""
    mine: list[Sample] = []
    theirs: list[Sample] = []
    for turn in range(rounds):
        for first in (turn % 2 == 0, turn % 2 == 1):
            (mine if first else theirs).append((ours if first else peer)())
    ratios = [a.seconds / b.seconds for a, b in zip(mine, theirs, strict=True)]
    return statistics.median(ratios), mine, theirs


def table(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    lines = ["| what | target | measured | |", "|---|---|---|---|"]
    for row in rows:
        mark = "" if row.met is None else ("met" if row.met else "**missed**")
        lines.append(f"| {row.what} | {row.target} | {row.figure} | {mark} |")
    return "\n".join(lines)
