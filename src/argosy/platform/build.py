"""Build one app with its engine: lay its inputs out, run kustomize or helm, hand back the text.

Schemas of CustomResourceDefinitions are kept from the engine (`argosy.platform.crds`); an app that
reaches into them is built again from the originals. Apps build apart, so nothing of one (such as
kustomize's `vars`) can leak into another.
"""

from __future__ import annotations

import posixpath
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argosy import yaml
from argosy.manifests import flatten, identity, split
from argosy.platform.charts import archive_of, check_chart_folder, refuse_unnamed, values_of
from argosy.platform.config import ConfigError
from argosy.platform.crds import SchemaStore, SchemaTouched, reaches_into_schemas
from argosy.platform.output import OutputError, identity_of
from argosy.platform.places import LOCAL
from argosy.sources.closure import PLAIN
from argosy.sources.engines import Tuning, build, template
from argosy.sources.errors import EngineError
from argosy.sources.lock import LockedTree
from argosy.sources.trees import DirTree
from argosy.sources.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from argosy.platform.inputs import Inputs
    from argosy.sources.blobs import BlobStore
    from argosy.sources.engines import Engine
    from argosy.sources.fetch import Fetcher
    from argosy.sources.lock import Lock

__all__ = ["RELEASE_NAMESPACE", "Builder", "Engines"]

RELEASE_NAMESPACE = "default"  # of a chart whose app names none, as helm has it

WRAPPERS = "_apps"  # where the kustomizations of argosy's own stand in a workspace
# Two builds at a time: kustomize's own garbage collection is a third of its time when it may
# not grow, and two of 300 MiB stay within 600 MiB (docs/performance.md).
TUNING = Tuning(gogc=400, memory_limit="280MiB")


@dataclass(frozen=True)
class Engines:
    """The engines in use; helm is None until an app needs it."""

    kustomize: Engine
    helm: Engine | None

    def versions(self) -> dict[str, str]:
        """Return name and version of each, for the index and for apps' inputs."""
        found = {"kustomize": self.kustomize.version}
        if self.helm:
            found["helm"] = self.helm.version
        return found


class Builder:
    """Builds apps in a folder of its own.

    Args:
        folder: an empty folder, the caller's to remove.
        root: the platform's directory.
        lock: the lock.
        blobs: where locked contents are.
        fetcher: for contents that are missing there.
        engines: kustomize, and helm where an app is a chart.
        kubernetes: the target's minor version, which charts are told.
        values: what stands for placeholders in Helm values.
        env: the user's environment.
    """

    def __init__(
        self,
        folder: Path,
        *,
        root: Path,
        lock: Lock,
        blobs: BlobStore,
        fetcher: Fetcher | None,
        engines: Engines,
        kubernetes: str,
        values: Mapping[str, str | int | float | bool],
        env: Mapping[str, str],
    ) -> None:
        self._folder = folder
        self._root = root
        self._lock = lock
        self._blobs = blobs
        self._fetcher = fetcher
        self._engines = engines
        self._kubernetes = kubernetes
        self._values = values
        self._env = env
        self._schemas = SchemaStore()
        self._reaching: set[tuple[str, str]] = set()
        self._light = self._space("light", cut=True)
        self._laid: set[tuple[str, str]] = set()

    async def build(self, inputs: Inputs) -> str:
        """Return the YAML documents of an app.

        Raises:
            EngineError: the engine failed; the message is its own, with the app and the file.
            LockError: content is missing or is not what was locked.
            DiskError: the disk is full.
        """
        if inputs.app.chart or inputs.place.kind == "chart":
            return await self._chart(inputs)
        if not self._is_kustomization(inputs):
            return self._plain(inputs)
        self._lay_out(self._light, inputs)
        reads = {(name, path) for name, found in inputs.reads.items() for path in found.files}
        if not reads & self._reaching:
            with suppress(SchemaTouched, EngineError):
                text = await self._kustomize(self._light, inputs)
                return self._schemas.restore(text)
        with _own_names():
            return await self._kustomize(self.whole(inputs), inputs)

    def whole(self, inputs: Inputs) -> Workspace:
        """Lay an app out with its schemas, in a workspace of its own, and return that."""
        space = self._space(f"whole-{inputs.app.name}", cut=False)
        for name, found in inputs.reads.items():
            if name == LOCAL:
                space.add_tree(name, DirTree(self._root, label="."), found)
            else:
                space.add(name, found.files)
        return space

    def wrap(self, space: Workspace, inputs: Inputs, *, metadata: tuple[str, ...] = ()) -> Path:
        """Return the folder to build: the app's own, or a wrapper that lays more over it.

        Args:
            space: where the app is laid out.
            inputs: the app.
            metadata: kustomize's `buildMetadata`, for provenance.
        """
        app, place = inputs.app, inputs.place
        if not (app.overlay or app.components or app.patches or metadata):
            return space.path(place.source, place.path)
        folder = f"{WRAPPERS}/{app.name}"

        def local(source: str, path: str) -> str:
            return posixpath.relpath(posixpath.join(source, path), folder)

        components = [local(place.source, path) for path in app.components]
        if app.overlay:
            components.append(local(LOCAL, posixpath.normpath(app.overlay)))
        wrapper = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [local(place.source, place.path)],
            "components": components,
            "patches": [
                {"target": p.target, "patch": p.patch, "options": p.options} for p in app.patches
            ],
            "buildMetadata": list(metadata),
        }
        if not self._is_folder_kustomization(inputs):
            self._list_files(space, inputs)
        filled = {key: value for key, value in wrapper.items() if value}
        return space.write(f"{folder}/kustomization.yaml", yaml.dump(filled)).parent

    async def _kustomize(self, space: Workspace, inputs: Inputs) -> str:
        helm = self._engines.helm if any(f.helm for f in inputs.reads.values()) else None
        return await build(
            self._engines.kustomize,
            self.wrap(space, inputs),
            env=self._env,
            root=space.dest,
            app=inputs.app.name,
            tuning=TUNING,
            helm=helm,
        )

    async def _chart(self, inputs: Inputs) -> str:
        if self._engines.helm is None:
            raise EngineError(f"{inputs.app.name}: helm is needed to render a chart")
        space, app, place = self.whole(inputs), inputs.app, inputs.place
        chart = archive_of(space.path(place.source, place.path))
        check_chart_folder(app, chart, place.path)
        told = values_of(app, self._root, self._values)
        folder = f"{WRAPPERS}/{app.name}"
        files = [space.write(f"{folder}/values-{n}.yaml", t) for n, t in enumerate(told.texts)]
        text = await template(
            self._engines.helm,
            chart,
            release=app.name,
            namespace=app.namespace or RELEASE_NAMESPACE,
            kube_version=f"{self._kubernetes}.0",
            values=files,
            env=self._env,
            app=app.name,
            tuning=TUNING,
            twice=True,
        )
        if not app.overlay:
            return text
        with _own_names():
            return await self._overlaid(space, inputs, text)

    async def _overlaid(self, space: Workspace, inputs: Inputs, text: str) -> str:
        """Lay the user's overlay over what a chart gave."""
        app = inputs.app
        folder = f"{WRAPPERS}/{app.name}"
        space.write(f"{folder}/chart.yaml", text)
        overlay = posixpath.join(LOCAL, posixpath.normpath(app.overlay))
        wrapper = {
            "resources": ["chart.yaml"],
            "components": [posixpath.relpath(overlay, folder)],
        }
        file = space.write(f"{folder}/kustomization.yaml", yaml.dump(wrapper))
        return await build(
            self._engines.kustomize,
            file.parent,
            env=self._env,
            root=space.dest,
            app=app.name,
            tuning=TUNING,
        )

    def _plain(self, inputs: Inputs) -> str:
        """Return the documents of a folder of YAML files, or of one file, as they are."""
        found = inputs.reads[inputs.place.source]
        refuse_unnamed(inputs.app, inputs.place.path, found.files)
        tree = (
            DirTree(self._root, label=".")
            if inputs.place.is_local
            else LockedTree(self._lock.get(inputs.place.source), self._blobs, fetcher=self._fetcher)
        )
        if inputs.place.is_local and not inputs.place.path:
            raise ConfigError(
                f"app {inputs.app.name!r}: the platform's own directory has no kustomization",
                where=inputs.app.where,
                hint="name a folder of it as 'path'",
            )
        files = [path for path in found.files if path.endswith(PLAIN)]
        texts = [_documents(tree.read(path), posixpath.join(tree.label, path)) for path in files]
        return "\n---\n".join(text.rstrip("\n") for text in texts) + "\n"

    def _is_kustomization(self, inputs: Inputs) -> bool:
        app = inputs.app
        layered = bool(app.overlay or app.components or app.patches)
        return layered or self._is_folder_kustomization(inputs)

    @staticmethod
    def _is_folder_kustomization(inputs: Inputs) -> bool:
        found = inputs.reads[inputs.place.source]
        return any(posixpath.dirname(file) == inputs.place.path for file in found.kustomizations)

    @staticmethod
    def _list_files(space: Workspace, inputs: Inputs) -> None:
        """Make a folder of plain YAML a kustomization, so that an overlay can be laid over it."""
        place = inputs.place
        files = [
            posixpath.relpath(path, place.path or ".")
            for path in inputs.reads[place.source].files
            if posixpath.dirname(path) == place.path and path.endswith(PLAIN)
        ]
        folder = posixpath.join(place.source, place.path)
        space.write(posixpath.join(folder, "kustomization.yaml"), yaml.dump({"resources": files}))

    def _lay_out(self, space: Workspace, inputs: Inputs) -> None:
        """Add what the workspace does not hold yet; many apps share files."""
        for name, found in inputs.reads.items():
            new = [path for path in found.files if (name, path) not in self._laid]
            self._laid.update((name, path) for path in new)
            if name == LOCAL:
                tree = DirTree(self._root, label=".")
                space.add_tree(name, tree, found._replace(files=tuple(new)))
            else:
                space.add(name, new)

    def _space(self, name: str, *, cut: bool) -> Workspace:
        return Workspace(
            self._folder / name,
            self._lock,
            blobs=self._blobs,
            fetcher=self._fetcher,
            transform=self._cut if cut else None,
        )

    def _cut(self, source: str, path: str, content: bytes) -> bytes | None:
        light = self._schemas.cut(content)
        if reaches_into_schemas(content if light is None else light):
            self._reaching.add((source, path))
        return light


@contextmanager
def _own_names() -> Iterator[None]:
    """Call files of the platform's directory in an engine's message what the user calls them."""
    try:
        yield
    except EngineError as error:
        where = str(error.where).removeprefix(f"{LOCAL}/") if error.where else None
        message = error.message.replace(f"'{LOCAL}/", "'")
        raise EngineError(message, where=where, hint=error.hint) from error


def _documents(content: bytes, file: str) -> str:
    """Return a file of plain YAML; what is wrong with it is said with its name and line.

    Raises:
        OutputError: it is not UTF-8 text.
        UsageError: a document of it is no object.
    """
    file = file.removeprefix("./")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OutputError(f"byte {error.start} is not UTF-8 text", where=file) from error
    for document in split(text, file=file):
        if identity_of(document) is None:
            for item in flatten([document.object()]):
                identity(item, where=document.where)
    return text
