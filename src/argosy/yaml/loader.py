"""Read YAML as kubectl reads it: events in, plain Python values out.

Mappings become dicts with string keys, in the order of the text. Refused, each with its place:
duplicate keys, null and composite keys, infinities, aliases that make bombs or contain themselves,
documents nested deeper than `MAX_DEPTH`. A merge key (`<<`) writes where it stands, as in go-yaml
v2: it overrides the keys before it and is overridden by those behind it.
"""

from __future__ import annotations

import re
from typing import Any

from yaml.error import Mark, YAMLError

from argosy.yaml.errors import YamlError
from argosy.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NextEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    Source,
    StreamEndEvent,
    explain,
    open_events,
    read,
)
from argosy.yaml.scalars import key_text, resolve, resolve_tagged

__all__ = ["MAX_DEPTH", "load", "load_all"]

MAX_DEPTH = 200  # levels; the deepest CRD of Kubeflow has 38, Python's stack ends near 1000
_MISSING: Any = object()
_MERGE = object()
_MERGE_TAG = "tag:yaml.org,2002:merge"
# an anchor, or the tag `!` alone (its scalar is a string, though libyaml calls it plain)
_RARE = re.compile(r"[&!](?:(?<![^\s\[{,:-]&)(?<=&)\S|(?<![^\s\[{,:-]!)(?<=!)\s)")
# go-yaml's limits: 99 % of what is decoded may come from aliases up to 400,000 values, 10 % of
# 4,000,000, in between a straight line
_ALIAS_FREE, _DECODED_FREE = 100, 1000
_RATIO_LOW, _RATIO_HIGH = 400_000, 4_000_000


def load(text: str | bytes, *, file: str = "<text>", line: int = 1) -> Any:
    """Return the value of a text with at most one document (None when it is empty).

    Args:
        text: YAML or JSON.
        file: the name that errors show.
        line: the number of the text's first line in that file.

    Raises:
        YamlError: when kubectl would refuse the text, or it has a second document.
    """
    source = read(text, file=file, line=line)
    documents = _Builder(source).documents(only_one=True)
    return documents[0] if documents else None


def load_all(text: str | bytes, *, file: str = "<text>", line: int = 1) -> list[Any]:
    """Return the values of all documents of a text; empty documents are left out.

    Raises:
        YamlError: when kubectl would refuse the text.
    """
    source = read(text, file=file, line=line)
    return [value for value in _Builder(source).documents() if value is not None]


class _Values(dict[str, Any]):
    """Plain scalars and what they mean; manifests repeat them."""

    def __missing__(self, text: str) -> Any:
        value = self[text] = resolve(text)
        return value


class _Keys(dict[str, Any]):
    """Plain scalars and what they are as keys."""

    def __missing__(self, text: str) -> str:
        key = self[text] = key_text(text)
        return key


class _Builder:
    """Builds the values of one text; `pure` is for tests of the parser without libyaml."""

    def __init__(self, source: Source, *, pure: bool = False) -> None:
        self._source = source
        self._get: NextEvent = open_events(source, pure=pure)
        self._values = _Values()
        self._keys = _Keys({"<<": _MERGE})
        self._anchors: dict[str, Any] = {}
        self._depth = 0
        self._decoded = 0
        self._aliased = 0
        if ("&" in source.text or "!" in source.text) and _RARE.search(source.text):
            self._get = self._counting(self._get)

    def documents(self, *, only_one: bool = False) -> list[Any]:
        found: list[Any] = []
        get = self._get
        try:
            while (event := get()).__class__ is not StreamEndEvent:
                if event.__class__ is DocumentStartEvent:
                    if found and only_one:
                        self._source.fail(
                            "a second document starts here where one was expected",
                            event.start_mark,
                        )
                    self._anchors, self._decoded, self._aliased = {}, 0, 0
                    found.append(self._value(get()))
        except YAMLError as error:
            raise explain(error, self._source) from error
        return found

    def _value(self, event: Any) -> Any:
        """Build any value; scalars without anchors are built where they are met."""
        kind = event.__class__
        if kind is AliasEvent:
            return self._alias(event)
        anchor = event.anchor
        if kind is ScalarEvent:
            value = self._scalar(event)
        else:
            if anchor is not None:
                self._anchors[anchor] = _MISSING  # until it is complete
            self._depth += 1
            if self._depth > MAX_DEPTH:
                self._source.fail(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
            value = self._mapping(event) if kind is MappingStartEvent else self._sequence(event)
            self._depth -= 1
        if anchor is not None:
            self._anchors[anchor] = value
        return value

    def _mapping(self, start: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: set[str] = set()
        get, keys, values, event = self._get, self._keys, self._values, start
        try:
            while (event := get()).__class__ is not MappingEndEvent:
                if event.__class__ is not ScalarEvent or event.anchor is not None:
                    key = self._odd_key(event)
                elif event.implicit[0]:
                    key = keys[event.value]
                else:
                    key = event.value if event.tag is None else self._odd_key(event)
                if key is _MERGE:
                    self._merge(out, merged, event)
                    continue
                if key in out and key not in merged:
                    raise self._duplicate(key, start, event)
                if merged:
                    merged.discard(key)
                event = get()
                if event.__class__ is not ScalarEvent or event.anchor is not None:
                    out[key] = self._value(event)
                elif event.implicit[0]:
                    out[key] = values[event.value]
                else:
                    out[key] = event.value if event.tag is None else self._scalar(event)
        except ValueError as error:
            self._source.fail(str(error), event.start_mark)
        return out

    def _sequence(self, start: Any) -> list[Any]:
        out: list[Any] = []
        get, values, event = self._get, self._values, start
        try:
            while (event := get()).__class__ is not SequenceEndEvent:
                if event.__class__ is not ScalarEvent or event.anchor is not None:
                    out.append(self._value(event))
                elif event.implicit[0]:
                    out.append(values[event.value])
                else:
                    out.append(event.value if event.tag is None else self._scalar(event))
        except ValueError as error:
            self._source.fail(str(error), event.start_mark)
        return out

    def _scalar(self, event: Any) -> Any:
        try:
            if event.implicit[0]:
                return self._values[event.value]
            return event.value if event.tag is None else resolve_tagged(event.tag, event.value)
        except ValueError as error:
            self._source.fail(str(error), event.start_mark)

    def _odd_key(self, event: Any) -> Any:
        """Return a key that is an alias or has an anchor or a tag.

        Raises:
            ValueError: when the text has no form as a key.
        """
        if event.__class__ is AliasEvent:
            key = self._alias(event)
            if isinstance(key, dict | list):
                self._source.fail("a key must be a scalar", event.start_mark)
            return _as_key(key)
        if event.__class__ is not ScalarEvent:
            self._source.fail("a key must be a scalar", event.start_mark)
        if event.anchor is not None:
            self._anchors[event.anchor] = self._scalar(event)
        if event.implicit[0]:
            return self._keys[event.value]
        if event.tag == _MERGE_TAG and event.value == "<<":
            return _MERGE
        return event.value if event.tag is None else key_text(event.value, tag=event.tag)

    def _merge(self, out: dict[str, Any], merged: set[str], key: Any) -> None:
        event = self._get()
        value = self._value(event)
        parts = value if event.__class__ is SequenceStartEvent else [value]
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            self._source.fail(
                "the value of a merge key (<<) must be a mapping or a list of mappings",
                key.start_mark,
            )
        for part in reversed(parts):
            merged.update(name for name in part if name not in out)
            out.update(part)

    def _alias(self, event: Any) -> Any:
        value = self._anchors.get(event.anchor, self)
        if value is self:
            self._source.fail(f"the anchor `{event.anchor}` is not defined", event.start_mark)
        if value is _MISSING:
            self._source.fail(f"the anchor `{event.anchor}` contains itself", event.start_mark)
        if not isinstance(value, dict | list):
            self._count_alias(1, event.start_mark)
            return value
        self._count_alias(_size(value), event.start_mark)
        return _copy(value)

    def _count_alias(self, size: int, mark: Mark) -> None:
        self._aliased += size
        self._decoded += size
        if self._aliased <= _ALIAS_FREE or self._decoded <= _DECODED_FREE:
            return
        over = (self._decoded - _RATIO_LOW) / (_RATIO_HIGH - _RATIO_LOW)
        allowed = 0.99 - 0.89 * min(max(over, 0.0), 1.0)
        if self._aliased / self._decoded > allowed:
            self._source.fail("the document makes too many values out of aliases", mark)

    def _counting(self, get: NextEvent) -> NextEvent:
        """Count what is decoded and see to `!`; only texts that may need it pay for it."""
        ends = {MappingEndEvent, SequenceEndEvent, DocumentEndEvent}

        def counted() -> Any:
            event = get()
            if event.__class__ not in ends:
                self._decoded += 1
                if event.__class__ is ScalarEvent and event.tag == "!":
                    event.implicit = (False, False)
            return event

        return counted

    def _duplicate(self, key: str, start: Any, event: Any) -> YamlError:
        first = _first_line(self._source, key, start.start_mark.index, event.start_mark.index)
        again = f" (first in line {first})" if first else ""
        return YamlError(
            f"the key `{key}` stands twice in one mapping{again}",
            where=self._source.location(event.start_mark),
        )


def _as_key(value: Any) -> str:
    """Return an aliased scalar as a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _size(value: Any) -> int:
    """Count the values below and including this one, keys too."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(_size, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copy(inner) for inner in value]
    return value


def _first_line(source: Source, key: str, start: int, end: int) -> int:
    """Return the line where the mapping that starts at `start` has this key, before `end`."""
    get = open_events(source)
    depth, is_key = -1, True
    while (event := get()).start_mark.index < end:
        opens = event.__class__ in {MappingStartEvent, SequenceStartEvent}
        closes = event.__class__ in {MappingEndEvent, SequenceEndEvent}
        if depth < 0:
            if event.__class__ is MappingStartEvent and event.start_mark.index == start:
                depth = 0
            continue
        if depth == 0 and is_key and event.__class__ is ScalarEvent and event.value == key:
            return int(event.start_mark.line) + source.line
        depth += opens - closes
        if depth == 0:
            is_key = not is_key
    return 0
