"""Decide what an apply does: made, changed, left alone, deleted, and what stops it.

Pure: takes what is wanted and what is there, returns a plan as data. Printing the plan is the dry
run. A plan with refusals is not executed: nothing is changed when anything stops it.

Refuses to delete more than its budget, to delete a kind that takes others with it unless the
object is named, to touch what argosy did not make unless told to adopt it, and to replace what
cannot be patched unless it is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from argosy.manifests import ObjectId, apply_rank
from argosy.platform.hazards import Hazard, short
from argosy.platform.named import is_named, names_nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from argosy.platform.applyset import Parent
    from argosy.platform.live import LiveObject, LiveState

__all__ = ["Action", "Options", "Plan", "Verb", "Wanted", "make_plan", "settle_hazards"]

Verb = Literal["create", "update", "adopt", "replace", "prune", "keep"]
BUDGET = 10  # objects that one --prune may delete without being told a larger number
# what takes other things with it when it goes: deleted only by name
PROTECTED = {
    ("", "Namespace"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("kubeflow.org", "Profile"),
}
SHOWN = 5  # objects named in one sentence; the plan lists the rest


class Options(msgspec.Struct, frozen=True):
    """What the person who applies has allowed.

    Attributes:
        prune: delete members that are rendered no more.
        budget: how many at most.
        delete: objects that may go though their kind is protected, as `KIND/NAME` or
            `KIND/NAMESPACE/NAME`.
        replace: objects that may be deleted and made anew, in the same form.
        adopt: take over what others made.
        force: field managers whose fields are taken.
        orphans: also prune apps that the platform does not have any more.
    """

    prune: bool = False
    budget: int = BUDGET
    delete: frozenset[str] = frozenset()
    replace: frozenset[str] = frozenset()
    adopt: bool = False
    force: frozenset[str] = frozenset()
    orphans: bool = True


class Wanted(msgspec.Struct, frozen=True):
    """One rendered object as a plan sees it.

    Attributes:
        app: the app that renders it.
        digest: the digest of what would be sent.
        part_of: the ApplySet that it belongs to.
    """

    app: str
    digest: str
    part_of: str


class Action(msgspec.Struct, frozen=True):
    """One thing that an apply does, or decides not to."""

    verb: Verb
    id: ObjectId
    app: str
    reason: str = ""
    uid: str = ""


class Plan(msgspec.Struct):
    """What an apply does.

    Attributes:
        actions: in the order of kinds, deletions last and in reverse.
        unchanged: objects that need no call.
        hazards: steps that need care.
        refusals: why nothing is done; empty when the plan can be executed.
        notes: what the person may have meant otherwise.
    """

    actions: list[Action]
    unchanged: list[ObjectId]
    hazards: list[Hazard] = []
    refusals: list[str] = []
    notes: list[str] = []

    def of(self, *verbs: Verb) -> list[Action]:
        """Return the actions with one of some verbs."""
        return [action for action in self.actions if action.verb in verbs]

    @property
    def writes(self) -> bool:
        """Say whether there is anything to do."""
        return any(action.verb != "keep" for action in self.actions)

    def summary(self) -> str:
        """Return the plan in one line."""
        words: dict[Verb, str] = {
            "create": "to make",
            "update": "to change",
            "adopt": "to take over",
            "replace": "to replace",
            "prune": "to delete",
            "keep": "kept though rendered no more",
        }
        counts = [(len(self.of(verb)), text) for verb, text in words.items()]
        parts = [f"{count} {text}" for count, text in counts if count]
        return ", ".join([*parts, f"{len(self.unchanged)} unchanged"])


def make_plan(
    wanted: Mapping[ObjectId, Wanted],
    state: LiveState,
    *,
    apps: frozenset[str],
    options: Options,
    elsewhere: Iterable[ObjectId] = (),
) -> Plan:
    """Return what an apply does.

    Args:
        wanted: the rendered objects of the apps that are applied.
        state: what is in the cluster.
        apps: every app of the platform, also those that are not applied now.
        options: what the person has allowed.
        elsewhere: rendered objects of the apps that are not applied now; they are nobody's
            orphans.
    """
    own = {parent.id for parent in state.parents.values()} | {w.part_of for w in wanted.values()}
    plan = Plan([], [])
    strangers: list[LiveObject] = []
    for id_ in sorted(wanted, key=lambda i: (apply_rank(i), i)):
        live = state.objects.get(id_)
        if live is not None and live.part_of not in own and not options.adopt:
            strangers.append(live)
            continue
        action = _action(id_, wanted[id_], live, state.parents, own)
        if action is None:
            plan.unchanged.append(id_)
        else:
            plan.actions.append(action)
        if live is not None and live.deleting:
            plan.refusals.append(_going(live))
    if strangers:
        plan.refusals.append(_not_ours(strangers))
    known = set(wanted) | set(elsewhere)
    selected = {w.app for w in wanted.values()}
    _plan_removals(plan, state, known, selected=selected, apps=apps, options=options)
    _note_names(plan, known, options)
    return plan


def _note_names(plan: Plan, known: set[ObjectId], options: Options) -> None:
    """Tell of names that mean nothing: a slip, or what an interrupted run has done already."""
    gone = [action.id for action in plan.of("keep", "prune")]
    plan.notes += names_nothing(
        options.delete, gone, option="--delete", what="is there and rendered no more"
    )
    plan.notes += names_nothing(options.replace, known, option="--replace", what="is rendered")


def _action(
    id_: ObjectId,
    wanted: Wanted,
    live: LiveObject | None,
    parents: Mapping[str, Parent],
    own: set[str],
) -> Action | None:
    if live is None:
        return Action("create", id_, wanted.app)
    if live.part_of not in own:
        made_by = ", ".join(name for name, _ in live.managers) or "somebody"
        return Action("adopt", id_, wanted.app, f"made by {made_by}", live.uid)
    parent = parents.get(wanted.app)
    record = parent.records.get(id_) if parent else None
    if live.part_of != wanted.part_of:
        reason = "moves to another app"
    elif record is None:
        reason = "not known to be complete"
    elif record.uid != live.uid:
        reason = "somebody made it anew"
    elif record.digest != wanted.digest:
        reason = "changed in the tree"
    elif record.fields != live.fields:
        others = ", ".join(name for name, _ in live.managers)
        reason = f"changed in the cluster{f' by {others}' if others else ''}"
    else:
        return None
    return Action("update", id_, wanted.app, reason, live.uid)


def _going(live: LiveObject) -> str:
    held = f", held by {', '.join(live.finalizers)}" if live.finalizers else ""
    return f"{live.id} is being deleted{held}: wait until it is gone"


def _not_ours(strangers: list[LiveObject]) -> str:
    shown = [
        f"{live.id} ({', '.join(name for name, _ in live.managers) or 'unknown'})"
        for live in strangers[:SHOWN]
    ]
    more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
    return f"made by others: {', '.join(shown)}{more}; --adopt takes them over"


def _plan_removals(
    plan: Plan,
    state: LiveState,
    known: set[ObjectId],
    *,
    selected: set[str],
    apps: frozenset[str],
    options: Options,
) -> None:
    app_of = {
        parent.id: parent.app
        for parent in state.parents.values()
        if parent.app in selected or (options.orphans and parent.app not in apps)
    }
    gone = [
        live
        for live in state.objects.values()
        # the mark and the membership: Kubernetes copies labels to objects of its own
        if live.part_of in app_of and live.fields and live.id not in known and not live.deleting
    ]
    gone.sort(key=lambda live: (-apply_rank(live.id), live.id))
    pruned = []
    for live in gone:
        app = app_of[live.part_of]
        named = is_named(live.id, options.delete)
        protected = live.id[:2] in PROTECTED and not named
        if not options.prune or protected:
            missing = [] if options.prune else ["--prune"]
            missing += [f"--delete {short(live.id)}"] if protected else []
            reason = f"{' '.join(missing)} deletes it"
            plan.actions.append(Action("keep", live.id, app, reason, live.uid))
        else:
            reason = "rendered no more"
            plan.actions.append(Action("prune", live.id, app, reason, live.uid))
            pruned += [] if named else [live.id]
    if len(pruned) > options.budget:
        plan.refusals.append(
            f"--prune would delete {len(pruned)} objects, more than {options.budget}; look at "
            f"the list, then say --delete-budget {len(pruned)}"
        )


def settle_hazards(plan: Plan, hazards: Iterable[Hazard], *, options: Options) -> None:
    """Add hazards to a plan; what cannot be patched is replaced when it is named, else refused.

    Args:
        plan: the plan; it is changed.
        hazards: what was found by comparing old and new objects.
        options: what the person has allowed.
    """
    replaced: set[ObjectId] = set()
    for hazard in hazards:
        named = hazard.code == "immutable-field" and is_named(hazard.id, options.replace)
        # what is allowed stops nothing any more, and what is lost is told all the same
        plan.hazards.append(hazard._replace(severity="dangerous") if named else hazard)
        if hazard.severity != "blocks":
            continue
        if named:
            replaced.add(hazard.id)
        else:
            plan.refusals.append(f"{hazard.id}: {hazard.message}; {hazard.advice}")
    plan.actions = [
        Action("replace", a.id, a.app, "cannot be patched", a.uid) if a.id in replaced else a
        for a in plan.actions
    ]
