"""Write values so that every reader of YAML understands the same.

A string stands plain only when YAML 1.1, YAML 1.2, go-yaml v2 and v3 all read it as that string;
text of several lines becomes a literal block; all else is quoted. Lists stand at the column of
their key, as kubectl and kustomize write them. Keys keep the order of the dict: sorting is the
caller's decision. The same value always gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from argosy.yaml.errors import YamlError

__all__ = ["dump", "dump_all", "flow", "plain_or_quoted"]

# No reader takes these for anything but strings: they begin with a letter or a slash, have no ": "
# or " #" inside, and end with neither a colon nor a space. Numbers and dates begin otherwise.
_SAFE = re.compile(
    r"(?:[A-Za-z/][A-Za-z0-9_./()$+@=~^;{}\[\]*-]*(?::[A-Za-z0-9_./@+-]+)*"
    r"(?: [A-Za-z0-9_./(][A-Za-z0-9_./()$+@=~-]*)*"
    r"|[1-9][0-9]*(?:[KMGTP]i?|Ei|m))\Z"  # quantities: a number with such an end is none
)
_FLOW_SAFE = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for form in (word, word.capitalize(), word.upper())
)
_UNPRINTABLE = re.compile(
    "[^\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
)
_NOT_LITERAL = re.compile(
    "[^\\n\\t\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd"
    "\\U00010000-\\U0010ffff]"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CACHE_SIZE = 65536  # strings; manifests repeat keys and values
_cache: dict[str, str] = {}
_Write = Callable[[str], Any]


def dump(value: Any) -> str:
    """Return one document for a value of dicts, lists, strings, numbers, booleans and None.

    Raises:
        YamlError: for what kubectl could not read back: infinities, lone surrogates.
        TypeError: for a value or a key of another type.
    """
    parts: list[str] = []
    _document(value, parts.append)
    return "".join(parts)


def dump_all(values: Iterable[Any]) -> str:
    """Return the documents of several values with `---` between them.

    Raises:
        YamlError: as for `dump`.
        TypeError: as for `dump`.
    """
    return "---\n".join(map(dump, values))


def plain_or_quoted(text: str) -> str:
    """Return a string as a scalar on one line.

    Raises:
        YamlError: for a lone surrogate.
    """
    found = _cache.get(text)
    if found is None:
        if _SAFE.match(text) and text not in _WORDS:
            found = text
        elif _UNPRINTABLE.search(text):
            found = _double_quoted(text)
        else:
            found = "'" + text.replace("'", "''") + "'"
        if len(_cache) < _CACHE_SIZE:
            _cache[text] = found
    return found


def flow(value: Any) -> str:
    """Return a value in flow style, on one line.

    Raises:
        YamlError: as for `dump`.
        TypeError: as for `dump`.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow_key(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return _flow_string(value)
    return _number(value)


def _flow_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key must be a string, not {type(key).__name__}")
    return _flow_string(key)


def _flow_string(text: str) -> str:
    if _FLOW_SAFE.match(text) and text not in _WORDS:
        return text
    written = plain_or_quoted(text)
    return written if written[0] in "'\"" else f"'{written}'"


def _document(value: Any, write: _Write) -> None:
    if isinstance(value, dict) and value:
        _mapping(value, "", write)
    elif isinstance(value, list) and value:
        _sequence(value, "", write)
    else:
        _leaf(value, "", write)


def _mapping(value: dict[str, Any], pad: str, write: _Write) -> None:
    for key, inner in value.items():
        write(pad)
        _pair(key, inner, pad, write)


def _pair(key: Any, value: Any, pad: str, write: _Write) -> None:
    try:
        write(_cache.get(key) or plain_or_quoted(key))
    except TypeError:
        raise TypeError(f"a key must be a string, not {type(key).__name__}") from None
    kind = type(value)
    if kind is str:
        write(": ")
        if "\n" in value:
            _leaf(value, pad, write)
        else:
            write((_cache.get(value) or plain_or_quoted(value)) + "\n")
    elif kind is dict and value:
        write(":\n")
        _mapping(value, pad + "  ", write)
    elif kind is list and value:
        write(":\n")
        _sequence(value, pad, write)
    else:
        write(": ")
        _leaf(value, pad, write)


def _sequence(value: list[Any], pad: str, write: _Write, first: str | None = None) -> None:
    """Write items; `first` stands in front of the first one when it follows `- ` on its line."""
    inner_pad = pad + "  "
    lead = pad if first is None else first
    for item in value:
        kind = type(item)
        write(lead + "- ")
        lead = pad
        if kind is dict and item:
            own = ""
            for key, inner in item.items():
                write(own)
                own = inner_pad
                _pair(key, inner, inner_pad, write)
        elif kind is list and item:
            _sequence(item, inner_pad, write, "")
        else:
            _leaf(item, pad, write)


def _leaf(value: Any, pad: str, write: _Write) -> None:
    if isinstance(value, str):
        if "\n" in value and not _NOT_LITERAL.search(value) and value.strip("\n"):
            _literal(value, pad + "  ", write)
        else:
            write(plain_or_quoted(value) + "\n")
    elif isinstance(value, dict | list):
        if value:
            raise TypeError(f"{type(value).__name__} is not a plain dict or list")
        write("{}\n" if isinstance(value, dict) else "[]\n")
    else:
        write(_number(value) + "\n")


def _literal(text: str, pad: str, write: _Write) -> None:
    body = text.rstrip("\n")
    trailing = len(text) - len(body)
    # without a digit a reader takes the indentation from the first line that is not empty
    digit = "2" if body[0] in " \t\n" else ""
    write(f"|{digit}{'-' if trailing == 0 else '' if trailing == 1 else '+'}\n")
    write("\n".join([pad + line if line else "" for line in body.split("\n")]))
    write("\n" * max(trailing, 1))


def _number(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise YamlError(f"the number {value} has no form in JSON")
        text = float.__repr__(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    raise TypeError(f"{type(value).__name__} has no form in YAML")


def _double_quoted(text: str) -> str:
    parts = []
    for char in text:
        code = ord(char)
        if char in _ESCAPES:
            parts.append(_ESCAPES[char])
        elif not _UNPRINTABLE.match(char):
            parts.append(char)
        elif 0xD800 <= code <= 0xDFFF:
            raise YamlError(f"the lone surrogate U+{code:04X} is not a character")
        elif code < 0x100:
            parts.append(f"\\x{code:02x}")
        else:
            parts.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'
