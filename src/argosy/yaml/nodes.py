"""A text as a tree of nodes that know where they stand; for positions and for edits.

Slower than the loader, so it is made only when somebody asks for a place. A node's `start` and
`end` are indexes into the text; a block collection's `end` is where its last child ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yaml.error import YAMLError

from argosy.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NextEvent,
    ScalarEvent,
    SequenceEndEvent,
    Source,
    StreamEndEvent,
    explain,
    open_events,
)
from argosy.yaml.scalars import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Node", "compose", "lookup"]


class Node:
    """A scalar, mapping, sequence or alias with its place.

    `kind` is "scalar", "mapping", "sequence" or "alias"; `pairs` are a mapping's (key, value)
    nodes, `items` a sequence's; `target` is what an alias stands for; `key` is what a scalar is
    called as a key. `line` and `column` count from 0. `props` is where the node's anchor or tag
    begins: the same as `start`, since libyaml's marks include them.
    """

    __slots__ = (
        "column", "end", "flow", "items", "key", "kind", "line", "pairs", "plain", "start",
        "style", "tagged", "target",
    )  # fmt: skip

    def __init__(self, kind: str, event: Any) -> None:
        self.kind = kind
        start = event.start_mark
        self.start: int = start.index
        self.line: int = start.line
        self.column: int = start.column
        self.end: int = event.end_mark.index
        self.flow: bool = bool(getattr(event, "flow_style", False))
        self.style: str | None = getattr(event, "style", None)
        self.plain: bool = kind == "scalar" and bool(event.implicit[0])
        self.tagged: bool = bool(event.anchor) or bool(getattr(event, "tag", None))
        self.key: str | None = None
        self.pairs: list[tuple[Node, Node]] = []
        self.items: list[Node] = []
        self.target: Node | None = None

    @property
    def resolved(self) -> Node:
        """The node itself, or what the alias stands for."""
        return self.target.resolved if self.target is not None else self


def compose(source: Source) -> list[Node]:
    """Return the root node of each document that is not empty.

    Raises:
        YamlError: when the text is not YAML.
    """
    get = open_events(source)
    roots = []
    try:
        while (event := get()).__class__ is not StreamEndEvent:
            if event.__class__ is DocumentStartEvent:
                roots.append(_Composer(get).node(get()))
    except YAMLError as error:
        raise explain(error, source) from error
    return [root for root in roots if root.kind != "scalar" or root.end > root.start]


class _Composer:
    def __init__(self, get: NextEvent) -> None:
        self._get = get
        self._anchors: dict[str, Node] = {}

    def node(self, event: Any) -> Node:
        if event.__class__ is AliasEvent:
            node = Node("alias", event)
            node.target = self._anchors.get(event.anchor)
            return node
        if event.__class__ is ScalarEvent:
            node = Node("scalar", event)
            node.key = _key(event)
        else:
            is_map = event.__class__ is MappingStartEvent
            node = Node("mapping" if is_map else "sequence", event)
            (self._mapping if is_map else self._sequence)(node)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _mapping(self, node: Node) -> None:
        get = self._get
        while (event := get()).__class__ is not MappingEndEvent:
            key = self.node(event)
            node.pairs.append((key, self.node(get())))
        last = node.pairs[-1] if node.pairs else None
        node.end = event.end_mark.index if node.flow or last is None else _last(*last)

    def _sequence(self, node: Node) -> None:
        get = self._get
        while (event := get()).__class__ is not SequenceEndEvent:
            node.items.append(self.node(event))
        if node.flow or not node.items:
            node.end = event.end_mark.index
        else:
            node.end = max(node.items[-1].end, node.start)


def _last(key: Node, value: Node) -> int:
    return max(key.end, value.end)


def _key(event: Any) -> str | None:
    text: str = event.value
    try:
        if event.implicit[0] and event.tag is None:
            return key_text(text)
        return text if event.tag is None else key_text(text, tag=event.tag)
    except ValueError:
        return None


def lookup(node: Node, step: str | int) -> tuple[Node | None, Node] | None:
    """Return the (key, value) nodes one step below a node, through aliases and merge keys."""
    node = node.resolved
    if node.kind == "sequence" and isinstance(step, int):
        if -len(node.items) <= step < len(node.items):
            return None, node.items[step]
        return None
    if node.kind != "mapping" or not isinstance(step, str):
        return None
    for key, value in reversed(node.pairs):
        if _is_merge(key):
            for part in _merged(value):
                found = lookup(part, step)
                if found:
                    return found
        elif (key.resolved.key if key.kind == "alias" else key.key) == step:
            return key, value
    return None


def _is_merge(key: Node) -> bool:
    return key.kind == "scalar" and key.plain and key.key == "<<"


def _merged(value: Node) -> Iterator[Node]:
    found = value.resolved
    return iter(found.items if found.kind == "sequence" else [found])
