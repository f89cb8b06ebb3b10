"""Where sources come from: the protocol of fetchers, and the one that reads a mirror.

A mirror is a folder laid out `<host>/<org>/<repo>/<ref>/…`, release assets at
`<host>/<org>/<repo>/releases/download/<tag>/<file>`, any other file at `<host>/<path>`, charts at
`<host>/<path>/<chart>-<version>.tgz`. Beside a ref's folder, `<ref>.commit` may hold the commit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from argosy.sources.errors import FetchError
from argosy.sources.remote import FileRef, GitRef, remote_name
from argosy.sources.trees import DirTree, MemoryTree

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.errors import Location
    from argosy.sources.remote import Remote
    from argosy.sources.trees import Tree

__all__ = ["COMMIT", "HERE", "Fetcher", "Mirror", "Resolved", "label_of"]

HERE = {"localhost", "127.0.0.1", "::1"}  # what may be spoken to without TLS
COMMIT = re.compile(r"[0-9a-f]{40}\Z")


class Resolved(NamedTuple):
    """What a ref is: its commit where known, and whether it moves.

    `kind` is "unknown" where nobody can say, as for a mirror without record.
    """

    commit: str | None
    kind: Literal["tag", "branch", "commit", "fixed", "unknown"]


class Fetcher(Protocol):
    """Gives trees for references."""

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return the commit that a reference stands for now.

        Raises:
            FetchError: the source cannot be reached, or has no such ref.
        """

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the files of a reference, at `commit` when it is known.

        A file or chart is a tree of one file, named by the last part of its `remote_name`.

        Raises:
            FetchError: the source cannot be reached, or does not have it.
        """


def label_of(ref: Remote) -> str:
    """Return how messages call a source: "kubeflow/manifests@26.03"."""
    name = remote_name(ref)
    if isinstance(ref, GitRef):
        path = name.removesuffix(f"/{ref.ref or 'HEAD'}").partition("/")[2]
        return f"{path}@{ref.ref}" if ref.ref else path
    return name


class Mirror:
    """A folder that stands for the network.

    Args:
        root: the folder that holds the hosts' folders; the folder of one host
            (`…/github.com`) is understood too.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise FetchError(f"there is no mirror folder {root}")
        self.root = root

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return what the mirror recorded about a reference.

        Raises:
            FetchError: the mirror does not have it.
        """
        place = self._place(ref, where)
        if not isinstance(ref, GitRef):
            return Resolved(None, "fixed")
        if ref.ref and COMMIT.match(ref.ref):
            return Resolved(ref.ref, "commit")
        record = place.parent / f"{place.name}.commit"
        if not record.is_file():
            return Resolved(None, "unknown")
        commit = record.read_text(encoding="utf-8", errors="replace").strip()
        if not COMMIT.match(commit):
            raise FetchError(
                "the mirror's record is not a commit", where=str(record), hint="remove the file"
            )
        return Resolved(commit, "unknown")

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the mirror's files of a reference.

        Raises:
            FetchError: the mirror does not have it, or recorded another commit.
        """
        place = self._place(ref, where)
        if not isinstance(ref, GitRef):
            return MemoryTree({place.name: place.read_bytes()}, label=label_of(ref))
        recorded = self.resolve(ref, where=where).commit
        if commit and recorded and commit != recorded:
            raise FetchError(
                f"the mirror has commit {recorded[:12]} of {label_of(ref)}, not {commit[:12]}",
                where=where,
                hint="renew the mirror, or run `argosy lock` to take what it has",
            )
        return DirTree(place, label=label_of(ref))

    def _place(self, ref: Remote, where: Location | None) -> Path:
        name = remote_name(ref)
        place = self.root / name
        host, _, rest = name.partition("/")
        if not place.exists() and self.root.name == host:
            place = self.root / rest
        if place.is_dir() if isinstance(ref, GitRef) else place.is_file():
            if self.root.resolve() not in place.resolve().parents:
                raise FetchError(f"{place} leads out of the mirror", where=where)
            return place
        what = ref.url if isinstance(ref, FileRef) else label_of(ref)
        raise FetchError(
            f"the mirror {self.root} does not have {what}",
            where=where,
            hint=f"it would be {self.root / name}",
        )
