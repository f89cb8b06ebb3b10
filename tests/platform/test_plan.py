"""A plan says what is done and why, and what stops it."""

from __future__ import annotations

from typing import Any

from argosy.manifests import ObjectId
from argosy.platform.applyset import Parent, Record
from argosy.platform.hazards import Hazard
from argosy.platform.live import LiveObject, LiveState
from argosy.platform.plan import Options, Plan, Wanted, make_plan, settle_hazards

OURS = "applyset-ours-v1"


def config(name: str) -> ObjectId:
    return ObjectId("", "ConfigMap", "team", name)


def live(id_: ObjectId, **changed: Any) -> LiveObject:
    given = {
        "id": id_,
        "uid": f"uid-{id_.name}",
        "version": "1",
        "part_of": OURS,
        "fields": "f1",
        "managers": (),
        "deleting": False,
        **changed,
    }
    return LiveObject(**given)


def state(*objects: LiveObject, records: dict[ObjectId, Record] | None = None) -> LiveState:
    parent = Parent("app", OURS, frozenset(), frozenset(), records or {})
    return LiveState({o.id: o for o in objects}, {"app": parent}, frozenset({"team"}))


def plan(
    wanted: list[ObjectId],
    found: LiveState,
    apps: frozenset[str] = frozenset({"app"}),
    **options: Any,
) -> Plan:
    return make_plan(
        {id_: Wanted("app", "d1", OURS) for id_ in wanted},
        found,
        apps=apps,
        options=Options(**options),
    )


def known(*ids: ObjectId, digest: str = "d1", fields: str = "f1") -> dict[ObjectId, Record]:
    return {id_: Record(digest, f"uid-{id_.name}", fields) for id_ in ids}


def verbs(found: Plan) -> list[tuple[str, str]]:
    return [(action.verb, action.id.name) for action in found.actions]


A, B = config("a"), config("b")


def test_what_is_not_there_is_made() -> None:
    assert verbs(plan([A], state())) == [("create", "a")]


def test_what_was_applied_and_has_not_changed_needs_no_call() -> None:
    found = plan([A], state(live(A), records=known(A)))
    assert found.actions == []
    assert found.unchanged == [A]
    assert not found.writes


def test_each_change_says_where_it_comes_from() -> None:
    cases = {
        "changed in the tree": state(live(A), records=known(A, digest="d0")),
        "changed in the cluster by kubectl": state(
            live(A, fields="f2", managers=(("kubectl", "Update"),)), records=known(A)
        ),
        "somebody made it anew": state(live(A, uid="other"), records=known(A)),
        "not known to be complete": state(live(A)),
    }
    for reason, found in cases.items():
        (action,) = plan([A], found).actions
        assert (action.verb, action.reason) == ("update", reason)


def test_what_others_made_is_refused_until_it_is_adopted() -> None:
    theirs = state(live(A, part_of="", managers=(("kubectl-create", "Update"),)))
    refused = plan([A], theirs)
    assert refused.actions == []
    assert refused.refusals == [
        "made by others: ConfigMap team/a (kubectl-create); --adopt takes them over"
    ]
    assert verbs(plan([A], theirs, adopt=True)) == [("adopt", "a")]


def test_what_another_tools_applyset_holds_is_refused_too() -> None:
    assert plan([A], state(live(A, part_of="applyset-theirs-v1"))).refusals


def test_what_is_rendered_no_more_goes_only_with_prune() -> None:
    found = state(live(A), live(B), records=known(A, B))
    assert verbs(plan([A], found)) == [("keep", "b")]
    assert verbs(plan([A], found, prune=True)) == [("prune", "b")]


def test_what_carries_the_label_but_not_our_mark_is_never_deleted() -> None:
    copied = ObjectId("discovery.k8s.io", "EndpointSlice", "team", "a-xyz")
    assert plan([A], state(live(A), live(copied, fields="")), prune=True).of("prune") == []


def test_what_takes_others_with_it_goes_only_by_name() -> None:
    claim = ObjectId("", "PersistentVolumeClaim", "team", "data")
    found = state(live(A), live(claim), records=known(A))
    (kept,) = plan([A], found, prune=True).actions
    assert (kept.verb, kept.reason) == (
        "keep",
        "--delete PersistentVolumeClaim/team/data deletes it",
    )
    named = frozenset({"PersistentVolumeClaim/team/data"})
    assert verbs(plan([A], found, prune=True, delete=named)) == [("prune", "data")]


def test_more_deletions_than_the_budget_stop_everything() -> None:
    found = state(*(live(config(f"c{n}")) for n in range(11)))
    refused = plan([A], found, prune=True)
    assert refused.refusals == [
        (
            "--prune would delete 11 objects, more than 10; look at the list, then say "
            "--delete-budget 11"
        )
    ]
    assert plan([A], found, prune=True, budget=11).refusals == []


def test_an_app_that_the_platform_has_no_more_is_pruned_with_the_whole_and_not_with_one_app() -> (
    None
):
    found = state(live(B))
    found.parents["app"].app = "gone"
    assert verbs(plan([A], found, prune=True)) == [("create", "a"), ("prune", "b")]
    assert verbs(plan([A], found, prune=True, orphans=False)) == [("create", "a")]
    still = frozenset({"app", "gone"})
    assert verbs(plan([A], found, apps=still, prune=True)) == [("create", "a")]


def test_deletions_come_in_the_reverse_order_of_kinds() -> None:
    account = ObjectId("", "ServiceAccount", "team", "s")
    deployment = ObjectId("apps", "Deployment", "team", "d")
    found = plan([], state(live(account), live(deployment)), prune=True, apps=frozenset())
    assert verbs(found) == [("prune", "d"), ("prune", "s")]


def test_what_is_on_its_way_out_is_waited_for() -> None:
    going = live(A, deleting=True, finalizers=("a/b",))
    assert plan([A], state(going)).refusals == [
        "ConfigMap team/a is being deleted, held by a/b: wait until it is gone"
    ]


def test_what_cannot_be_patched_is_replaced_only_by_name() -> None:
    hazard = Hazard("immutable-field", "blocks", A, "data", "it cannot be changed", "replace it")
    stopped = plan([A], state(live(A)))
    settle_hazards(stopped, [hazard], options=Options())
    assert stopped.refusals == ["ConfigMap team/a: it cannot be changed; replace it"]
    named = Options(replace=frozenset({"ConfigMap/team/a"}))
    allowed = plan([A], state(live(A)))
    settle_hazards(allowed, [hazard], options=named)
    assert allowed.refusals == []
    assert verbs(allowed) == [("replace", "a")]
