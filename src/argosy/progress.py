"""How long work tells that it goes on, without knowing about terminals.

A part takes a `Progress` and reports steps to it; `argosy.cli.progress` draws them as bars on a
terminal and as plain lines elsewhere.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["NO_PROGRESS", "Progress"]


class Progress(Protocol):
    """What long work reports to.

    A *task* is a line on the screen: opened with `start`, moved with `advance` or `message`,
    closed with `finish`. Task names are what the user reads ("render", "build kube-apiserver").
    """

    def start(self, task: str, *, total: int | None = None) -> None:
        """Open a task; `total` is the number of steps when known."""

    def advance(self, task: str, steps: int = 1) -> None:
        """Count `steps` more as done."""

    def message(self, task: str, text: str) -> None:
        """Say what the task is doing just now."""

    def finish(self, task: str, text: str = "") -> None:
        """Close a task; `text` is the result in a few words."""


class _Silent:
    def start(self, task: str, *, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, task: str, steps: int = 1) -> None:
        """Ignore."""

    def message(self, task: str, text: str) -> None:
        """Ignore."""

    def finish(self, task: str, text: str = "") -> None:
        """Ignore."""


NO_PROGRESS: Progress = _Silent()
