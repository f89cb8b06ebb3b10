"""Refuse references that move: what is rendered today has to be there tomorrow.

Refused unless waived with a reason: branches, HEAD, `latest`, a missing ref, version ranges of
charts, files of a release called latest or of a branch. The refusal names the place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from argosy.sources.errors import LockError
from argosy.sources.fetch import label_of
from argosy.sources.remote import ChartRef, FileRef, GitRef, remote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from argosy.errors import Location
    from argosy.sources.fetch import Resolved
    from argosy.sources.remote import Remote

__all__ = ["Waiver", "is_waived", "refuse_branch", "refuse_moving"]

MOVING = {"head", "latest", "main", "master", "develop", "trunk"}
_RANGE = re.compile(r"[\^~*<>=|,\s]|(^|\.)[xX](\.|$)")
_HOW = "pin a tag or a commit, or waive it with a reason"


class Waiver(NamedTuple):
    """A source (its name in the lock, or its URL) that may move, and why."""

    source: str
    reason: str


def is_waived(name: str, ref: Remote, waivers: Sequence[Waiver]) -> bool:
    """Say whether a source is waived: by its name, its URL, or its name in the lock."""
    url = ref.url if isinstance(ref, FileRef) else ref.repo
    return any(waiver.source in {name, url, remote_name(ref)} for waiver in waivers)


def refuse_moving(ref: Remote, where: Location | None) -> None:
    """Refuse what can be seen to move without asking anybody.

    Raises:
        LockError: it moves.
    """
    match ref:
        case GitRef(ref=None | ""):
            raise LockError(
                f"{label_of(ref)} names no ref, so it follows the default branch",
                where=where,
                hint=_HOW,
            )
        case GitRef(ref=str(text)) if text.lower() in MOVING or text.startswith("refs/heads/"):
            raise LockError(f"{label_of(ref)} moves", where=where, hint=_HOW)
        case FileRef():
            parts = urlsplit(ref.url).path.split("/")
            moving = "latest" in parts[:-1]
            if urlsplit(ref.url).hostname == "raw.githubusercontent.com" and len(parts) > 3:
                moving = moving or parts[3].lower() in MOVING
            if moving:
                raise LockError(f"{ref.url} moves", where=where, hint="pin a release or a commit")
        case ChartRef() if not ref.version or ref.version == "latest" or _RANGE.search(ref.version):
            raise LockError(
                f"the chart {ref.chart} asks for version {ref.version or '(none)'}, which moves",
                where=where,
                hint="pin one version, or waive it with a reason",
            )
        case _:
            pass


def refuse_branch(ref: Remote, resolved: Resolved, where: Location | None) -> None:
    """Refuse what turned out to be a branch.

    Raises:
        LockError: it is one.
    """
    if resolved.kind == "branch":
        raise LockError(f"{label_of(ref)} is a branch, which moves", where=where, hint=_HOW)
