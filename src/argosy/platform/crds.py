"""Keep the schemas of CustomResourceDefinitions out of the engine's way.

Schemas are most of the bytes of a Kubeflow release (87 % of 26.03) and no transformation looks
into them, yet kustomize parses, copies and prints each one several times. So the files that the
engine reads get each `versions[].schema` replaced by a marker, and the engine's output gets the
original text back where the marker stands.

This is exact or it is not done: a patch that reaches into a schema either fails on the marker or
leaves something beside it, and a file that mentions a schema without being a whole definition
(a patch) is found by its text. In each of these cases the app is built again from the originals.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["MARKER", "SchemaStore", "SchemaTouched", "reaches_into_schemas"]

MARKER = "x-argosy-schema"
_WORTH = 4096  # bytes; cutting out smaller schemas saves less than it costs
_CRD = re.compile(r"^kind:[ \t]*[\"']?CustomResourceDefinition[\"']?[ \t]*$", re.MULTILINE)
_DOCUMENT = re.compile(r"^---(?:[ \t].*)?$\n?", re.MULTILINE)
_VERSIONS = re.compile(r"^  versions:[ \t]*\n(?=( {2}| {4})- )", re.MULTILINE)
_SCHEMA = {
    # the list's indentation -> a `schema:` key of an item, first or later
    indent: re.compile(rf"^(?: {{{indent}}}- | {{{indent + 2}}})schema:[ \t]*\n", re.MULTILINE)
    for indent in (2, 4)
}
_OUTSIDE = {
    # the list's indentation -> the end of a line before one that is no deeper than `schema:`
    indent: re.compile(rf"\n(?= {{0,{indent + 2}}}[^ \n]|$(?!\n))")
    for indent in (2, 4)
}
_PLACED = re.compile(
    r"^(?P<pad> *)(?P<dash>- )?schema:\n +openAPIV3Schema:\n"
    rf" +{MARKER}: sha256-(?P<digest>[0-9a-f]{{64}})\n"
    r"(?P<more>(?:(?P=pad) {3}[^\n]*\n)?)",
    re.MULTILINE,
)
_DEFINITION = re.compile(r"^  names:[ \t]*$", re.MULTILINE)
_ANCHOR = re.compile(r"[:-] +&\w")  # an alias without an anchor is an error, so this finds both


class SchemaTouched(Exception):  # it is a signal to build without markers
    """The engine's output shows that a transformation reached into a schema."""


class SchemaStore:
    """The schemas that were cut out of files, by the digest that their markers carry."""

    def __init__(self) -> None:
        self._blocks: dict[str, str] = {}

    def cut(self, content: bytes) -> bytes | None:
        """Return `content` with schemas replaced by markers, or None when there is nothing to cut.

        Args:
            content: a YAML file, one or more documents.
        """
        if b"CustomResourceDefinition" not in content or b"openAPIV3Schema" not in content:
            return None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return None
        if "\r" in text or "\t" in text[:64]:
            return None
        parts: list[str] = []
        start = 0
        for separator in [*_DOCUMENT.finditer(text), None]:
            end = separator.start() if separator else len(text)
            parts.append(self._cut_document(text[start:end]))
            if separator:
                parts.append(separator.group())
                start = separator.end()
        return "".join(parts).encode()

    def _cut_document(self, text: str) -> str:
        if len(text) < _WORTH or not _CRD.search(text):
            return text
        if " &" in text and _ANCHOR.search(text):
            return text
        versions = _VERSIONS.search(text)
        if not versions:
            return text
        indent = len(versions.group(1))
        parts = [text[: versions.end()]]
        at = versions.end()
        while found := _SCHEMA[indent].search(text, at):
            outside = _OUTSIDE[indent].search(text, found.end() - 1)
            end = outside.end() if outside else len(text)
            parts += [text[at : found.start()], self._keep(found.group(), text[found.end() : end])]
            at = end
        return "".join([*parts, text[at:]])

    def _keep(self, key: str, block: str) -> str:
        block = block.rstrip() + "\n"
        if not block.lstrip().startswith("openAPIV3Schema:"):
            return key + block
        digest = hashlib.sha256(block.encode()).hexdigest()
        self._blocks[digest] = block
        lead = key.partition("schema:")[0]
        return f"{lead}schema: {{openAPIV3Schema: {{{MARKER}: sha256-{digest}}}}}\n"

    def text(self, marker: str) -> str:
        """Return the schema (`openAPIV3Schema: …`, indented) that a marker's value stands for."""
        return self._blocks[marker.removeprefix("sha256-")]

    def restore(self, text: str) -> str:
        """Return the engine's output with every schema back in its place.

        Raises:
            SchemaTouched: something stands beside a marker or a marker was changed.
        """
        if MARKER not in text:
            return text
        restored = _PLACED.sub(self._place, text)
        if MARKER in restored:
            raise SchemaTouched
        return restored

    def _place(self, found: re.Match[str]) -> str:
        if found["more"] or found["digest"] not in self._blocks:
            raise SchemaTouched
        block = self._blocks[found["digest"]]
        inner = len(found["pad"]) + (4 if found["dash"] else 2)
        shift = inner - (len(block) - len(block.lstrip(" ")))
        return f"{found['pad']}{found['dash'] or ''}schema:\n{_shift(block, shift)}"


def reaches_into_schemas(content: bytes) -> bool:
    """Say whether a file changes schemas of definitions that stand elsewhere (a patch).

    Args:
        content: the file as the engine would read it, markers in place.
    """
    if b"openAPIV3Schema" not in content:
        return False
    text = content.decode(errors="replace")
    return any(
        "openAPIV3Schema" in document and not _DEFINITION.search(document)
        for document in _DOCUMENT.split(text)
    )


def _shift(block: str, columns: int) -> str:
    if columns == 0:
        return block
    if columns > 0:
        return re.sub(r"^(?=[^\n])", " " * columns, block, flags=re.MULTILINE)
    return re.sub(rf"^ {{{-columns}}}", "", block, flags=re.MULTILINE)
