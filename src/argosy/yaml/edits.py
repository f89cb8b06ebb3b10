"""Decide which characters one edit replaces, and by what.

The layouts of YAML, one function each: a scalar on its line, a block of lines, flow style between
brackets, an entry that shares its line with the `- ` in front of it. Whether the result says what
was meant is checked by argosy.yaml.splice, so an odd layout is at worst refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.yaml.emitter import dump, flow, plain_or_quoted

if TYPE_CHECKING:
    from argosy.yaml.nodes import Node

__all__ = ["Edit", "delete_entry", "insert_entry", "replace_value", "whole_document"]


class Edit(NamedTuple):
    """Replace the characters from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


def whole_document(text: str, root: Node | None, value: Any) -> Edit:
    """Replace the document's root; comments before and after it stay."""
    written = _native(dump(value), text)
    if root is None:
        glue = "" if not text or text.endswith("\n") else _newline(text)
        return Edit(len(text), len(text), glue + written)
    end = _after(text, root)
    if end < len(text) or text.endswith("\n") or root.flow or _one_line(value):
        return Edit(root.start, end, written)
    return Edit(root.start, end, _open_end(written))


def replace_value(text: str, parent: Node | None, node: Node, value: Any) -> Edit:
    """Replace a value by another one in the style that its place allows."""
    if parent is None:
        return whole_document(text, node, value)
    if parent.flow:
        quoted = isinstance(value, str) and node.style in {"'", '"'}
        return _inline(text, node, _scalar(node, value) if quoted else flow(value))
    is_block = node.kind in {"mapping", "sequence"} and not node.flow
    if _one_line(value):
        written = _scalar(node, value)
        return (
            _lines_to_inline(text, parent, node, written)
            if is_block
            else _inline(text, node, written)
        )
    if node.flow and (node.pairs or node.items) and isinstance(value, dict | list):
        return _inline(text, node, flow(value))
    if isinstance(value, str):
        block = _body(value, _column(parent))
        if is_block:
            return _lines_to_inline(text, parent, node, block)
        return _block_inline(text, node, block)
    return _to_lines(text, parent, node, value, is_block=is_block)


def insert_entry(text: str, parent: Node | None, node: Node, step: str | int, value: Any) -> Edit:
    """Add a key to a mapping or an item to the end of a list."""
    entry: Any = {step: value} if isinstance(step, str) else [value]
    last = node.pairs[-1][1] if node.pairs else node.items[-1] if node.items else None
    if node.flow:
        if last is None:
            in_flow = parent is not None and parent.flow
            if not in_flow:
                return replace_value(text, parent, node, entry)
            return Edit(node.start, node.end, flow(entry))
        end = max(last.end, node.pairs[-1][0].end) if node.pairs else last.end
        return Edit(end, end, ", " + flow(entry)[1:-1])
    pad = " " * _column(node)
    lines = _indented(dump(entry), pad)
    at = _after(text, node)
    if at == len(text) and not text.endswith("\n"):
        return Edit(at, at, _newline(text) + _open_end(_native(lines, text)))
    return Edit(at, at, _native(lines, text))


def delete_entry(text: str, parent: Node | None, node: Node, value: Node) -> Edit:
    """Remove a key with its value, or an item."""
    entries = [(key.start, own) for key, own in node.pairs] or [
        (item.start, item) for item in node.items
    ]
    index = next(i for i, (_, own) in enumerate(entries) if own is value)
    if node.flow:
        return _delete_in_flow(node, entries, index)
    if len(entries) == 1:
        empty = "{}" if node.pairs else "[]"
        if parent is None:
            return Edit(node.start, _after(text, node), empty + _newline(text))
        return _lines_to_inline(text, parent, node, empty)
    start = entries[index][0] if node.pairs else _dash(text, node, index)
    line_start = text.rfind("\n", 0, start) + 1
    end = _after(text, value)
    if not text[line_start:start].strip():
        return Edit(line_start, end, "")
    follower = entries[index + 1][0] if node.pairs else _dash(text, node, index + 1)
    if text[end:follower].strip():  # comments of the next entry stay on their lines
        return Edit(start, end, _newline(text))
    return Edit(start, follower, "")


def _delete_in_flow(node: Node, entries: list[tuple[int, Node]], index: int) -> Edit:
    start, value = entries[index]
    if index:
        before = entries[index - 1][1]
        key = node.pairs[index - 1][0] if node.pairs else before
        own = node.pairs[index][0] if node.pairs else value
        return Edit(max(before.end, key.end), max(value.end, own.end), "")
    if len(entries) > 1:
        return Edit(start, entries[1][0], "")
    return Edit(node.start + 1, node.end - 1, "")


def _dash(text: str, node: Node, index: int) -> int:
    """Return where the `-` of an item stands."""
    column, at = node.column, node.items[index].start
    while at >= node.start:
        at = text.rfind("-", node.start, at + 1)
        if at < 0:
            break
        if at - (text.rfind("\n", 0, at) + 1) == column:
            return at
        at -= 1
    return node.start


def _inline(text: str, node: Node, written: str) -> Edit:
    """Put one value where another stands on the line of its key."""
    end = node.end
    if node.style in {"|", ">"}:
        end = _after(text, node)
        end -= len(text[node.start : end]) - len(text[node.start : end].rstrip("\r\n"))
    glue = " " if node.start == node.end or text[node.start - 1] in ":-," else ""
    return Edit(node.start, end, glue + _native(written, text))


def _block_inline(text: str, node: Node, block: str) -> Edit:
    """Put lines where a scalar stood; a comment stays on the first line."""
    edit = _inline(text, node, block)
    if node.style in {"|", ">"}:
        return edit
    line_end = text.find("\n", edit.end)
    line_end = len(text) if line_end < 0 else line_end
    comment = text[edit.end : line_end].rstrip("\r")
    header, newline, body = edit.text.partition(_newline(text))
    return Edit(edit.start, edit.end + len(comment), header + comment.rstrip() + newline + body)


def _lines_to_inline(text: str, parent: Node, node: Node, written: str) -> Edit:
    """Put a value on the line of its key (or dash) where a block stood."""
    end = _after(text, node)
    newline = _newline(text) if text[:end].endswith("\n") else ""
    anchor = _lead_end(text, parent, node)
    middle = text[anchor : node.start]
    if "\n" not in middle:
        return Edit(node.start, end, _native(written, text) + newline)
    kept = middle[: middle.rfind("\n") + 1]  # a comment behind the key, and comment lines
    if not kept.strip():
        return Edit(anchor, end, " " + _native(written, text) + newline)
    return Edit(anchor, end, " " + _native(written, text) + kept)


def _to_lines(text: str, parent: Node, node: Node, value: Any, *, is_block: bool) -> Edit:
    """Put a block of lines where a value stood."""
    pad = _child_pad(text, parent, node, value)
    block = _native(_indented(dump(value), pad), text)
    if parent.kind == "sequence" and not is_block:
        return _block_inline(text, node, _open_end(block.lstrip(" ")))
    if is_block:
        line_start = text.rfind("\n", 0, node.start) + 1
        end = _after(text, node)
        if not text[:end].endswith("\n"):
            block = _open_end(block)
        if text[line_start : node.start].strip():  # behind `- ` on its line
            own = _native(_indented(dump(value), " " * node.column), text)
            if not text[:end].endswith("\n"):
                own = _open_end(own)
            return Edit(node.start, end, own.lstrip(" "))
        return Edit(line_start, end, block)
    lead = _lead_end(text, parent, node)
    if node.style in {"|", ">"}:
        end = _after(text, node)
        return Edit(lead, end, _newline(text) + block)
    line_end = text.find("\n", node.end)
    if line_end < 0:
        rest = text[node.end :].rstrip("\r\n")
        return Edit(lead, len(text), rest + _newline(text) + _open_end(block))
    rest = text[node.end : line_end + 1]
    if not rest.strip():
        rest = _newline(text)
    return Edit(lead, line_end + 1, rest + block)


def _lead_end(text: str, parent: Node, node: Node) -> int:
    """Return the index right behind the `:` or `-` that a value belongs to."""
    if parent.kind == "mapping":
        key = next(key for key, own in parent.pairs if own is node)
        return text.index(":", key.end) + 1
    index = next(i for i, own in enumerate(parent.items) if own is node)
    return _dash(text, parent, index) + 1


def _child_pad(text: str, parent: Node, node: Node, value: Any) -> str:
    """Return the indentation of a block below a key, as the file has it elsewhere."""
    if parent.kind == "sequence":
        return " " * (_column(parent) + 2)
    if (
        node.kind in {"mapping", "sequence"}
        and not node.flow
        and isinstance(value, dict) == (node.kind == "mapping")
    ):
        return " " * node.column
    column = _column(parent)
    wanted = "mapping" if isinstance(value, dict) else "sequence"
    for key, own in parent.pairs:
        if own.kind == wanted and not own.flow and own.line > key.line:
            return " " * own.column
    del text
    return " " * (column + (2 if isinstance(value, dict) else 0))


def _scalar(node: Node, value: Any) -> str:
    """Write a value that fits on a line, in the quotes of the one that stood there."""
    if not isinstance(value, str):
        return flow(value)
    written = plain_or_quoted(value)
    if written[:1] == '"' or node.kind != "scalar":
        return written
    if node.style == "'":
        return "'" + value.replace("'", "''") + "'"
    if node.style == '"':
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return written


def _one_line(value: Any) -> bool:
    if isinstance(value, dict | list):
        return not value
    return not isinstance(value, str) or dump(value).count("\n") == 1


def _body(value: str, column: int) -> str:
    """Write text of several lines as a literal block below a key at this column."""
    first, _, rest = dump(value).partition("\n")
    pad = " " * column
    lines = [pad + line if line else "" for line in rest.split("\n")]
    return first + "\n" + _open_end("\n".join(lines))


def _column(node: Node) -> int:
    return node.pairs[0][0].column if node.pairs else node.column


def _after(text: str, node: Node) -> int:
    """Return the start of the first line behind a node's own lines."""
    end = node.end
    if node.kind == "mapping" and not node.flow and node.pairs:
        key, value = node.pairs[-1]
        return max(_after(text, value), _next_line(text, key.end))
    if node.kind == "sequence" and not node.flow and node.items:
        return _after(text, node.items[-1])
    if node.style in {"|", ">"}:
        body = text[node.start : end]
        if "+" in body.split("\n", 1)[0].split("#", 1)[0]:
            return end
        end = node.start + len(body.rstrip())
    return _next_line(text, end)


def _next_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _indented(block: str, pad: str) -> str:
    return "".join(
        pad + line if line.strip("\n") else line for line in block.splitlines(keepends=True)
    )


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _native(block: str, text: str) -> str:
    """Give a block the line ends of the text; what has them already stays as it is."""
    plain = block.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if _newline(text) == "\r\n" else plain


def _open_end(block: str) -> str:
    """Return a block without its last line end, for texts that have none."""
    return block.removesuffix("\n").removesuffix("\r")
