"""Understand `KIND/[NAMESPACE/]NAME`, the form in which options name objects.

Kinds are taken as kubectl takes them: in any case, singular, plural or short, with or without
their group. A namespace has to be said: what is named here is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.explain_target import SHORT, plurals
from argosy.platform.hazards import short
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from argosy.manifests import ObjectId

__all__ = ["is_named", "names_nothing"]


def is_named(id_: ObjectId, names: Iterable[str]) -> bool:
    """Say whether one of some names means an object."""
    return any(_means(name, id_) for name in names)


def names_nothing(
    names: Iterable[str], ids: Collection[ObjectId], *, option: str, what: str
) -> Iterator[str]:
    """Yield a sentence for each name that means no object.

    Args:
        names: what the person has said.
        ids: the objects that may be meant.
        option: how it was said.
        what: which objects these are ("is rendered no more").
    """
    for name in sorted(names):
        if not any(_means(name, id_) for id_ in ids):
            rest = name.partition("/")[2].rpartition("/")[2]
            near = [short(id_) for id_ in sorted(ids) if rest and id_.name == rest]
            said = (
                f"did you mean {near[0]!r}?"
                if near
                else did_you_mean(name, [short(id_) for id_ in ids])
            )
            yield f"{option} {name}: nothing of this name {what}{f'; {said}' if said else ''}"


def _means(name: str, id_: ObjectId) -> bool:
    kind, _, rest = name.partition("/")
    word, _, group = kind.lower().partition(".")
    own = id_.kind.lower()
    if SHORT.get(word, word) not in {own, *plurals(own)}:
        return False
    if group and id_.group != group and not id_.group.startswith(f"{group}."):
        return False
    return rest == "/".join(part for part in (id_.namespace, id_.name) if part)
