"""PyYAML's own parser, for platforms where PyYAML was built without libyaml.

The same events as libyaml's, ten times slower. Nothing else of PyYAML is used: no resolver, no
constructor, no emitter.
"""

from __future__ import annotations

from typing import Any

from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

__all__ = ["PureParser"]


class PureParser(Reader, Scanner, Parser):
    """Reader, scanner and parser in one object, as PyYAML composes them."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def next_event(self) -> Any:
        """Return the next event; like CParser.get_event."""
        return self.get_event()  # type: ignore[no-untyped-call] # PyYAML's stubs
