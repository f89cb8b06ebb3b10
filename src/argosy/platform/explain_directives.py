"""Say which lines of a kustomization could have changed an object, and which of them did.

Pure. A directive is asked, change by change, whether what stands there is what came out: a value
that is found under a line is proof enough, a line that reaches the field without giving it this
value is kept as the likeliest. Patches have a module of their own (`explain_patches`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.manifests import Match, parse_path
from argosy.platform.explain_graph import HASH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from argosy.manifests import Change, Manifest, ObjectId, Segment
    from argosy.platform.explain_graph import Level
    from argosy.platform.explain_model import Spot

__all__ = [
    "LIKELY",
    "NO",
    "SURE",
    "Answer",
    "Directive",
    "Edit",
    "directives",
    "key_of_generator",
    "late",
]

NO, LIKELY, SURE = 0, 1, 2


class Answer(NamedTuple):
    """Whether a directive made a change.

    Attributes:
        score: NO, LIKELY or SURE.
        where: the line, when it is known better than the directive's own.
        raw: the value that stands there, placeholders unfilled.
    """

    score: int
    where: Spot | None = None
    raw: Any = None


NEVER = Answer(NO)


@dataclass(frozen=True)
class Edit:
    """One change at one level.

    Attributes:
        change: what changed.
        path: the change's path, as segments.
        ids: what the object is called before, at its origin and behind.
        before: the object before the level.
        fill: puts the platform's values in the place of placeholders.
        was: the change's path before, "" when it is the same.
    """

    change: Change
    ids: tuple[ObjectId, ...]
    before: Manifest = field(repr=False)
    fill: Callable[[Any], Any] = field(repr=False)
    was: str = ""

    @property
    def old_path(self) -> tuple[Segment, ...]:
        """The path before, where an item of a list has another name now."""
        return parse_path(self.was) if self.was else self.path

    @property
    def path(self) -> tuple[Segment, ...]:
        """The change's path as segments."""
        return parse_path(self.change.path)

    @property
    def keys(self) -> tuple[str, ...]:
        """The path's keys, without indexes and matches."""
        return tuple(part for part in self.path if isinstance(part, str))


class Directive(NamedTuple):
    """One line of configuration.

    Attributes:
        what: the kind of transform.
        where: its line.
        said: what stands there.
        answer: says whether it made a change.
        via: the line that names it.
        level: the kustomization that it belongs to.
        meant: says whether it is for an object of some names; None when it is for every one.
    """

    what: str
    where: Spot
    said: str
    answer: Callable[[Edit], Answer]
    via: Spot | None = None
    level: str = ""
    meant: Callable[[tuple[ObjectId, ...]], bool] | None = None


def directives(level: Level, spot: Callable[[Level, Sequence[str | int]], Spot]) -> list[Directive]:
    """Return what a kustomization does besides patching, in the order in which it does it.

    Args:
        level: the kustomization.
        spot: returns the place of one of its lines.
    """

    def at(what: str, steps: Sequence[str | int], said: str, answer: Any) -> Directive:
        return Directive(what, spot(level, steps), said, answer, level=level.file.file)

    data = level.data
    found: list[Directive] = []
    for name in ("configMapGenerator", "secretGenerator"):
        for index, entry in enumerate(_entries(data, name)):
            found += _generator(level, name, index, entry, spot)
    if data.get("namespace"):
        value = str(data["namespace"])
        found.append(at("namespace", ("namespace",), f"namespace: {value}", _namespace(value)))
    for key, answer in (("namePrefix", _prefix), ("nameSuffix", _suffix)):
        if data.get(key):
            found.append(at(key, (key,), f"{key}: {data[key]}", answer(str(data[key]))))
    for what, kind, steps, name, value in _labelled(data):
        found.append(at(what, steps, f"{name}: {value}", _pair(kind, name, value)))
    for index, entry in enumerate(_entries(data, "replicas")):
        said = f"{entry.get('name')}: {entry.get('count')}"
        found.append(at("replicas", ("replicas", index), said, _replicas(entry)))
    for index, entry in enumerate(_entries(data, "images")):
        found.append(at("images", ("images", index), _image_said(entry), _image(entry)))
    return found


Labelled = tuple[str, str, tuple[str | int, ...], str, str]


def _labelled(data: dict[str, Any]) -> Iterator[Labelled]:
    """Yield each label and annotation that a kustomization sets, with its place."""
    options = data.get("generatorOptions")
    for kind in ("labels", "annotations"):
        for name, value in _pairs(options.get(kind) if isinstance(options, dict) else None):
            yield "generatorOptions", kind, ("generatorOptions", kind, name), name, value
    for index, entry in enumerate(_entries(data, "labels")):
        for name, value in _pairs(entry.get("pairs")):
            yield "labels", "labels", ("labels", index, "pairs", name), name, value
    for what, kind in (("commonLabels", "labels"), ("commonAnnotations", "annotations")):
        for name, value in _pairs(data.get(what)):
            yield what, kind, (what, name), name, value


def late(level: Level, spot: Callable[[Level, Sequence[str | int]], Spot]) -> list[Directive]:
    """Return what a kustomization defines that is filled in wherever it is known.

    These are `vars:`, and the names of ConfigMaps and Secrets that are made from their content.
    """
    found = []
    for index, entry in enumerate(_entries(level.data, "vars")):
        name = str(entry.get("name", ""))
        ref = entry.get("objref") or {}
        field_ = entry.get("fieldref") or {}
        # Go reads keys in any case, and Kubeflow has both
        path = field_.get("fieldPath") or field_.get("fieldpath") or "metadata.name"
        said = f"$({name}) is {path} of {ref.get('kind')} {ref.get('name')}"
        where = spot(level, ("vars", index, "name"))
        found.append(Directive("vars", where, said, _variable(name), level=level.file.file))
    for kind in ("configMapGenerator", "secretGenerator"):
        for index, entry in enumerate(_entries(level.data, kind)):
            found.append(_hashed(level, kind, index, entry, spot))
    options = level.data.get("generatorOptions")
    if isinstance(options, dict) and options.get("disableNameSuffixHash"):
        where = spot(level, ("generatorOptions", "disableNameSuffixHash"))
        said = "disableNameSuffixHash: true"
        found.append(Directive("generatorOptions", where, said, _unhashed, level=level.file.file))
    return found


def _unhashed(edit: Edit) -> Answer:
    old, new = edit.change.old, edit.change.new
    if not isinstance(old, str) or not HASH.search(old):
        return NEVER
    return Answer(SURE) if HASH.sub("", old) == new else NEVER


def _entries(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = data.get(name)
    if isinstance(value, dict):
        return [value]
    return [e if isinstance(e, dict) else {} for e in value] if isinstance(value, list) else []


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, text in value.items():
            yield str(name), str(text)


def _namespace(value: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        if edit.keys[-1:] == ("namespace",) and edit.change.new == value:
            return Answer(SURE)
        new = edit.change.new
        if isinstance(new, dict) and new.get("namespace") == value:
            old = edit.change.old
            return Answer(SURE if isinstance(old, dict) else LIKELY)
        if any(isinstance(p, Match) and ("namespace", value) in p.fields for p in edit.path):
            return Answer(SURE)  # an item that is named by its namespace comes as a new item
        return NEVER

    return answer


def _prefix(value: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        same = edit.change.new == f"{value}{edit.change.old}"
        return Answer(SURE) if same and edit.change.op == "change" else NEVER

    return answer


def _suffix(value: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        same = edit.change.new == f"{edit.change.old}{value}"
        return Answer(SURE) if same and edit.change.op == "change" else NEVER

    return answer


_LABELLED = frozenset({"labels", "matchLabels", "selector", "podSelector"})


def _pair(kind: str, name: str, value: str) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        if edit.keys[-1:] == (name,) and edit.change.new == value:
            parents = frozenset(edit.keys[:-1])
            fits = parents & _LABELLED if kind == "labels" else "annotations" in parents
            return Answer(SURE) if fits else NEVER
        return NEVER

    return answer


def _replicas(entry: dict[str, Any]) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        named = any(id_.name == entry.get("name") for id_ in edit.ids)
        if named and edit.keys == ("spec", "replicas"):
            return Answer(SURE if edit.change.new == entry.get("count") else LIKELY)
        return NEVER

    return answer


_IMAGE = re.compile(r"(?P<name>[^@]+?)(?P<tag>:[^/:@]+)?(?P<digest>@.+)?\Z")


def _image(entry: dict[str, Any]) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        old, new = edit.change.old, edit.change.new
        if not isinstance(old, str) or not isinstance(new, str):
            return NEVER
        found = _IMAGE.match(old)
        if found is None or found["name"] != entry.get("name"):
            return NEVER
        name = entry.get("newName") or found["name"]
        if entry.get("digest"):
            wanted = f"{name}@{entry['digest']}"
        elif entry.get("newTag") is not None:
            wanted = f"{name}:{entry['newTag']}"
        else:
            wanted = f"{name}{found['tag'] or ''}{found['digest'] or ''}"
        return Answer(SURE if new == edit.fill(wanted) else LIKELY)

    return answer


def _image_said(entry: dict[str, Any]) -> str:
    new = str(entry.get("newName") or entry.get("name") or "")
    if entry.get("digest"):
        new += f"@{entry['digest']}"
    elif entry.get("newTag") is not None:
        new += f":{entry['newTag']}"
    return f"{entry.get('name')} -> {new}"


def _variable(name: str) -> Callable[[Edit], Answer]:
    mark = f"$({name})"

    def answer(edit: Edit) -> Answer:
        old, new = edit.change.old, edit.change.new
        was = isinstance(old, str) and mark in old
        return Answer(SURE) if was and not (isinstance(new, str) and mark in new) else NEVER

    return answer


def _hashed(
    level: Level,
    kind: str,
    index: int,
    entry: dict[str, Any],
    spot: Callable[[Level, Sequence[str | int]], Spot],
) -> Directive:
    name = str(entry.get("name", ""))

    def answer(edit: Edit) -> Answer:
        old, new = edit.change.old, edit.change.new
        if not isinstance(old, str) or not isinstance(new, str) or not HASH.search(new):
            return NEVER
        plain = HASH.sub("", new)
        named = HASH.sub("", old).endswith(name) and plain.endswith(name)
        return Answer(SURE) if named else NEVER

    said = f"{name}, named by its content"
    return Directive(kind, spot(level, (kind, index)), said, answer, level=level.file.file)


def _generator(
    level: Level,
    kind: str,
    index: int,
    entry: dict[str, Any],
    spot: Callable[[Level, Sequence[str | int]], Spot],
) -> Iterator[Directive]:
    name = str(entry.get("name", ""))
    behavior = str(entry.get("behavior") or "create")
    yield _hashed(level, kind, index, entry, spot)
    if behavior == "create":
        return
    where = spot(level, (kind, index))

    def merged(edit: Edit) -> Answer:
        if not any(id_.name == name or HASH.sub("", id_.name) == name for id_ in edit.ids):
            return NEVER
        if edit.keys[:1] not in {("data",), ("binaryData",), ("stringData",)}:
            return NEVER
        key = edit.keys[1] if len(edit.keys) > 1 else ""
        steps = key_of_generator(entry, key)
        if steps is None:
            gone = edit.change.op == "remove" and behavior == "replace"
            return Answer(SURE if gone else NO)
        return Answer(SURE, spot(level, (kind, index, *steps)))

    yield Directive(kind, where, f"{behavior} {name}", merged, level=level.file.file)


def key_of_generator(entry: dict[str, Any], key: str) -> tuple[str | int, ...] | None:
    """Return where a generator's entry gives a key of its data; None when it does not say."""
    for index, text in enumerate(entry.get("literals") or ()):
        if str(text).partition("=")[0] == key:
            return ("literals", index)
    for index, text in enumerate(entry.get("files") or ()):
        named, equals, path = str(text).partition("=")
        if (named if equals else named.rpartition("/")[2]) == key or (equals and path == key):
            return ("files", index)
    envs = list(entry.get("envs") or ())
    return ("envs", 0) if len(envs) == 1 else None
