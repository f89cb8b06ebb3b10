"""Say what the parents of a platform's ApplySets look like before and behind an apply.

Pure. Before the first write a parent names the kinds and namespaces of old and new members, so
that an interrupted apply leaks nothing, and forgets what it knew of the objects that are going to
change. Behind the last write it knows what was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.platform.applyset import Parent, Record, applyset_id, parent_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.manifests import ObjectId
    from argosy.platform.prepare import Prepared

__all__ = ["parents_of"]


def parents_of(
    it: Prepared,
    records: Mapping[ObjectId, Record],
    removed: set[ObjectId],
    *,
    before: bool,
) -> list[Parent]:
    """Return the parents that an apply writes.

    Args:
        it: the apply.
        records: what has been written.
        removed: what has been deleted.
        before: whether nothing has been written yet.
    """
    acting = {a.id: a.app for a in it.plan.of("create", "update", "adopt", "replace")}
    members: dict[str, set[ObjectId]] = {}
    for id_, wanted in it.wanted.items():
        members.setdefault(wanted.app, set()).add(id_)
    apps_of = {parent.id: parent.app for parent in it.state.parents.values()}
    for live in it.state.objects.values():
        app = apps_of.get(live.part_of)
        if app is not None and live.id not in removed and live.id not in it.wanted:
            members.setdefault(app, set()).add(live.id)
    touched = {*acting.values(), *(a.app for a in it.plan.of("prune"))}
    made = []
    for app in sorted(touched):
        old = it.state.parents.get(app)
        known = dict(old.records) if old else {}
        for id_ in acting:
            known.pop(id_, None)
        if not before:
            known.update({id_: r for id_, r in records.items() if acting.get(id_) == app})
        inside = members.get(app, set())
        made.append(_parent(it, app, inside, known, old if before else None))
    return made


def _parent(
    it: Prepared,
    app: str,
    members: set[ObjectId],
    known: Mapping[ObjectId, Record],
    old: Parent | None,
) -> Parent:
    platform = it.scoped.platform
    kinds = {(i.group, i.kind) for i in members} | (set(old.kinds) if old else set())
    spaces = {i.namespace for i in members} | (set(old.namespaces) if old else set())
    return Parent(
        app=app,
        id=applyset_id(parent_name(platform.name, platform.env, app)),
        kinds=frozenset(kinds),
        namespaces=frozenset(spaces),
        records={id_: record for id_, record in known.items() if id_ in members},
    )
