"""Keep Secrets with data out of the rendered tree: values made anew, in the ignored folder.

The tree is the same on every machine; what differs is the store (`argosy.secrets`). A workload
that has to learn a new value is rendered with a reference to its Secret.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from argosy import yaml
from argosy.manifests import ObjectId, identity
from argosy.platform.tree import TreeError, file_name, load_rendered, read_index
from argosy.secrets.externalise import externalise, workloads
from argosy.secrets.store import store_for
from argosy.secrets.values import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from argosy.manifests import Manifest
    from argosy.platform.apps import Selection
    from argosy.platform.model import RenderedPlatform
    from argosy.platform.output import AppOutput
    from argosy.platform.tree import IndexedApp
    from argosy.secrets.values import Credential, Left

__all__ = ["Taken", "Withheld", "load_with_secrets", "secret_names"]


@dataclass(frozen=True)
class Taken:
    """What came of taking Secrets out.

    Attributes:
        outputs: the apps' objects without Secrets, workloads told where their values are.
        credentials: generated logins that are new; say once where they are kept.
        left: keys whose value stands in public or in the sources.
    """

    outputs: dict[str, AppOutput]
    credentials: tuple[Credential, ...]
    left: tuple[Left, ...]


class Withheld:
    """The Secrets of an environment.

    Args:
        root: the directory that holds the rendered tree.
        env: the environment.
    """

    def __init__(self, root: Path, env: str) -> None:
        self.store = store_for(root, env)

    def has(self, names: Iterable[str]) -> bool:
        """Say whether the store holds Secrets, named as in the index (`namespace/name`)."""
        return self.store.holds(names)

    def files(self, apps: Mapping[str, IndexedApp]) -> list[tuple[str, Path]]:
        """Return (app, file) of each Secret that the index names and the store holds."""
        by_name = {file.stem: file for file in self.store.folder.glob("*_*.yaml")}
        return [
            (app, by_name[name.replace("/", "_")])
            for app, entry in apps.items()
            for name in entry.secrets
            if name.replace("/", "_") in by_name
        ]

    def take(self, outputs: Mapping[str, AppOutput], selection: Selection) -> Taken:
        """Move the Secrets of built apps into the store and return what is left to render.

        Raises:
            SecretError: a Secret's values cannot be read, or its name is unusable.
            StoreError: the store cannot be read or written.
        """
        rules = [rule for app in selection.apps.values() for rule in app.secrets]
        told = {file_name(ObjectId(*workload)) for workload in workloads(rules)}
        objects: list[Manifest] = []
        homes: dict[str, tuple[str, str]] = {}
        for app, output in outputs.items():
            objects += output.secrets
            for name in output.files.keys() & told:
                parsed = yaml.load(output.files[name], file=name)
                homes[str(identity(parsed))] = (app, name)
                objects.append(parsed)
        done = externalise(objects, rules, self.store)
        changed = {app: dict(output.files) for app, output in outputs.items()}
        before = {id(obj) for obj in objects}
        for obj in done.kept:
            if id(obj) not in before:
                app, name = homes[str(identity(obj))]
                changed[app][name] = yaml.dump(obj)
        finished = {app: replace(out, files=changed[app]) for app, out in outputs.items()}
        return Taken(finished, tuple(done.credentials), tuple(done.left))


def load_with_secrets(root: Path, env: str) -> RenderedPlatform:
    """Read a rendered tree together with the Secrets that the store holds for it.

    Raises:
        TreeError: there is no tree, a file of it is missing, or a Secret that it names is not on
            this machine.
    """
    index = read_index(root, env)
    withheld = Withheld(root, env)
    for app, entry in (index.apps if index else {}).items():
        for name in entry.secrets:
            if not withheld.has([name]):
                raise TreeError(
                    f"Secret {name} of app {app} is not on this machine",
                    hint=f"run `argosy render` to make it in {withheld.store.folder}, or bring "
                    "the folder over from where the platform was rendered",
                )
    return load_rendered(root, env, secrets=withheld.files(index.apps) if index else ())


def secret_names(output: AppOutput) -> tuple[str, ...]:
    """Return the Secrets that an app's output left out, as the index names them."""
    return tuple(sorted(str(name_of(secret)) for secret in output.secrets))
