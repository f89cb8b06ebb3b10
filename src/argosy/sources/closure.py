"""Which files a build will read, without building: the closure of what kustomizations name.

`closure` starts at folders or files of one tree and follows every field of a kustomization that
names something; remote references are collected, not fetched. Symbolic links inside the tree are
followed and reported; whatever leaves the tree, is missing, or is no plain file is refused with
the line that names it.
"""

from __future__ import annotations

import hashlib
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from argosy.sources.errors import KustomizationError, PathError
from argosy.sources.kustomization import (
    Kustomization,
    Reference,
    plugin_references,
    read_kustomization,
)
from argosy.sources.paths import clean, collisions, join
from argosy.sources.remote import FileRef, GitRef, is_remote, parse_remote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.errors import Location
    from argosy.sources.trees import Kind, Tree

__all__ = ["PLAIN", "Closure", "Met", "closure", "closure_digest", "merkle"]

PLAIN = (".yaml", ".yml", ".json")  # what kubectl takes from a folder
LINK_HOPS = 40  # what Linux follows before it says ELOOP


class Met(NamedTuple):
    """A remote reference met in a kustomization: what, in which file, at which field."""

    ref: GitRef | FileRef
    file: str
    at: tuple[str | int, ...]
    where: Location


class Closure(NamedTuple):
    """What a build reads: files, links passed on the way, and remotes still to be fetched."""

    files: tuple[str, ...]
    links: dict[str, str]
    kustomizations: tuple[str, ...]
    remotes: tuple[Met, ...]
    helm: bool = False


def closure(tree: Tree, starts: Iterable[str]) -> Closure:
    """Return everything that building `starts` reads.

    Args:
        tree: where the files are.
        starts: kustomization folders, chart folders (taken whole), YAML files, or folders of
            YAML files.

    Raises:
        KustomizationError: a kustomization is wrong or names what is not there.
        PathError: a path leaves the tree, or names something that is not a plain file.
    """
    walk = _Walk(tree)
    for start in starts:
        walk.start(start)
    files = tuple(sorted(walk.files))
    for one, other in collisions([*files, *walk.links]):
        raise PathError(
            f"{tree.label} has both {one} and {other}, which are one file on some systems"
        )
    return Closure(
        files,
        dict(sorted(walk.links.items())),
        tuple(sorted(walk.kustomizations)),
        tuple(walk.remotes),
        walk.helm,
    )


def closure_digest(tree: Tree, found: Closure) -> str:
    """Return one digest over the closure's paths and contents, wherever it was read."""
    return merkle({path: tree.sha256(path) for path in found.files}, found.links)


def merkle(files: dict[str, str], links: dict[str, str]) -> str:
    """Return the digest of files (path to sha256) and links (path to target).

    File modes are left out: kustomize and helm do not look at them, and a mirror that was
    carried on a medium without them has to give the same digest.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(f"file {path}\0{content}\n".encode())
    for path, target in sorted(links.items()):
        digest.update(f"link {path}\0{target}\n".encode())
    return digest.hexdigest()


class _Walk:
    """One walk through a tree; keeps what it has seen."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files: set[str] = set()
        self.links: dict[str, str] = {}
        self.kustomizations: set[str] = set()
        self.remotes: list[Met] = []
        self.helm = False
        self._folders: set[str] = set()
        self._real: dict[str, str] = {"": ""}

    def start(self, path: str) -> None:
        """Take what an app names as its place in the tree."""
        place, kind = self._locate(clean(path), None)
        if kind == "file":
            self.files.add(place)
        elif kind != "dir":
            raise KustomizationError(f"there is no {path or '.'} in {self.tree.label}")
        elif not self._kustomization(place):
            self._plain(place)

    def _plain(self, folder: str) -> None:
        """Take a folder without kustomization: a chart whole, else its YAML files."""
        if self.tree.kind(_under(folder, "Chart.yaml")) == "file":
            self._whole(folder)
            return
        names = [name for name in self.tree.list(folder) if name.endswith(PLAIN)]
        for name in names:
            place, kind = self._locate(_under(folder, name), None)
            if kind == "file":
                self.files.add(place)
        if not names:
            raise KustomizationError(
                f"{self.tree.label}/{folder} has no kustomization, no Chart.yaml and no YAML files"
            )

    def _whole(self, folder: str) -> None:
        for name in self.tree.list(folder):
            place, kind = self._locate(_under(folder, name), None)
            if kind == "dir":
                self._whole(place)
            else:
                self.files.add(place)

    def _kustomization(self, folder: str) -> bool:
        """Walk a kustomization folder; say whether it is one."""
        if folder in self._folders:
            return True
        found = read_kustomization(self.tree, folder)
        if found is None:
            return False
        self._folders.add(folder)
        self.files.add(found.file)
        self.kustomizations.add(found.file)
        for reference in found.references:
            self._follow(found, reference, reference.at)
        return True

    def _follow(
        self, found: Kustomization, reference: Reference, at: tuple[str | int, ...]
    ) -> None:
        if is_remote(reference.value):
            where = found.where(at)
            met = parse_remote(reference.value, where=where)
            self.remotes.append(Met(met, found.file, at, where))
            return
        try:
            path = join(found.dir, reference.value)
            place, kind = self._locate(path, None)
        except PathError as error:
            raise PathError(error.message, where=found.where(at), hint=error.hint) from None
        if reference.what == "chart":
            self._chart(found, place, kind, at)
        elif kind == "file" and reference.what != "dir":
            self.files.add(place)
            if reference.what == "plugin":
                self._plugin(found, place, at)
        elif kind == "dir" and reference.what != "file":
            if not self._kustomization(place):
                raise KustomizationError(
                    f"{reference.value} is a folder without kustomization", where=found.where(at)
                )
        else:
            wanted = {"file": "file", "dir": "folder"}.get(reference.what, "file or folder")
            raise KustomizationError(
                f"names the {wanted} {reference.value}, which is not there", where=found.where(at)
            )

    def _plugin(self, found: Kustomization, place: str, at: tuple[str | int, ...]) -> None:
        shown = f"{self.tree.label}/{place}"
        for inner in plugin_references(self.tree.read(place), file=shown):
            self._follow(found, inner, at)

    def _chart(
        self, found: Kustomization, place: str, kind: Kind | None, at: tuple[str | int, ...]
    ) -> None:
        self.helm = True
        home, _, name = place.rpartition("/")
        entry = found.data.get(str(at[0]), [])[at[1]] if at[0] == "helmCharts" else {}
        version = entry.get("version") if isinstance(entry, dict) else None
        # Kustomize pulls a chart with a version into <chartHome>/<name>-<version>/<name>.
        pulled = _under(_under(home, f"{name}-{version}"), name)
        if kind == "dir":
            self._whole(place)
        elif version and self.tree.kind(pulled) == "dir":
            self._whole(pulled)
        else:
            raise KustomizationError(
                f"the chart {name} is not in the tree, and a build fetches nothing",
                where=found.where(at),
                hint="keep the chart in chartHome, or make it an app of its own with a helm source",
            )

    def _locate(self, path: str, hops: int | None) -> tuple[str, Kind | None]:
        """Return the real place of a path, following links inside the tree."""
        folder, _, name = path.rpartition("/")
        real = self._real.get(folder)
        if real is None:
            real, kind = self._locate(folder, hops)
            if kind != "dir":
                return path, None
            self._real[folder] = real
        place = _under(real, name) if name else real
        kind = self.tree.kind(place)
        if kind == "link":
            return self._through(place, (hops or 0) + 1)
        if kind in {"special", "submodule"}:
            what = "a git submodule" if kind == "submodule" else "not a plain file"
            raise PathError(f"{self.tree.label}/{place} is {what}")
        return place, kind

    def _through(self, place: str, hops: int) -> tuple[str, Kind | None]:
        target = self.tree.target(place)
        if hops > LINK_HOPS:
            raise PathError(f"{self.tree.label}/{place} is a link that leads around in a circle")
        try:
            goal = join(posixpath.dirname(place), target)
        except PathError as error:
            raise PathError(
                f"{self.tree.label}/{place} is a link to {target}: {error.message}"
            ) from None
        self.links[place] = target
        return self._locate(goal, hops)


def _under(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
