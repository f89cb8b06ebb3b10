"""Say who takes a finalizer off: the table is `data/finalizers.yaml`. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from argosy import yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["Keeper", "held_by", "keeper_of"]

TABLE = Path(__file__).parent / "data" / "finalizers.yaml"


class Keeper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who takes a finalizer off; the table's head says what the fields mean."""

    finalizer: str
    controller: str
    because: str = ""
    workloads: tuple[str, ...] = ()


@cache
def _table() -> tuple[Keeper, ...]:
    return tuple(msgspec.convert(yaml.load(TABLE.read_bytes(), file=str(TABLE)), list[Keeper]))


def keeper_of(finalizer: str) -> Keeper | None:
    """Return who takes a finalizer off, None when nobody is known."""
    return next((k for k in _table() if fnmatchcase(finalizer, k.finalizer)), None)


def held_by(finalizers: Iterable[str], running: Collection[str]) -> str:
    """Return what a person is told about finalizers that hold an object.

    Args:
        finalizers: the object's finalizers.
        running: the names of the workloads that run in the cluster.
    """
    return "; ".join(_one(finalizer, running) for finalizer in finalizers)


def _one(finalizer: str, running: Collection[str]) -> str:
    keeper = keeper_of(finalizer)
    if keeper is None:
        return f"finalizer {finalizer}, whose controller is not known"
    if keeper.because:
        return f"finalizer {finalizer}: {keeper.because}"
    if any(name in running for name in keeper.workloads):
        return f"finalizer {finalizer}: {keeper.controller} has not taken it off yet"
    names = " or ".join(keeper.workloads)
    return (
        f"finalizer {finalizer}: {keeper.controller} ({names}) does not run; start it again, or "
        "take the finalizer off by hand if nothing is to be cleaned up"
    )
