"""Turn text into libyaml's events, and libyaml's complaints into sentences with a place.

Bytes are decoded here (UTF-8, or UTF-16 with its mark), a leading byte order mark is dropped.
Where PyYAML was built without libyaml its pure parser gives the same events, ten times slower.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Any, NoReturn

from yaml.error import Mark, MarkedYAMLError, YAMLError
from yaml.reader import ReaderError

from argosy.errors import Location
from argosy.yaml.errors import YamlError
from yaml import events as _events

try:
    from yaml import _yaml
except ImportError:  # a PyYAML without libyaml
    _CParser: Any = None
else:
    _CParser = _yaml.CParser

__all__ = [
    "HAS_LIBYAML",
    "AliasEvent",
    "DocumentEndEvent",
    "DocumentStartEvent",
    "MappingEndEvent",
    "MappingStartEvent",
    "NextEvent",
    "ScalarEvent",
    "SequenceEndEvent",
    "SequenceStartEvent",
    "Source",
    "StreamEndEvent",
    "explain",
    "open_events",
    "read",
]

HAS_LIBYAML = _CParser is not None
NextEvent = Callable[[], Any]
# libyaml's binding and PyYAML give the same classes; their marks are typed as optional, though
# neither parser leaves them out, so events are Any
AliasEvent: Any = _events.AliasEvent
DocumentEndEvent: Any = _events.DocumentEndEvent
DocumentStartEvent: Any = _events.DocumentStartEvent
MappingEndEvent: Any = _events.MappingEndEvent
MappingStartEvent: Any = _events.MappingStartEvent
ScalarEvent: Any = _events.ScalarEvent
SequenceEndEvent: Any = _events.SequenceEndEvent
SequenceStartEvent: Any = _events.SequenceStartEvent
StreamEndEvent: Any = _events.StreamEndEvent

_TAB = "a tab cannot be used for indentation"
_EXPLAINED = {
    "mapping values are not allowed in this context": "a ':' followed by a space is not allowed "
    "here",
    "mapping values are not allowed here": "a ':' followed by a space is not allowed here",
    "could not find expected ':'": "a key without its ':'",
    "did not find expected key": "a key was expected here; the indentation or a quote is wrong",
    "expected <block end>, but found '<block mapping start>'": "the indentation is wrong",
    "did not find expected '-' indicator": "an item that starts with '- ' was expected here; "
    "the indentation is wrong",
    "did not find expected <document start>": "a new document must start with '---'",
    "found undefined tag handle": "the tag's prefix is not known",
}
_CONTROL = re.compile(
    "[^\\x09\\x0a\\x0d\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)

_STRAY_MARK = re.compile("(?:\\A|[\n\r\\x85\\u2028\\u2029])\\ufeff")


class Source:
    """A text that is being read: what positions in it are called.

    Args:
        text: the text without a byte order mark.
        file: the name that errors show.
        line: the number of the text's first line in that file.
        dropped: how many characters were dropped in front (the byte order mark).
    """

    __slots__ = ("dropped", "file", "line", "text")

    def __init__(self, text: str, *, file: str, line: int, dropped: int = 0) -> None:
        self.text = text
        self.file = file
        self.line = line
        self.dropped = dropped

    def location(self, mark: Mark | None) -> Location:
        """Return the place of a mark of libyaml."""
        if mark is None:
            return Location(self.file, self.line, 1)
        return Location(self.file, mark.line + self.line, mark.column + 1)

    def location_of(self, index: int) -> Location:
        """Return the place of the character with this index in `text`."""
        before = self.text[:index]
        start = before.rfind("\n") + 1
        return Location(self.file, before.count("\n") + self.line, index - start + 1)

    def fail(self, message: str, mark: Mark | None, *, hint: str | None = None) -> NoReturn:
        """Refuse the text at a mark.

        Raises:
            YamlError: always.
        """
        raise YamlError(message, where=self.location(mark), hint=hint)


def read(text: str | bytes, *, file: str, line: int = 1) -> Source:
    """Decode a text and drop its byte order mark.

    Raises:
        YamlError: for bytes that are neither UTF-8 nor UTF-16, and for a byte order mark that
            starts a later line: libyaml skips it, Go does not.
    """
    if isinstance(text, bytes):
        text = _decode(text, file=file, line=line)
    dropped = 0
    if text[:1] == "\ufeff":
        text, dropped = text[1:], 1
    source = Source(text, file=file, line=line, dropped=dropped)
    if "\ufeff" in text and (mark := _STRAY_MARK.search(text)):
        raise YamlError(
            "a byte order mark stands in the middle of the text",
            where=source.location_of(mark.end() - 1),
            hint="remove it: kubectl would take it for a part of the first key",
        )
    return source


def _decode(data: bytes, *, file: str, line: int) -> str:
    name = "UTF-16" if data[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} else "UTF-8"
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = error.start - before.rfind(b"\n")
        where = Location(file, before.count(b"\n") + line, column)
        raise YamlError(f"the text is not {name} ({error.reason})", where=where) from error


def open_events(source: Source, *, pure: bool = False) -> NextEvent:
    """Return a function that gives the next event of the text at each call.

    Args:
        source: the text.
        pure: use PyYAML's pure parser even where libyaml is there.

    Raises:
        YamlError: for characters that YAML does not allow.
    """
    try:
        if _CParser is None or pure:
            return _pure_events(source)
        get: NextEvent = _CParser(source.text).get_event
    except (ReaderError, UnicodeEncodeError) as error:
        raise _control_character(source) from error
    return get


def _pure_events(source: Source) -> NextEvent:
    from argosy.yaml.pure import PureParser

    return PureParser(source.text).next_event


def _control_character(source: Source) -> YamlError:
    bad = _CONTROL.search(source.text)
    if bad is None:
        return YamlError("the text holds a character that YAML does not allow")
    return YamlError(
        f"the character U+{ord(bad.group()):04X} is not allowed",
        where=source.location_of(bad.start()),
        hint="write it escaped in double quotes",
    )


def explain(error: YAMLError, source: Source) -> YamlError:
    """Return libyaml's complaint as a sentence with its place."""
    if isinstance(error, ReaderError):
        return _control_character(source)
    if not isinstance(error, MarkedYAMLError):
        return YamlError(f"this is not YAML: {error}", where=source.location(None))
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context or "this is not YAML")
    if mark is not None and _at_tab(source.text, mark) and "tab" not in problem:
        return YamlError(_TAB, where=source.location(mark), hint="use spaces")
    message = _EXPLAINED.get(problem, problem)
    if "\\t" in problem or "tab character" in problem:
        return YamlError(_TAB, where=source.location(mark), hint="use spaces")
    context = error.context_mark
    if error.context and context is not None and mark is not None and context.line != mark.line:
        message += f" ({error.context} that starts in line {context.line + source.line})"
    elif error.context and message == problem:
        message += f" ({error.context})"
    return YamlError(message, where=source.location(mark))


def _at_tab(text: str, mark: Mark) -> bool:
    lines = text.split("\n", mark.line + 1)
    if mark.line >= len(lines):
        return False
    line = lines[mark.line]
    indentation = line[: len(line) - len(line.lstrip())]
    return "\t" in indentation and mark.column <= len(indentation)
