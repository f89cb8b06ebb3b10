"""Say why an app is in the platform, and what argosy itself lays over upstream's build of it.

Pure but for reading the catalogue beside this module. What upstream's kustomizations do is blamed
in `explain_blame`; here are the lines behind them: components, the user's overlay, what the
catalogue mends, namespaces, values of placeholders, and the rules by which secrets are made.
"""

from __future__ import annotations

import posixpath
from importlib import resources
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.manifests import Match
from argosy.platform.catalogue import PREFIX
from argosy.platform.explain_directives import NEVER, SURE, Answer, Directive, Edit
from argosy.platform.explain_model import Spot
from argosy.platform.explain_patches import Body, patch_text_directives
from argosy.platform.placeholders import keys_in, substitute
from argosy.platform.places import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from argosy.platform.apps import App, Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.platform.explain_blame import Blame
    from argosy.platform.explain_graph import Graph
    from argosy.platform.places import Place
    from argosy.secrets.rules import Follow, SecretRule
    from argosy.sources.lock import Lock

__all__ = ["Layers", "asked_at", "place_in"]

ARGOSY = "argosy"  # the source's name for the catalogue


class Layers:
    """What is laid over an app's own kustomization.

    Args:
        app: the app.
        loaded: the configuration.
        selection: its apps.
    """

    def __init__(self, app: App, loaded: LoadedPlatform, selection: Selection) -> None:
        self._app = app
        self._loaded = loaded
        self._release = selection.release.release if selection.release else ""
        self._marked: yaml.Marked | None = None

    @property
    def any(self) -> bool:
        """Say whether kustomize lays anything over the app's own kustomization."""
        return bool(self._app.overlay or self._app.components or self._app.patches)

    def fill(self, value: Any) -> Any:
        """Put the platform's values in the place of placeholders."""
        return substitute(value, self._loaded.platform.values)

    def lines(self, graph: Graph, blame: Blame, place: Place) -> list[Directive]:
        """Return what stands over the app, in its order."""
        app = self._app
        found: list[Directive] = []
        overlay = [(LOCAL, posixpath.normpath(app.overlay))] if app.overlay else []
        for source, path in [*((place.source, path) for path in app.components), *overlay]:
            level = graph.level(source, path)
            found += blame.lines(level) if level else []
        for index, patch in enumerate(app.patches):
            where = self.catalogued("patches", index, "patch")
            body = Body(patch.patch, where._replace(line=where.line + 1), None)
            told = " ".join(patch.why.split())
            found += patch_text_directives(body, patch.target, what="mend", said=told)
        if app.namespace:
            where = Spot.of(app.where) if app.where else Spot("", "platform.yaml")
            said = f"namespace: {app.namespace}"
            found.append(Directive("namespace", where, said, _namespace(app.namespace)))
        found += [one for key in self._loaded.platform.values if (one := self.value(key))]
        for number, rule in enumerate(app.secrets):
            for key, made in rule.keys.items():
                where = self.catalogued("secrets", number, "keys", key)
                said = f"{_made(rule, key)}: {made.why}"
                found.append(Directive("secret", where, said, _secret(rule, key)))
            for index, follow in enumerate(rule.follow):
                where = self.catalogued("secrets", number, "follow", index)
                said = f"taken from key {follow.key} of Secret {rule.name}: {follow.why}"
                found.append(Directive("secret", where, said, _follow(follow)))
        return found

    def value(self, key: str) -> Directive | None:
        """Return the line that gives a placeholder its value; None when none does."""
        if key not in self._loaded.platform.values:
            return None
        where = Spot.of(self._loaded.where("values", key))
        said = f"{key}: {self._loaded.platform.values[key]}"
        return Directive("value", where, said, self._value(key))

    def catalogued(self, *steps: str | int) -> Spot:
        """Return a line of the app in the catalogue."""
        name = f"{PREFIX}{self._release}.yaml"
        if self._marked is None:
            file = resources.files("argosy.platform.catalogue") / name
            self._marked = yaml.load_marked(file.read_text(encoding="utf-8"), file=name)
        line = self._marked.where(("apps", self._app.name, *steps), key=True).line
        return Spot(ARGOSY, f"catalogue/{name}", line)

    def _value(self, key: str) -> Callable[[Edit], Answer]:
        def answer(edit: Edit) -> Answer:
            old = edit.change.old
            if not isinstance(old, str) or key not in keys_in(old):
                return NEVER
            return Answer(SURE) if str(self.fill(old)) == str(edit.change.new) else NEVER

        return answer


def asked_at(app: App, loaded: LoadedPlatform) -> Spot | None:
    """Return the line of the configuration that asks for an app; None for what came along."""
    include = loaded.platform.apps.include
    if include is not None and app.name in include:
        return Spot.of(loaded.where("apps", "include", include.index(app.name)))
    if app.where is None:
        return None
    if include is None and loaded.platform.kubeflow and app.name not in _added(loaded):
        return Spot.of(loaded.where("kubeflow"))
    return Spot.of(app.where)


def place_in(lock: Lock, source: str, file: str, line: int) -> Spot:
    """Return a place in a source, with a link where it is on GitHub."""
    if source == LOCAL:
        return Spot("", file, line)
    locked = lock.sources.get(source)
    url = ""
    if locked is not None and locked.kind == "file":
        url = locked.url
    elif locked is not None and locked.url.startswith("https://github.com/"):
        repository = locked.url.removesuffix(".git")
        fragment = f"#L{line}" if line else ""
        url = f"{repository}/blob/{locked.commit or locked.ref}/{file}{fragment}"
    return Spot(source, file, line, url)


def _added(loaded: LoadedPlatform) -> set[str]:
    return {added.name for added in loaded.platform.apps.add}


def _made(rule: SecretRule, key: str) -> str:
    words = {
        "Keep": "upstream's value stays",
        "Random": "made at random",
        "RandomBytes": "made at random",
        "Copy": "copied from another Secret",
        "Bcrypt": "the hash of a password made at random",
    }
    return words[type(rule.keys[key]).__name__]


def _namespace(value: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        mine = edit.change.path == "metadata.namespace" and edit.change.new == value
        return Answer(SURE) if mine else NEVER

    return answer


def _secret(rule: SecretRule, key: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        covered = any(
            (id_.group, id_.kind) == ("", "Secret") and rule.covers(id_.namespace, id_.name)
            for id_ in edit.ids
        )
        return Answer(SURE) if covered and edit.keys[:2] == ("data", key) else NEVER

    return answer


def _follow(follow: Follow) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        named = any(
            id_ == (follow.group, follow.kind, follow.namespace, follow.name) for id_ in edit.ids
        )
        held = [dict(part.fields).get("name") for part in edit.path if isinstance(part, Match)]
        if not named or follow.env not in held:
            return NEVER
        return Answer(SURE if follow.container in held else 1)

    return answer
