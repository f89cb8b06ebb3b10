"""Objects are applied behind what they need, and wait for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apply_platforms import crd, deployment, objects, platform, webhook
from argosy.manifests import ObjectId
from argosy.platform.dependencies import Tree
from argosy.platform.waves import CUTTABLE, Edge, Gate, Order, Step, build_order

if TYPE_CHECKING:
    from argosy.platform.model import RenderedObject

NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"


def order_of(text: str, **needs: tuple[str, ...]) -> Order:
    return Tree(platform({"app": text}, needs)).order()


def place(order: Order, kind: str, name: str) -> int:
    found = [n for n, o in enumerate(order.objects()) if (o.id.kind, o.id.name) == (kind, name)]
    assert len(found) == 1
    return found[0]


def waits_for(order: Order, kind: str, name: str) -> set[str]:
    """Return the gates that an object directly waits for."""
    (step,) = [
        s for s in order.steps.values() if s.rendered and s.rendered.id[1::2] == (kind, name)
    ]
    return {str(e.before) for e in step.after if isinstance(e.before, Gate)}


def test_a_namespace_comes_before_what_is_in_it() -> None:
    order = order_of(deployment("web", "team") + NAMESPACE)
    assert place(order, "Namespace", "team") < place(order, "Deployment", "web")
    assert waits_for(order, "Deployment", "web") == set()


def test_a_custom_resource_waits_until_its_kind_is_served() -> None:
    order = order_of(
        "apiVersion: argosy.test/v1\nkind: Thing\nmetadata: {name: a, namespace: team}\n"
        + crd("things", "Thing")
    )
    assert waits_for(order, "Thing", "a") == {"things.argosy.test to be served"}
    assert [wave.number for wave in order.waves] == [0, 1]


def test_a_webhook_waits_for_the_deployment_behind_its_service() -> None:
    order = order_of(
        webhook("hook", "team", groups="argosy.test", resources="things")
        + deployment("hook", "team")
        + deployment("other", "team")
    )
    assert waits_for(order, "ValidatingWebhookConfiguration", "hook") == {
        "Deployment.apps team/hook to be available"
    }


def test_what_a_webhook_is_asked_about_waits_for_the_webhook() -> None:
    order = order_of(
        webhook("hook", "team", groups="", resources="configmaps")
        + deployment("hook", "team")
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n"
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: team}\n"
    )
    hook = place(order, "ValidatingWebhookConfiguration", "hook")
    assert place(order, "ConfigMap", "a") > hook
    waves = {o.id.name: wave.number for wave in order.waves for o in wave.objects}
    assert waves["a"] == 1
    assert waves["b"] == 0


@pytest.mark.parametrize(
    ("more", "wave"),
    [
        ("failurePolicy: Ignore", 0),
        ("failurePolicy: Fail", 1),
        ("objectSelector: {matchLabels: {checked: 'yes'}}", 1),
        ("objectSelector: {matchLabels: {checked: 'no'}}", 0),
        ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team}}", 1),
        ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: else}}", 0),
        ("namespaceSelector: {matchLabels: {tier: gold}}", 1),
        ("namespaceSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}", 0),
    ],
)
def test_a_webhook_that_is_not_asked_or_may_fail_is_not_waited_for(more: str, wave: int) -> None:
    order = order_of(
        webhook("hook", "team", groups="", resources="configmaps", more=more)
        + deployment("hook", "team")
        + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {tier: gold}}\n"
        + "---\napiVersion: v1\nkind: ConfigMap\n"
        + "metadata: {name: a, namespace: team, labels: {checked: 'yes'}}\n"
    )
    waves = {
        o.id.name: w.number for w in order.waves for o in w.objects if o.id.kind == "ConfigMap"
    }
    assert waves == {"a": wave}


def test_a_webhook_without_an_authority_is_waited_for_until_it_has_one() -> None:
    text = webhook("hook", "team", groups="", resources="configmaps").replace("caBundle: QQ==", "")
    order = order_of(
        text
        + deployment("hook", "team")
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n"
    )
    assert waits_for(order, "ConfigMap", "a") == {
        (
            "ValidatingWebhookConfiguration.admissionregistration.k8s.io hook "
            "to get its certificate authority"
        )
    }


def test_pods_that_a_webhook_changes_wait_for_it_but_not_the_webhooks_own() -> None:
    order = order_of(
        webhook("hook", "team", groups="", resources="pods")
        + deployment("hook", "team")
        + deployment("web", "team")
    )
    waves = {
        o.id.name: w.number for w in order.waves for o in w.objects if o.id.kind == "Deployment"
    }
    assert waves == {"hook": 0, "web": 1}
    assert [str(cut) for cut in order.cuts] == [
        (
            "Deployment.apps team/hook does not wait for "
            "ValidatingWebhookConfiguration.admissionregistration.k8s.io hook: "
            "each would wait for the other"
        )
    ]


def test_knatives_webhook_is_asked_about_configmaps_though_its_manifest_has_no_rules() -> None:
    text = webhook("config.webhook.serving.knative.dev", "team", groups="", resources="x").replace(
        '  rules:\n  - operations: [CREATE, UPDATE]\n    apiGroups: [""]\n'
        '    apiVersions: ["*"]\n    resources: ["x"]\n',
        "",
    )
    assert "rules" not in text
    order = order_of(
        text
        + deployment("config.webhook.serving.knative.dev", "team")
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n"
    )
    assert {w.number for w in order.waves for o in w.objects if o.id.kind == "ConfigMap"} == {1}


def test_pods_wait_for_what_they_mount_and_for_their_rights() -> None:
    order = order_of(
        deployment(
            "web",
            "team",
            pod="""\
            serviceAccountName: web
            volumes: [{name: c, configMap: {name: settings}}]
            """,
        )
        + """
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: team}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: team}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: team}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: team}
"""
    )
    web = place(order, "Deployment", "web")
    for kind, name in [
        ("ConfigMap", "settings"),
        ("ServiceAccount", "web"),
        ("RoleBinding", "web"),
    ]:
        assert place(order, kind, name) < web
    assert place(order, "Role", "web") < place(order, "RoleBinding", "web")


def test_an_apps_workloads_come_behind_those_of_the_apps_that_it_needs() -> None:
    tree = Tree(
        platform(
            {"b": deployment("b", "team"), "a": deployment("a", "team"), "c": ""},
            {"b": ("c",), "c": ("a",)},
        )
    )
    order = tree.order()
    assert place(order, "Deployment", "a") < place(order, "Deployment", "b")
    assert [len(wave.objects) for wave in order.waves] == [1, 1]
    steps = list(order.steps)
    rolled_out = Gate("healthy", ObjectId("apps", "Deployment", "team", "a"))
    assert steps.index(rolled_out) < steps.index(ObjectId("apps", "Deployment", "team", "b"))


def test_nobody_waits_for_an_app_that_nobody_needs() -> None:
    tree = Tree(platform({"a": deployment("a", "team"), "b": deployment("b", "team")}, {}))
    order = tree.order()
    assert waits_for(order, "Deployment", "a") == waits_for(order, "Deployment", "b") == set()


def test_a_namespace_that_a_profile_makes_is_waited_for() -> None:
    order = order_of(
        "apiVersion: kubeflow.org/v1\nkind: Profile\nmetadata: {name: ann}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ann}\n"
    )
    assert waits_for(order, "ConfigMap", "a") == {"Namespace ann to be made by its controller"}


# -- the order itself, on any graph ----------------------------------------------------------------


def some_object(number: int) -> RenderedObject:
    (found,) = objects("app", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: o{number}}}\n")
    return found


edges = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from(CUTTABLE)), max_size=40
)


def steps_of(found: list[tuple[int, int, str]], gated: set[int]) -> list[Step]:
    made = [some_object(n) for n in range(12)]
    keys: list[ObjectId | Gate | str] = [
        Gate("healthy", o.id) if n in gated else o.id for n, o in enumerate(made)
    ]
    return [
        Step(
            keys[n],
            None if n in gated else made[n],
            tuple(Edge(keys[b], why) for a, b, why in found if a == n),  # type: ignore[arg-type]
        )
        for n in range(12)
    ]


@given(edges, st.sets(st.integers(0, 11)))
@settings(deadline=None)
def test_every_step_stands_behind_all_that_it_waits_for(
    found: list[tuple[int, int, str]], gated: set[int]
) -> None:
    order = build_order(steps_of(found, gated))
    assert len(order.steps) == 12
    places = {key: n for n, key in enumerate(order.steps)}
    for key, step in order.steps.items():
        for edge in step.after:
            before = order.steps[edge.before]
            assert places[edge.before] < places[key]
            assert step.wave >= before.wave + (before.gate is not None)
            assert before.height >= step.height + (step.gate is not None)


@given(edges, st.sets(st.integers(0, 11)))
@settings(deadline=None)
def test_the_same_steps_give_the_same_order(
    found: list[tuple[int, int, str]], gated: set[int]
) -> None:
    one, other = (build_order(steps_of(found, gated)) for _ in range(2))
    assert list(one.steps) == list(other.steps)
    assert one.cuts == other.cuts


@given(edges)
@settings(deadline=None)
def test_only_what_is_in_a_circle_is_cut(found: list[tuple[int, int, str]]) -> None:
    forward = [(max(a, b), min(a, b), why) for a, b, why in found]
    assert build_order(steps_of(forward, set())).cuts == ()


def test_the_order_of_a_large_tree_takes_linear_time() -> None:
    def work(count: int) -> int:
        """Return how many edges are looked at, which is what the time is made of."""
        text = NAMESPACE + "".join(
            f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}, namespace: team}}\n"
            + deployment(f"d{n}", "team", pod=f"volumes: [{{name: c, configMap: {{name: c{n}}}}}]")
            for n in range(count)
        )
        return sum(len(step.after) for step in order_of(text).steps.values())

    assert work(80) < 4.2 * work(20)
