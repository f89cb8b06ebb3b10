"""The root of every error that argosy shows to a person.

    ArgosyError          one sentence: what is wrong, where, what to do
    ├── UsageError       the user's input: configuration, arguments, files   (exit code 2)
    └── OutsideError     the world: network, API server, engines, disk       (exit code 3)

Each package derives its own errors from these two and draws its tree in its own docstring.
Anything else that reaches the top is a defect of argosy and is reported as one.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ArgosyError", "Location", "OutsideError", "UsageError"]


class Location(NamedTuple):
    """A place in a file: path as the user would type it, line and column counted from 1."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return `file:line:column`, leaving out what is 0 (unknown)."""
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


class ArgosyError(Exception):
    """An error for people.

    Args:
        message: one sentence that says what is wrong.
        where: the place, when there is one; printed in front as `file:line: `.
        hint: what to do about it; printed behind the message.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, where: Location | str | None = None, hint: str | None = None
    ) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        """Return `where: message; hint`."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}; {self.hint}" if self.hint else text


class UsageError(ArgosyError):
    """The user's configuration, arguments or files are wrong (exit code 2)."""

    exit_code = 2


class OutsideError(ArgosyError):
    """Something outside argosy failed: network, API server, engine, disk (exit code 3)."""

    exit_code = 3
