"""A value that knows where each of its parts stands in the text.

Positions are found only when somebody asks: most configuration is right and needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.errors import Location
from argosy.yaml.events import Source, read
from argosy.yaml.loader import load
from argosy.yaml.nodes import Node, compose, lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Marked", "load_marked"]


class Marked:
    """The value of a document and the places of its parts; `value` is as `load` returns it."""

    def __init__(self, value: Any, source: Source) -> None:
        self.value = value
        self._source = source
        self._root: Node | None = None

    def where(self, path: Sequence[str | int] = (), *, key: bool = False) -> Location:
        """Return the place of the value at a path, or of its key with `key=True`.

        A path that leads out of the value gives the place of its deepest part that exists.
        """
        found = self._find(path)
        if found is None:
            return Location(self._source.file, self._source.line, 1)
        own_key, node = found
        shown = own_key if key and own_key is not None else node
        if shown.kind == "scalar" and shown.start == shown.end and own_key is not None:
            shown = own_key  # an empty value stands nowhere
        return Location(self._source.file, shown.line + self._source.line, shown.column + 1)

    def _find(self, path: Sequence[str | int]) -> tuple[Node | None, Node] | None:
        if self._root is None:
            roots = compose(self._source)
            if not roots:
                return None
            self._root = roots[0]
        found: tuple[Node | None, Node] = (None, self._root)
        for step in path:
            below = lookup(found[1], step)
            if below is None:
                break
            found = below
        return found


def load_marked(text: str | bytes, *, file: str = "<text>", line: int = 1) -> Marked:
    """Return the value of a text with at most one document, with the places of its parts.

    Raises:
        YamlError: as for `load`.
    """
    source = read(text, file=file, line=line)
    return Marked(load(source.text, file=file, line=line), source)
