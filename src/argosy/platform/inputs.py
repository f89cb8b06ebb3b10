"""Say what an app's build reads, and give it one digest.

Same digest, same output: the locked files of the app and of the remotes that it reaches, the
user's overlay and values files, what the catalogue mends, the engines' versions and the version
of this code's own output. Values of placeholders are kept apart, since which of them an app uses
is known only after it was built once.
"""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.platform.places import LOCAL, place_of
from argosy.sources.closure import closure_digest
from argosy.sources.lock import app_closure, app_digest, tree_closure
from argosy.sources.trees import DirTree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.platform.places import Place
    from argosy.sources.blobs import BlobStore
    from argosy.sources.closure import Closure
    from argosy.sources.fetch import Fetcher
    from argosy.sources.lock import Lock

__all__ = ["Inputs", "InputsReader"]

OUTPUT = 1  # raised when the same inputs come to give other bytes; then everything is built anew


@dataclass(frozen=True)
class Inputs:
    """What one app's build reads.

    Attributes:
        app: the app.
        place: where its files come from.
        digest: over everything below and the app's own configuration.
        reads: by source name in the lock, the files; LOCAL for the platform's directory.
    """

    app: App
    place: Place
    digest: str
    reads: dict[str, Closure]


class InputsReader:
    """Finds apps' inputs; remembers on disk what a lock's apps read, since that never changes.

    Args:
        loaded: the configuration.
        selection: its apps.
        lock: the lock.
        cache: the cache's root.
        blobs: where locked contents are.
        fetcher: for contents that are missing there.
        engines: name and version of each engine in use.
    """

    def __init__(
        self,
        loaded: LoadedPlatform,
        selection: Selection,
        *,
        lock: Lock,
        cache: Path,
        blobs: BlobStore,
        fetcher: Fetcher | None,
        engines: Mapping[str, str],
    ) -> None:
        self._loaded = loaded
        self._selection = selection
        self._lock = lock
        self._blobs = blobs
        self._fetcher = fetcher
        self._engines = dict(engines)
        self._own = DirTree(loaded.root, label=".")
        self._memo_file = cache / "inputs" / f"{lock.digest}.json"
        self._memo = _read_memo(self._memo_file)
        self._remembered = len(self._memo)

    def digest(self, app: App) -> str:
        """Return the digest of an app's inputs.

        Raises:
            ArgosyError: as for `read`.
        """
        place = place_of(app, self._loaded, self._selection)
        key = _memo_key(app, place)
        upstream = self._memo.get(key)
        if upstream is None or place.is_local:
            return self.read(app).digest
        own = self._own_digest(self._overlay(app))
        return self._whole(app, upstream, own)

    def read(self, app: App) -> Inputs:
        """Return what an app's build reads.

        Raises:
            LockError: the lock does not cover the app.
            UsageError: a kustomization or a path is wrong.
        """
        place = place_of(app, self._loaded, self._selection)
        reads: dict[str, Closure] = {}
        for path in (place.path, *app.components):
            self._add(reads, self._closure(place, path))
        upstream = app_digest(self._lock, {k: v for k, v in reads.items() if k != LOCAL})
        self._memo[_memo_key(app, place)] = upstream
        overlay = self._overlay(app)
        self._add(reads, overlay)
        own = self._own_digest({**overlay, LOCAL: reads[LOCAL]} if LOCAL in reads else overlay)
        return Inputs(app, place, self._whole(app, upstream, own), reads)

    def remember(self) -> None:
        """Keep on disk what was found; failing to is no harm."""
        if len(self._memo) == self._remembered:
            return
        try:
            self._memo_file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._memo_file.with_suffix(".tmp")
            temporary.write_bytes(msgspec.json.encode(self._memo))
            temporary.replace(self._memo_file)
        except OSError:
            return

    def _closure(self, place: Place, path: str) -> dict[str, Closure]:
        if place.is_local:
            return tree_closure(self._lock, LOCAL, self._own, path, self._blobs, self._fetcher)
        return app_closure(self._lock, place.source, path, blobs=self._blobs, fetcher=self._fetcher)

    def _overlay(self, app: App) -> dict[str, Closure]:
        if not app.overlay:
            return {}
        path = posixpath.normpath(app.overlay)
        return tree_closure(self._lock, LOCAL, self._own, path, self._blobs, self._fetcher)

    def _own_digest(self, reads: Mapping[str, Closure]) -> str:
        """Digest the user's files, and the locked files that only their kustomizations reach."""
        remote = {name: found for name, found in reads.items() if name != LOCAL}
        own = closure_digest(self._own, reads[LOCAL]) if LOCAL in reads else ""
        return own + (app_digest(self._lock, remote) if remote else "")

    def _whole(self, app: App, upstream: str, own: str) -> str:
        values = {file: self._own.sha256(posixpath.normpath(file)) for file in app.values_files}
        parts: list[Any] = [
            OUTPUT,
            upstream,
            own,
            values,
            self._engines,
            self._selection.kubernetes if app.chart else "",
            [app.name, app.path, app.chart, app.version, dict(app.values), app.namespace],
            list(app.patches),
            list(app.secrets),
            app.overlay,
        ]
        encoded = msgspec.json.encode(parts, order="deterministic")
        return hashlib.sha256(encoded).hexdigest()

    @staticmethod
    def _add(reads: dict[str, Closure], more: Mapping[str, Closure]) -> None:
        for name, found in more.items():
            before = reads.get(name)
            reads[name] = found if before is None else _union(before, found)


def _union(one: Closure, other: Closure) -> Closure:
    return one._replace(
        files=tuple(sorted({*one.files, *other.files})),
        links={**one.links, **other.links},
        kustomizations=tuple(sorted({*one.kustomizations, *other.kustomizations})),
        remotes=tuple(dict.fromkeys([*one.remotes, *other.remotes])),
        helm=one.helm or other.helm,
    )


def _memo_key(app: App, place: Place) -> str:
    return " ".join([place.source, place.path, *app.components])


def _read_memo(file: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
