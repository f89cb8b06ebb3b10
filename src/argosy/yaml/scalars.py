"""Decide what one scalar means: the rules of kubectl, not those of a YAML version.

kubectl and every Go controller read YAML with go-yaml v2 and then turn it into JSON
(sigs.k8s.io/yaml). So `yes` is true, `0777` is 511, `1:30` and dates are strings, `1e3` is 1000,
and infinities do not exist. This module holds those rules for values and for keys. It knows no
positions: whoever does turns a `ValueError` into an error with a place.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from decimal import Decimal

__all__ = ["WORDS", "Scalar", "key_text", "resolve", "resolve_tagged"]

Scalar = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
}
_INFINITE: dict[str, float] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_START = frozenset("+-.0123456789")
_INT = re.compile(
    r"([-+]?)(?:(0[xX])([0-9a-fA-F]+)|(0[bB])([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
# strconv.ParseFloat, which reads what starts with a dot, takes underscores between digits
_DOT_FLOAT = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?\Z")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"|[ ]+[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?)?\Z"
)
_INT64_MIN, _INT64_MAX, _UINT64_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
_JSON_PLAIN_FLOAT = 1e21  # encoding/json writes integral floats below this without an exponent
_CORE = "tag:yaml.org,2002:"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")


def resolve(text: str) -> Scalar:
    """Return what a plain scalar without a tag means.

    Raises:
        ValueError: for `.inf` and `.nan`, which JSON cannot hold and kubectl refuses.
    """
    if not text or (text[0] not in _NUMBER_START and text not in WORDS):
        return text or None
    return _json(_typed(text))


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return what a scalar with an explicit tag means; unknown tags leave the text as it is.

    Raises:
        ValueError: when the text is not of the tag's type.
    """
    if not tag.startswith(_CORE):
        return text
    kind = tag[len(_CORE) :]
    if kind == "binary":
        return _binary(text)
    if kind not in {"bool", "int", "float", "null", "timestamp"}:
        return text
    if kind == "timestamp" and _TIMESTAMP.match(text):
        return text
    value = _typed(text)
    found = _kind(value)
    if kind == "float" and found == "int" and isinstance(value, int):
        if not _INT64_MIN <= value <= _INT64_MAX:
            raise ValueError(f"`{text}` cannot be read as a !!float")
        return _json(float(value))
    if found != kind:
        raise ValueError(f"`{text}` cannot be read as a !!{kind}, it is a !!{found}")
    return _json(value)


def key_text(text: str, *, tag: str | None = None) -> str:
    """Return the string that a plain (or tagged) scalar becomes as a key of a mapping.

    Raises:
        ValueError: for a null key and for integers above 2**63, which kubectl refuses.
    """
    value = _typed(text) if tag is None else _tagged_key(tag, text)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        raise ValueError("a key cannot be null; quote a text")
    if isinstance(value, int):
        if value > _INT64_MAX:
            raise ValueError(f"the key {value} is too large for a number; quote a text")
        return str(value)
    return _short_float(value)


def _tagged_key(tag: str, text: str) -> Scalar:
    if tag in {_CORE + "float", _CORE + "int"}:
        resolve_tagged(tag, text) if text not in _INFINITE else None
        value = _typed(text)
        return float(value) if tag.endswith("float") and isinstance(value, int) else value
    return resolve_tagged(tag, text)


def _typed(text: str) -> Scalar:
    """Read a scalar as go-yaml v2 does, before JSON."""
    if text in WORDS:
        return WORDS[text]
    if not text or text[0] not in _NUMBER_START:
        return text
    if text in _INFINITE:
        return _INFINITE[text]
    if text[0] == ".":
        found = float(text.replace("_", "")) if _DOT_FLOAT.match(text) else math.inf
        return found if math.isfinite(found) else text
    plain = text.replace("_", "")
    whole = _integer(plain)
    if whole is not None:
        return whole
    if _FLOAT.match(plain) and math.isfinite(number := float(plain)):
        return number
    return text


def _integer(plain: str) -> int | None:
    match = _INT.match(plain)
    if match is None:
        return None
    sign, hexadecimal, hex_digits, binary, bits, octal, digits = match.groups()
    if hexadecimal:
        value = int(hex_digits, 16)
    elif binary:
        value = int(bits, 2)
    elif octal is not None:
        value = int(octal, 8)
    elif len(digits) > 20:  # more digits than 2**64 has; int() of megabytes would be slow
        return None
    else:
        value = int(digits)
    if sign:  # ParseUint knows no sign, so signed numbers end at 64 bits with one for the sign
        value = -value if sign == "-" else value
        return value if _INT64_MIN <= value <= _INT64_MAX else None
    return value if value <= _UINT64_MAX else None


def _json(value: Scalar) -> Scalar:
    """Return the value after encoding/json: integral floats below 1e21 are written as integers."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError("infinities and NaN have no form in JSON; quote a text")
    if value.is_integer() and abs(value) < _JSON_PLAIN_FLOAT:
        return int(Decimal(repr(value)))
    return value


def _kind(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return {int: "int", float: "float", str: "str"}[type(value)]


def _binary(text: str) -> str:
    compact = text.replace("\r", "").replace("\n", "")
    if not _BASE64.match(compact):
        raise ValueError("the !!binary value is not base64")
    try:
        data = base64.b64decode(compact)
    except binascii.Error as error:
        raise ValueError("the !!binary value is not base64") from error
    # encoding/json replaces each byte that is not UTF-8
    escaped = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in escaped)


def _short_float(value: float) -> str:
    """Return what Go's FormatFloat(value, 'g', -1, 32) returns; infinities as in YAML."""
    if math.isnan(value):
        return ".nan"
    try:
        single = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    short = next(
        digits
        for size in range(9)
        if _same_single(digits := f"{single:.{size}e}", single) or size == 8
    )
    mantissa, exponent = short.split("e")
    power = int(exponent)
    # strconv uses %e below 1e-4 and, for the shortest form, from 1e6 on
    return f"{Decimal(short):f}" if -4 <= power < 6 else f"{mantissa}e{power:+03d}"


def _same_single(text: str, single: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", float(text)))[0] == single)
    except OverflowError:
        return False
