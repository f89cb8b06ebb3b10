"""Split a stream of chunks into lines of any length.

aiohttp's own `readline` refuses lines above its buffer; an object of 1.5 MB is one line.
"""

from __future__ import annotations

__all__ = ["LineSplitter"]


class LineSplitter:
    """Turns chunks into complete lines; keeps the unfinished rest."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the non-empty lines that `chunk` completes."""
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return []
        if self._rest:
            self._rest.append(chunk)
            chunk = b"".join(self._rest)
            self._rest = []
        *lines, rest = chunk.split(b"\n")
        if rest:
            self._rest.append(rest)
        return [line for line in lines if line.strip()]

    @property
    def unfinished(self) -> bool:
        """Return whether a line was begun and not ended."""
        return bool(self._rest)
