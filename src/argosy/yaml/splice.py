"""Change a file of the user by touching only the characters that must change.

Comments, quotes, indentation, line ends, the order of keys and the style of everything else stay as
they are, byte for byte. What is written is read back: an edit that would say anything else than
what was asked (through an anchor, say) is refused and the text stays untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

from argosy.yaml.edits import Edit, delete_entry, insert_entry, replace_value, whole_document
from argosy.yaml.errors import YamlError
from argosy.yaml.events import Source, read
from argosy.yaml.loader import load
from argosy.yaml.nodes import Node, compose, lookup

__all__ = ["DELETE", "splice"]

Path = Sequence[str | int]


class _Delete(Enum):
    """The new value that means: remove the key or the item."""

    DELETE = "delete"


DELETE: Final = _Delete.DELETE


def splice(text: str, edits: Iterable[tuple[Path, Any]], *, file: str = "<text>") -> str:
    """Return the text with new values at paths, and everything else unchanged.

    Args:
        text: a text with at most one document.
        edits: pairs of a path and a new value, made one after the other. A key that is not there is
            added, with the mappings that lead to it; an index one behind the last appends an item;
            the value `DELETE` removes what the path names.
        file: the name that errors show.

    Raises:
        YamlError: when the text is not YAML, a path leads through something that is not a mapping
            or list, or the edit would change more than its place.
    """
    for path, value in edits:
        text = _one(text, tuple(path), value, file)
    return text


def _one(text: str, path: tuple[str | int, ...], value: Any, file: str) -> str:
    source = read(text, file=file)
    before = load(source.text, file=file)
    wanted = _changed(before, path, value, source)
    if _same(before, wanted):
        return text
    roots = compose(source)
    edit = _edit(source, roots[0] if roots else None, path, value)
    for after in _written(source.text, edit):
        if _reads_as(after, wanted):
            return text[: source.dropped] + after
    raise YamlError(
        f"`{_shown(path)}` cannot be changed without changing more than it",
        where=source.location_of(edit.start),
        hint="an anchor, a merge key or an unusual layout is involved; edit the file by hand",
    )


def _written(text: str, edit: Edit) -> Iterator[str]:
    """Yield the text after an edit, then the two that some literal blocks need."""
    head, tail = text[: edit.start] + edit.text, text[edit.end :]
    yield head + tail
    yield head + tail + "\n"  # a literal block may need its last line end
    yield head + tail.lstrip("\r\n")  # blank lines would belong to a `|+` in front of them


def _edit(source: Source, root: Node | None, path: tuple[str | int, ...], value: Any) -> Edit:
    if root is None or not path:
        return whole_document(source.text, root, _nested(path, value))
    parent, node = None, root
    for position, step in enumerate(path):
        found = None if node.kind == "alias" else lookup(node, step)
        own = found is not None and _owns(node, found[1])
        if found is None or not own:
            if node.kind == "scalar":  # an empty value that becomes a mapping or a list
                entry = _nested(path[position:], value)
                return replace_value(source.text, parent, node, entry)
            return insert_entry(
                source.text, parent, node, step, _nested(path[position + 1 :], value)
            )
        if position == len(path) - 1 and value is DELETE:
            return delete_entry(source.text, parent, node, found[1])
        parent, node = node, found[1]
    return replace_value(source.text, parent, node, value)


def _owns(node: Node, child: Node) -> bool:
    """Tell whether a child stands in the node itself, not behind a merge key."""
    return any(child is own for _, own in node.pairs) or any(child is own for own in node.items)


def _nested(path: Sequence[str | int], value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _changed(value: Any, path: tuple[str | int, ...], new: Any, source: Source) -> Any:
    """Return a copy of the value with the new one at the path: what the text must say then."""
    if not path:
        if new is DELETE:
            raise YamlError("the whole document cannot be deleted", where=source.location(None))
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, str) and (value is None or isinstance(value, dict)):
        out = dict(value or {})
        if rest or new is not DELETE:
            out[step] = _changed(out.get(step), rest, new, source)
        elif step in out:
            del out[step]
        else:
            raise YamlError(f"there is no key `{step}` to delete", where=source.location(None))
        return out
    if isinstance(step, int) and (value is None or isinstance(value, list)):
        items = list(value or [])
        if not 0 <= step < len(items) + (new is not DELETE):
            raise YamlError(
                f"there is no item {step} in a list of {len(items)}", where=source.location(None)
            )
        if not rest and new is DELETE:
            del items[step]
        else:
            old = items[step] if step < len(items) else None
            items[step : step + 1] = [_changed(old, rest, new, source)]
        return items
    raise YamlError(
        f"`{step}` leads into a {type(value).__name__}, which has no such part",
        where=source.location(None),
    )


def _reads_as(text: str, wanted: Any) -> bool:
    try:
        return _same(load(text), wanted)
    except YamlError:
        return False


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _shown(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path)) or "the document"
