"""Cut a stream of YAML documents into its texts without parsing them.

87 % of the bytes of a Kubeflow platform are CRDs, which hardly ever change: a document is known by
the digest of its text and named by a scan of its first lines. It is parsed when its object is asked
for, or when its layout is not the one that kustomize, helm and people write.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import Any

from argosy.errors import Location
from argosy.manifests.errors import ManifestError
from argosy.manifests.identity import Manifest, ObjectId, identity
from argosy.yaml import load
from argosy.yaml.scalars import resolve

__all__ = ["Document", "split"]

_BLANK = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)|\.\.\.[ \t]*\r?(?:\n|\Z))*\Z")
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)+\Z")
_SEPARATOR_REST = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\Z")
_PLAIN = re.compile(
    r"""[ \t]+(?:"([^"\\\n]*)"|'([^'\n]*)'|([A-Za-z0-9](?:[A-Za-z0-9._/-]|:(?=\S))*))[ \t]*"""
    r"""(?:[ \t]#[^\n]*)?\r?\Z"""
)
_MAX_HEADER = 200  # lines below metadata that a scan looks at


class Document:
    """One document of a stream.

    Attributes:
        text: the document without its separator; ends with a newline.
        line: the number of the text's first line in its file.
        file: the file's name, for errors.
    """

    def __init__(self, text: str, *, line: int = 1, file: str = "") -> None:
        self.text = text
        self.line = line
        self.file = file

    def __repr__(self) -> str:
        return f"Document({self.where}, {len(self.text)} characters)"

    @property
    def where(self) -> Location:
        """The place of the first line."""
        return Location(self.file or "<text>", self.line)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def id(self) -> ObjectId:
        """The object's identity; found without parsing where the layout allows.

        Raises:
            ManifestError: when the document is not an object.
            YamlError: when it must be parsed and is not YAML.
        """
        found = _scan(self.text)
        return found if found is not None else identity(self.object(), where=self.where)

    def object(self) -> Manifest:
        """Return the object; parsed once. Callers must not change it.

        Raises:
            YamlError: when the text is not YAML.
            ManifestError: when it is not a mapping.
        """
        return self._object

    @cached_property
    def _object(self) -> Manifest:
        value: Any = load(self.text, file=self.file or "<text>", line=self.line)
        if not isinstance(value, dict):
            raise ManifestError("a Kubernetes object must be a mapping", where=self.where)
        return value


def split(text: str, *, file: str = "") -> list[Document]:
    """Return the documents of a stream; empty ones and those of comments alone are dropped.

    A separator is a line that begins with `---`: inside a block scalar such a line is indented, so
    no parser is needed.
    """
    documents: list[Document] = []
    at, line = (1, 1) if text[:1] == "\ufeff" else (0, 1)
    pending: tuple[int, int] | None = None  # directives that belong to the next document
    lead = ""
    while at <= len(text):
        end, following = _next_separator(text, at)
        piece = lead + text[at:end]
        if pending is None and "%" in piece and _DIRECTIVES.match(piece):
            pending = (at, line)
        elif pending is not None:
            documents.append(Document(text[pending[0] : end], line=pending[1], file=file))
            pending = None
        elif not _is_blank(piece):
            skipped = len(piece) - len(piece.lstrip("\n")) if not lead else 0
            own = piece[skipped:]
            documents.append(
                Document(own if own.endswith("\n") else own + "\n", line=line + skipped, file=file)
            )
        if following < 0:
            break
        line += text.count("\n", at, following)
        at, lead = _behind_separator(text, following)
        line += not lead
    return documents


def _next_separator(text: str, at: int) -> tuple[int, int]:
    """Return where the document that starts at `at` ends, and where its separator is (or -1)."""
    if text.startswith("---", at) and text[at + 3 : at + 4] in {"", " ", "\t", "\n", "\r"}:
        before = text[at - 1 : at]
        if before in {"", "\n", "\ufeff"}:
            return at, at
    found = at - 1
    while (found := text.find("\n---", found + 1)) >= 0:
        if text[found + 4 : found + 5] in {"", " ", "\t", "\n", "\r"}:
            return found + 1, found + 1
    return len(text), -1


def _behind_separator(text: str, separator: int) -> tuple[int, str]:
    """Return where the next document starts, and spaces for a separator that shares its line."""
    end = text.find("\n", separator)
    if end < 0:
        end = len(text)
    if _SEPARATOR_REST.match(text[separator + 3 : end]):
        return end + 1, ""
    return separator + 3, "   "


def _is_blank(piece: str) -> bool:
    start = piece.lstrip()
    if start and start[0] not in "#.":
        return False
    return _BLANK.match(piece) is not None


def _scan(text: str) -> ObjectId | None:
    """Read the identity out of a document in block style, or return None when in doubt."""
    api_version = _top_value(text, "apiVersion")
    kind = _top_value(text, "kind")
    if not api_version or not kind or kind.endswith("List") or "\n<<" in text:
        return None
    start = _top_line(text, "metadata")
    if start is None:
        return None
    name, namespace = _scan_metadata(text, start)
    if not name:
        return None
    return ObjectId(api_version.rpartition("/")[0], kind, namespace or "", name)


def _top_line(text: str, key: str) -> int | None:
    """Return the index behind the colon of the only top-level line with this key."""
    needle = f"\n{key}:"
    if text.startswith(needle[1:]):
        return len(needle) - 1 if needle not in text else None
    at = text.find(needle)
    if at < 0 or text.find(needle, at + 1) >= 0:
        return None
    return at + len(needle)


def _top_value(text: str, key: str) -> str | None:
    start = _top_line(text, key)
    return None if start is None else _value(text[start : _line_end(text, start)])


def _value(rest: str) -> str | None:
    """Return the string behind a colon, or None when it needs a parser."""
    match = _PLAIN.match(rest)
    if match is None:
        return None
    double, single, plain = match.groups()
    if plain is not None:
        return plain if resolve(plain) == plain else None
    return str(double if double is not None else single)


def _scan_metadata(text: str, at: int) -> tuple[str | None, str | None]:
    """Return name and namespace out of the lines below `metadata:`, or None when in doubt."""
    if not _SEPARATOR_REST.match(text[at : _line_end(text, at)]):
        return None, None
    indent = 0
    found: dict[str, str] = {}
    for _ in range(_MAX_HEADER):
        at = _line_end(text, at) + 1
        line = text[at : _line_end(text, at)] if at < len(text) else "end"
        body = line.lstrip(" ")
        if not body.strip() or body[0] == "#":
            continue
        own = len(line) - len(body)
        if own == 0:
            return found.get("name"), found.get("namespace")
        indent = indent or own
        key, colon, rest = body.partition(":")
        if own > indent:
            continue
        if own < indent or not colon or key in found or key[0] in "<?&*!\"'{[|>":
            return None, None
        if key in {"name", "namespace"}:
            value = _value(rest)
            if value is None:
                return None, None
            found[key] = value
        elif rest.strip()[:1] in {'"', "'"} and rest.strip()[-1:] != rest.strip()[:1]:
            return None, None  # a quoted text of several lines may look like keys
    return None, None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
