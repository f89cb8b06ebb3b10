"""Say which patches of a kustomization changed a field, down to the line of the patch.

Pure but for reading the patches' files. Knows kustomize's forms: strategic merge and JSON 6902
patches, in files or inline, under `patches:` or the older fields; and replacements, which are
patches that take their value from elsewhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy import yaml
from argosy.errors import UsageError
from argosy.manifests import Match, split
from argosy.manifests.listkeys import find_keys, matches
from argosy.platform.explain_directives import LIKELY, NEVER, SURE, Answer, Directive, Edit
from argosy.platform.explain_graph import HASH
from argosy.sources.paths import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from argosy.manifests import ObjectId, Segment
    from argosy.platform.explain_graph import Graph, Level
    from argosy.platform.explain_model import Spot

__all__ = ["Body", "patch_directives", "patch_text_directives", "replacement_directives"]


_VARIABLE = re.compile(r"\\\$\\\([^)]*\\\)")  # `$(NAME)`, as re.escape writes it
_BLOCK = re.compile(r"[|>][0-9+-]*[ \t]*(?:#.*)?\Z")


class Body(NamedTuple):
    """The text of a patch, and where it stands.

    Attributes:
        text: the YAML.
        where: where the text begins; its lines count from there.
        via: the line that names it, None when it stands inline.
    """

    text: str
    where: Spot
    via: Spot | None


def patch_directives(
    graph: Graph,
    level: Level,
    spot: Callable[[Level, Sequence[str | int]], Spot],
    place: Callable[[str, str, int], Spot],
) -> Iterator[Directive]:
    """Yield the patches of a kustomization, in their order.

    Args:
        graph: reads the patches' files.
        level: the kustomization.
        spot: returns the place of one of its lines.
        place: returns the place of a line of any file of a source.
    """

    def body(field: str, index: int, entry: Any) -> Body | None:
        steps: tuple[str | int, ...] = (field, index)
        if isinstance(entry, str):
            inline, path = ("\n" in entry or ": " in entry), entry
            text = entry
        else:
            text, path = str(entry.get("patch") or ""), str(entry.get("path") or "")
            inline = bool(text)
            steps = (field, index, "patch" if inline else "path")
        if inline:
            here = spot(level, steps)
            raw = level.file.text.decode(errors="replace").splitlines()[here.line - 1 : here.line]
            # a block scalar's text begins on the line below its key
            below = bool(raw) and _BLOCK.search(raw[0]) is not None
            return Body(text, here._replace(line=here.line + below), None)
        if not path or "://" in path:
            return None
        file = join(level.dir, path)
        content = graph.read(level.source, file).decode(errors="replace")
        return Body(content, place(level.source, file, 1), spot(level, steps))

    for field in ("patchesStrategicMerge", "patches", "patchesJson6902"):
        for index, entry in enumerate(level.data.get(field) or ()):
            found = body(field, index, entry)
            if found is not None:
                target = entry.get("target") if isinstance(entry, dict) else None
                yield from patch_text_directives(found, target, level=level.file.file)


def patch_text_directives(
    body: Body,
    target: dict[str, Any] | None,
    *,
    level: str = "",
    what: str = "patch",
    said: str = "",
) -> Iterator[Directive]:
    """Yield a directive for each document of a patch.

    Args:
        body: the patch.
        target: which objects it is meant for; None when its own names say so.
        level: the kustomization that it belongs to.
        what: the kind of transform.
        said: what to say of it; the target when left out.
    """
    for document in split(body.text):
        where = body.where._replace(line=body.where.line + document.line - 1)
        try:
            marked = yaml.load_marked(document.text)
        except UsageError:
            continue  # kustomize refuses it; nothing came of it
        value = marked.value

        def line(
            path: Sequence[str | int], marked: yaml.Marked = marked, where: Spot = where
        ) -> Spot:
            return where._replace(line=where.line + marked.where(path, key=True).line - 1)

        if isinstance(value, list):
            told = said or f"JSON patch of {_target_said(target)}"
            answer, meant = _json(value, target, line), _names(target or {}, exact=False)
            yield Directive(what, where, told, answer, body.via, level, meant)
        elif isinstance(value, dict):
            told = said or f"patch of {_target_said(target or _own_target(value))}"
            answer = _merge(value, target, line)
            meant = _names(target or _own_target(value), exact=not target)
            yield Directive(what, where, told, answer, body.via, level, meant)


def replacement_directives(
    graph: Graph,
    level: Level,
    spot: Callable[[Level, Sequence[str | int]], Spot],
    place: Callable[[str, str, int], Spot],
) -> Iterator[Directive]:
    """Yield the replacements of a kustomization, one for each target."""
    for index, entry in enumerate(level.data.get("replacements") or ()):
        if not isinstance(entry, dict):
            continue
        where, via, rules = spot(level, ("replacements", index)), None, [entry]
        if entry.get("path"):
            file = join(level.dir, str(entry["path"]))
            text = graph.read(level.source, file).decode(errors="replace")
            loaded = yaml.load(text, file=file)
            rules = loaded if isinstance(loaded, list) else [loaded]
            via, where = where, place(level.source, file, 1)
            lines = yaml.load_marked(text, file=file)
            places = [
                where._replace(line=lines.where((n,) if isinstance(loaded, list) else ()).line)
                for n in range(len(rules))
            ]
        else:
            places = [where]
        for rule, spotted in zip(rules, places, strict=True):
            source = rule.get("source") or {}
            field = source.get("fieldPath", "metadata.name")
            said = f"from {field} of {source.get('kind')} {source.get('name')}"
            for target in rule.get("targets") or ():
                answer = _replacement(target)
                meant = _names(target.get("select") or {}, exact=False)
                yield Directive("replacements", spotted, said, answer, via, level.file.file, meant)


def _own_target(patch: dict[str, Any]) -> dict[str, Any]:
    metadata = patch.get("metadata") or {}
    group, _, version = str(patch.get("apiVersion", "")).rpartition("/")
    own = {"group": group, "version": version, "kind": patch.get("kind")}
    own |= {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    return {key: value for key, value in own.items() if value}


def _target_said(target: dict[str, Any] | None) -> str:
    told = target or {}
    name = "/".join(str(told[key]) for key in ("namespace", "name") if told.get(key))
    more = told.get("labelSelector") or told.get("annotationSelector") or ""
    parts = [str(told.get("kind") or "everything"), name, str(more)]
    return " ".join(part for part in parts if part)


def _names(target: dict[str, Any], *, exact: bool) -> Callable[[tuple[ObjectId, ...]], bool]:
    """Return what says whether a patch is for an object of any of some names."""

    def fits(key: str, value: str) -> bool:
        wanted = target.get(key)
        if not wanted:
            return True
        if exact:
            return str(wanted) == value or (key == "namespace" and not value)
        return re.fullmatch(str(wanted), value) is not None

    def one(id_: ObjectId) -> bool:
        parts = zip(("group", "kind", "namespace", "name"), id_, strict=True)
        return all(fits(key, value) for key, value in parts)

    def meant(ids: tuple[ObjectId, ...]) -> bool:
        try:
            return any(map(one, ids))
        except re.error:
            return False

    return meant


def _meant(target: dict[str, Any], edit: Edit, *, exact: bool) -> bool:
    """Say whether a patch is for the object under any of the names that it has had."""
    metadata = edit.before.get("metadata") or {}
    return (
        _names(target, exact=exact)(edit.ids)
        and _selected(target.get("labelSelector"), metadata.get("labels"))
        and _selected(target.get("annotationSelector"), metadata.get("annotations"))
    )


def _selected(selector: Any, labels: Any) -> bool:
    if not selector:
        return True
    held = labels if isinstance(labels, dict) else {}
    for term in str(selector).split(","):
        name, equals, value = term.replace("==", "=").partition("=")
        if equals and not name.endswith("!") and str(held.get(name.strip())) != value.strip():
            return False
    return True


def _merge(
    patch: dict[str, Any],
    target: dict[str, Any] | None,
    line: Callable[[Sequence[str | int]], Spot],
) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        meant = target or _own_target(patch)
        if not _meant(meant, edit, exact=not target):
            return NEVER
        if edit.keys[:1] in {("apiVersion",), ("kind",)}:
            return NEVER
        score, path, raw = _reach(patch, edit)
        return Answer(score, line(path), raw) if score else NEVER

    return answer


def _reach(patch: Any, edit: Edit) -> tuple[int, tuple[str | int, ...], Any]:
    """Follow a change's path into a strategic merge patch, as far as the patch goes."""
    here: Any = patch
    path: tuple[str | int, ...] = ()
    for number, segment in enumerate(edit.path):
        if here is None and number:
            return (SURE if edit.change.op == "remove" else LIKELY), path, None
        if isinstance(here, dict) and here.get("$patch") in {"delete", "replace"}:
            return SURE, (*path, "$patch"), None
        if isinstance(here, list):
            found = _item(here, segment)
            if found is None:
                # a list without names is replaced as a whole
                plain = not any(isinstance(item, dict) for item in here)
                named = isinstance(segment, Match) and segment.fields[0][0] != ""
                replaced = plain or not named
                return (LIKELY if replaced and number else 0), path, here
            path, here = (*path, found), here[found]
        elif isinstance(here, dict) and isinstance(segment, str) and segment in here:
            path, here = (*path, segment), here[segment]
        else:
            return 0, path, None
    change = edit.change
    if change.op == "remove":
        return (SURE if here is None or _deletes(here) else LIKELY), path, None
    if change.op == "order":
        return LIKELY, path, None
    return (SURE if _gives(edit.fill(here), change.new) else LIKELY), path, here


def _item(items: list[Any], segment: Segment) -> int | None:
    for index, item in enumerate(items):
        if isinstance(segment, Match):
            if segment.holds(item) or _same_name(segment, item):
                return index
        elif segment == index:
            return index
    return None


def _same_name(segment: Match, item: Any) -> bool:
    """Say whether an item has the name that is meant, though not every field that names it."""
    held = [(f, v) for f, v in segment.fields if isinstance(item, dict) and f in item]
    return bool(held) and all(item[f] == v for f, v in held)


def _deletes(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$patch") == "delete"


def _gives(patch: Any, new: Any) -> bool:
    """Say whether a patch's value is found in what came out; lists and fields may have more."""
    if isinstance(patch, dict) and isinstance(new, dict):
        return all(key in new and _gives(v, new[key]) for key, v in patch.items() if v is not None)
    if isinstance(patch, list) and isinstance(new, list):
        return all(any(_gives(item, other) for other in new) for item in patch)
    if isinstance(patch, str) and isinstance(new, str) and patch:
        return _became(patch, new)
    return bool(patch == new) or (str(patch) == str(new) and not isinstance(patch, bool))


def _became(patch: str, new: str) -> bool:
    """Say whether a text that a patch writes can have come out as another.

    A name gets a prefix, a generator's object is named by its content, and `$(NAME)` is filled in.
    """
    if patch == new or patch == HASH.sub("", new) or new.endswith(f"-{patch}"):
        return True
    if "$(" not in patch:
        return False
    pattern = _VARIABLE.sub(".*", re.escape(patch))
    return re.fullmatch(pattern, new, re.DOTALL) is not None


def _json(
    operations: list[Any],
    target: dict[str, Any] | None,
    line: Callable[[Sequence[str | int]], Spot],
) -> Callable[[Edit], Answer]:
    def answer(edit: Edit) -> Answer:
        if not _meant(target or {}, edit, exact=False):
            return NEVER
        best = NEVER
        for index, operation in enumerate(operations):
            if not isinstance(operation, dict):
                continue
            pointed = _pointer(str(operation.get("path", "")), edit)
            score = _score(operation, pointed, edit)
            if score and score >= best.score:
                best = Answer(score, line((index, "path")), operation.get("value"))
        return best

    return answer


def _pointer(text: str, edit: Edit) -> tuple[Segment, ...]:
    """Return a JSON pointer as segments, list indexes as what names the item before."""
    here: Any = edit.before
    path: list[Segment] = []
    for raw in text.split("/")[1:]:
        part = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list):
            if not part.isdigit() or int(part) >= len(here):
                path.append(len(here))
                here = None
                continue
            index = int(part)
            keys = find_keys(path, str(edit.before.get("kind", "")), here, here)
            named = matches(here, keys)[index] if keys else None
            path.append(named if named is not None else _scalar(here, index))
            here = here[index]
        else:
            path.append(part)
            here = here.get(part) if isinstance(here, dict) else None
    return tuple(path)


def _scalar(items: list[Any], index: int) -> Segment:
    value = items[index]
    plain = all(isinstance(item, str | int) and not isinstance(item, bool) for item in items)
    return Match((("", value),)) if plain and len(set(items)) == len(items) else index


def _score(operation: dict[str, Any], pointed: tuple[Segment, ...], edit: Edit) -> int:
    path, change = edit.old_path, edit.change
    value = edit.fill(operation.get("value"))
    in_list = bool(pointed) and isinstance(pointed[-1], int | Match)
    if pointed == path[: len(pointed)]:
        if operation.get("op") == "remove":
            return SURE if change.op == "remove" else LIKELY
        inner = _within(value, edit.path[len(pointed) :])
        return SURE if inner is not None and _gives(inner, change.new) else LIKELY
    if path == pointed[: len(path)]:
        return SURE if operation.get("op") != "remove" else LIKELY
    if in_list and pointed[:-1] == path[: len(pointed) - 1] and operation.get("op") == "add":
        # an item that was added by its index is named by what it holds
        return SURE if _gives(value, change.new) and len(path) == len(pointed) else 0
    if in_list and pointed[:-1] == path and change.op == "order":
        return LIKELY
    return 0


def _within(value: Any, path: tuple[Segment, ...]) -> Any:
    for segment in path:
        if isinstance(segment, Match) and isinstance(value, list):
            value = next((item for item in value if segment.holds(item)), None)
        elif isinstance(segment, str) and isinstance(value, dict):
            value = value.get(segment)
        elif isinstance(segment, int) and isinstance(value, list) and segment < len(value):
            value = value[segment]
        else:
            return None
    return value


_FIELD = re.compile(r"\[([^\]=]+)=([^\]]*)\]\Z")


def _replacement(target: dict[str, Any]) -> Callable[[Edit], Answer]:
    select = target.get("select") or {}
    paths = [_field_path(str(text)) for text in target.get("fieldPaths") or ("metadata.name",)]

    def answer(edit: Edit) -> Answer:
        if not _meant(select, edit, exact=False):
            return NEVER
        for parts in paths:
            if _along(parts, edit.path):
                return Answer(SURE)
        return NEVER

    return answer


def _field_path(text: str) -> list[str]:
    """Split a replacement's field path at its dots, save the escaped and the bracketed ones."""
    parts = re.split(r"(?<!\\)\.(?![^\[]*\])", text)
    plain = [part.replace("\\.", ".") for part in parts if part]
    # a key with dots stands in brackets of its own: metadata.annotations.[a.b/c]
    return [part[1:-1] if part.startswith("[") and "=" not in part else part for part in plain]


def _along(parts: list[str], path: tuple[Segment, ...]) -> bool:
    """Say whether a field path and a change's path lead the same way."""
    for part, segment in zip(parts, path, strict=False):
        if part == "*":
            continue
        found = _FIELD.match(part)
        if isinstance(segment, Match):
            if found is not None:
                if dict(segment.fields).get(found[1], found[2]) != found[2]:
                    return False
            elif not part.isdigit():
                return False
        elif str(segment) != part:
            return False
    return len(path) >= len(parts)
