"""PyYAML's own parser, for platforms where PyYAML was built without libyaml.

The same events as libyaml's, ten times slower. Nothing else of PyYAML is used: no resolver, no
constructor, no emitter.
"""

from __future__ import annotations

import re
from typing import Any

from yaml.error import MarkedYAMLError
from yaml.events import ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

__all__ = ["PureParser"]

_SCALAR: Any = ScalarEvent
_SURROGATE = re.compile("[\ud800-\udfff]")


class PureParser(Reader, Scanner, Parser):
    """Reader, scanner and parser in one object, as PyYAML composes them."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def next_event(self) -> Any:
        """Return the next event; like CParser.get_event.

        Raises:
            MarkedYAMLError: as libyaml does, for escapes that are no characters too.
        """
        get: Any = self.get_event  # PyYAML's stubs leave it without types
        event: Any = get()
        if event.__class__ is _SCALAR and _SURROGATE.search(event.value):
            raise MarkedYAMLError(
                problem="found invalid Unicode character escape code",
                problem_mark=event.start_mark,
            )
        return event
