"""Find the circles of a directed graph.

Pure, linear and deterministic: Tarjan's strongly connected components, without recursion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

__all__ = ["components"]

Node = TypeVar("Node", bound="Hashable")


def components(graph: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the sets of nodes that reach each other; a node in no circle is alone in its set.

    Args:
        graph: each node with the nodes that it points to, all of which are keys.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_: dict[Node, None] = {}
    found: list[list[Node]] = []
    for root in graph:
        if root in number:
            continue
        work: list[tuple[Node, Iterator[Node]]] = []
        _enter(root, graph, number, low, open_, work)
        while work:
            node, following = work[-1]
            for next_ in following:
                if next_ not in number:
                    _enter(next_, graph, number, low, open_, work)
                    break
                if next_ in open_:
                    low[node] = min(low[node], number[next_])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == number[node]:
                    found.append(_close(node, open_))
    return found


def _enter(
    node: Node,
    graph: Mapping[Node, Iterable[Node]],
    number: dict[Node, int],
    low: dict[Node, int],
    open_: dict[Node, None],
    work: list[tuple[Node, Iterator[Node]]],
) -> None:
    number[node] = low[node] = len(number)
    open_[node] = None
    work.append((node, iter(graph[node])))


def _close(node: Node, open_: dict[Node, None]) -> list[Node]:
    part: list[Node] = []
    while True:
        last, _ = open_.popitem()
        part.append(last)
        if last == node:
            return part
