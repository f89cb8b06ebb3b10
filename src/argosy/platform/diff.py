"""Compare two rendered trees, object by object and field by field.

Decides what changed and what of it needs care; reads nothing itself but the texts of the objects
that differ. An object that went from one app to another is a move, not a removal and an addition.
Definitions are compared without parsing what stayed the same. Values of Secrets never appear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from argosy.manifests import Change, ObjectId, apply_key, diff, split
from argosy.platform.diff_crds import SchemaChange, compare_definitions
from argosy.platform.diff_sides import DiffError
from argosy.platform.hazards import Hazard
from argosy.platform.risks import change_risks, moved_workloads, removal_risks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from argosy.manifests import Document, Manifest
    from argosy.platform.diff_sides import Side

__all__ = ["AppDiff", "ObjectDiff", "PlatformDiff", "compare", "object_diff"]

Op = Literal["add", "remove", "change", "move"]
CRD = "CustomResourceDefinition"
WORKLOADS = frozenset({"Deployment", "StatefulSet"})
Key = tuple[str, str]  # app, file name


class ObjectDiff(Struct):
    """How one object differs.

    Attributes:
        op: what happens to it; a move may come with changes.
        id: the object.
        file: its file in the tree, as people type it; "" when it stands in none.
        changes: field by field; empty for what came or went as a whole.
        schemas: for a definition, how the schemas of its versions changed.
        risks: what needs care, the worst first.
        moved_from: for a move, the app that had it.
        note: what else is to be said.
    """

    op: Op
    id: ObjectId
    file: str = ""
    changes: list[Change] = field(default_factory=list)
    schemas: tuple[SchemaChange, ...] = ()
    risks: list[Hazard] = field(default_factory=list)
    moved_from: str = ""
    note: str = ""


class AppDiff(Struct):
    """How one app differs; `op` is about the app as a whole."""

    name: str
    op: Op
    objects: list[ObjectDiff]


class PlatformDiff(Struct):
    """How a platform differs.

    Attributes:
        old: what it is compared with, for people.
        new: what is compared.
        env: the environment.
        settings: what differs for the platform as a whole: (name, before, after).
        apps: those that differ, in the order of the apps.
        notes: what a reader has to know about the comparison.
    """

    old: str
    new: str
    env: str
    settings: list[tuple[str, str, str]] = field(default_factory=list)
    apps: list[AppDiff] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """Say whether anything differs."""
        return bool(self.apps or self.settings)

    def objects(self) -> Iterable[ObjectDiff]:
        """Return every object that differs."""
        return (obj for app in self.apps for obj in app.objects)


def compare(
    old: Side,
    new: Side,
    *,
    env: str,
    read_old: Callable[[list[Key]], Mapping[Key, str]],
    read_new: Callable[[list[Key]], Mapping[Key, str]],
    folder: str,
    apps: frozenset[str] = frozenset(),
) -> PlatformDiff:
    """Return how two trees differ.

    Args:
        old: the tree before.
        new: the tree after.
        env: the environment that both are of.
        read_old: returns the texts of files of the old tree.
        read_new: returns the texts of files of the new tree.
        folder: the tree's folder as people type it.
        apps: only these; all when empty.

    Raises:
        UsageError: a file holds no object.
    """
    homes = _homes(old.files, new.files)
    pairs = [(was, now) for was, now in homes if _chosen(was, now, apps)]
    olds = read_old([was for was, _ in pairs if was])
    news = read_new([now for _, now in pairs if now])
    found: dict[str, list[ObjectDiff]] = {}
    gone: dict[ObjectId, Manifest] = {}
    came: dict[ObjectId, Manifest] = {}
    for was, now in pairs:
        before, after = _document(olds, was), _document(news, now)
        app, file = now or was or ("", "")
        one = _pair(before, after)
        if one is None:
            continue
        one.file = f"{folder}/{app}/{file}"
        if was and now and was[0] != now[0]:
            one.op, one.moved_from = "move", was[0]
        if before is not None and before.id.kind in WORKLOADS:
            gone[before.id] = before.object()
        if after is not None and after.id.kind in WORKLOADS:
            came[after.id] = after.object()
        found.setdefault(app, []).append(one)
    _mark_moved(found, moved_workloads(gone, came))
    _add_secrets(found, old, new, apps)
    return PlatformDiff(
        old=old.title,
        new=new.title,
        env=env,
        settings=_settings(old, new),
        apps=_by_app(found, old, new),
    )


def object_diff(id_: ObjectId, old: Manifest, new: Manifest) -> ObjectDiff:
    """Return how an object differs between two of its states; not for whole definitions."""
    changes = diff(old, new, mask=True)
    return ObjectDiff("change", id_, changes=changes, risks=change_risks(id_, old, new))


def _homes(old: Mapping[Key, str], new: Mapping[Key, str]) -> list[tuple[Key | None, Key | None]]:
    """Pair up the files that differ; a file is the same object wherever it stands."""
    only_old = {name: (app, name) for app, name in old if (app, name) not in new}
    pairs: list[tuple[Key | None, Key | None]] = []
    for key, content in new.items():
        if key not in old:
            pairs.append((only_old.pop(key[1], None), key))
        elif old[key] != content:
            pairs.append((key, key))
    pairs += [(key, None) for key in only_old.values()]
    return pairs


def _chosen(was: Key | None, now: Key | None, apps: frozenset[str]) -> bool:
    return not apps or any(key is not None and key[0] in apps for key in (was, now))


def _document(texts: Mapping[Key, str], key: Key | None) -> Document | None:
    if key is None:
        return None
    file = "/".join(key)
    documents = split(texts[key], file=file)
    if len(documents) != 1:
        raise DiffError(
            f"the file holds {len(documents)} objects instead of one",
            where=file,
            hint="run `argosy render`",
        )
    return documents[0]


def _pair(before: Document | None, after: Document | None) -> ObjectDiff | None:
    if before is None:
        return ObjectDiff("add", after.id) if after else None
    if after is None:
        return ObjectDiff("remove", before.id, risks=removal_risks(before.id))
    if before.text == after.text:
        return ObjectDiff("change", after.id)
    if after.id.kind != CRD:
        return object_diff(after.id, before.object(), after.object())
    found = compare_definitions(before.text, after.text, file=after.file)
    risks = change_risks(after.id, found.old, found.new, found.schemas)
    return ObjectDiff("change", after.id, "", found.changes, found.schemas, risks)


def _mark_moved(found: Mapping[str, list[ObjectDiff]], hazards: Iterable[Hazard]) -> None:
    by_id = {one.id: one for objects in found.values() for one in objects}
    for hazard in hazards:
        by_id[hazard.id].risks.append(hazard)


def _add_secrets(
    found: dict[str, list[ObjectDiff]], old: Side, new: Side, apps: frozenset[str]
) -> None:
    """Add Secrets that came or went; they stand in no tree, but the index names them."""
    if old.index is None or new.index is None:
        return
    before = {(a, name) for a, entry in old.index.apps.items() for name in entry.secrets}
    after = {(a, name) for a, entry in new.index.apps.items() for name in entry.secrets}
    ops: tuple[tuple[Op, set[tuple[str, str]]], ...] = (
        ("add", after - before),
        ("remove", before - after),
    )
    for op, keys in ops:
        for app, name in sorted(keys):
            if not apps or app in apps:
                namespace, _, own = name.rpartition("/")
                id_ = ObjectId("", "Secret", namespace, own)
                one = ObjectDiff(op, id_, note="its values are kept out of the tree")
                found.setdefault(app, []).append(one)


def _settings(old: Side, new: Side) -> list[tuple[str, str, str]]:
    if old.index is None or new.index is None:
        return []
    pairs = [
        ("kubeflow", old.index.release, new.index.release),
        ("kubernetes", old.index.kubernetes, new.index.kubernetes),
        ("name", old.index.platform, new.index.platform),
    ]
    for name, entry in new.index.apps.items():
        if name in old.index.apps:
            was = old.index.apps[name].needs
            pairs.append((f"needs of {name}", ", ".join(was), ", ".join(entry.needs)))
    return [(name, was, now) for name, was, now in pairs if was != now]


def _by_app(found: Mapping[str, list[ObjectDiff]], old: Side, new: Side) -> list[AppDiff]:
    before = _names(old)
    after = _names(new)
    apps = []
    for name in dict.fromkeys([*after, *before, *found]):
        objects = sorted(found.get(name, ()), key=lambda one: apply_key(one.id))
        op: Op = "change"
        if name not in after:
            op = "remove"
        elif name not in before:
            op = "add"
        if objects:
            apps.append(AppDiff(name, op, objects))
    return apps


def _names(side: Side) -> list[str]:
    indexed = list(side.index.apps) if side.index else []
    return list(dict.fromkeys([*indexed, *(app for app, _ in side.files)]))
