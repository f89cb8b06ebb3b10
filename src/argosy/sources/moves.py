"""Say what is different between two locks, source by source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argosy.sources.lock import Lock, LockedSource

__all__ = ["Move", "moves"]


class Move(NamedTuple):
    """What an update changes in one source."""

    name: str
    old_ref: str | None
    new_ref: str | None
    old_commit: str | None
    new_commit: str | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Say whether anything is different."""
        return bool(
            self.added
            or self.removed
            or self.changed
            or (self.old_ref, self.old_commit) != (self.new_ref, self.new_commit)
        )


def moves(old: Lock, new: Lock) -> list[Move]:
    """Return what is different between two locks, source by source."""
    names = sorted({*old.sources, *new.sources})
    found = [_move(name, old.sources.get(name), new.sources.get(name)) for name in names]
    return [move for move in found if move.moves]


def _move(name: str, old: LockedSource | None, new: LockedSource | None) -> Move:
    before = {**old.files, **old.links} if old else {}
    after = {**new.files, **new.links} if new else {}
    return Move(
        name,
        old.ref if old else None,
        new.ref if new else None,
        old.commit if old else None,
        new.commit if new else None,
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
    )
