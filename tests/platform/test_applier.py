"""Steps run as soon as what they wait for is done; a failure holds up what is behind it alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from apply_platforms import crd, deployment, platform, webhook
from argosy.kube import Invalid, Unreachable
from argosy.platform.applier import Outcome, Work, carry_out
from argosy.platform.dependencies import Tree
from argosy.platform.readiness import GateClosed

if TYPE_CHECKING:
    from argosy.platform.model import RenderedObject
    from argosy.platform.waves import Gate, Order

TREE = (
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
    + deployment("hook", "team")
    + webhook("hook", "team", groups="", resources="configmaps")
    + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n"
    + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: free, namespace: team}\n"
)


def tree(text: str = TREE) -> Order:
    return Tree(platform({"app": text})).order()


class Recorder:
    """Notes what is done, and fails where it is told to."""

    def __init__(self, **fail: Exception) -> None:
        self.done: list[str] = []
        self.most = 0
        self._fail = fail
        self._now = 0

    async def perform(self, found: RenderedObject) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        if error := self._fail.get(found.id.name):
            raise error
        self.done.append(f"{found.id.kind} {found.id.name}")

    async def wait(self, gate: Gate) -> None:
        if error := self._fail.get("gate"):
            raise error
        self.done.append(str(gate))

    @property
    def work(self) -> Work:
        return Work(self.perform, self.wait)


async def run(order: Order, recorder: Recorder, *, acting: set[str] | None = None) -> Outcome:
    chosen = frozenset(o.id for o in order.objects() if acting is None or o.id.name in acting)
    return await carry_out(order, chosen, recorder.work)


async def test_everything_is_done_behind_what_it_waits_for() -> None:
    recorder = Recorder()
    outcome = await run(tree(), recorder)
    assert len(outcome.done) == 6
    gate = recorder.done.index("Deployment.apps team/hook to be available")
    assert recorder.done[0] == "Namespace team"
    assert recorder.done.index("Deployment hook") < gate
    assert recorder.done[gate + 1 :] == ["ValidatingWebhookConfiguration hook", "ConfigMap a"]


async def test_gates_in_front_of_nothing_that_is_to_be_done_are_not_waited_for() -> None:
    recorder = Recorder()
    await run(tree(), recorder, acting={"free"})
    assert recorder.done == ["ServiceAccount free"]


async def test_what_is_behind_a_failure_is_not_tried_and_the_rest_is() -> None:
    recorder = Recorder(hook=Invalid("no"))
    outcome = await run(tree(), recorder)
    assert "ServiceAccount free" in recorder.done
    assert {id_.name for id_ in outcome.skipped} == {"hook", "a"}
    assert all("no" in str(error) for error in outcome.failed.values())


async def test_a_gate_that_does_not_open_is_a_failure_of_what_is_behind_it() -> None:
    outcome = await run(tree(), Recorder(gate=GateClosed("too late")))
    assert [str(key) for key in outcome.failed] == ["Deployment.apps team/hook to be available"]
    assert {id_.name for id_ in outcome.skipped} == {"hook", "a"}


async def test_an_error_that_concerns_everything_stops_everything() -> None:
    with pytest.raises(Unreachable, match="gone"):
        await run(tree(), Recorder(team=Unreachable("gone")))


async def test_no_more_than_the_width_is_under_way() -> None:
    text = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}, namespace: x}}\n"
        for n in range(30)
    )
    recorder = Recorder()
    order = tree(text)
    await carry_out(order, frozenset(o.id for o in order.objects()), recorder.work, width=5)
    assert recorder.most == 5


async def test_definitions_that_something_waits_for_go_before_those_that_nothing_waits_for() -> (
    None
):
    text = (
        crd("others", "Other")
        + crd("things", "Thing")
        + "---\napiVersion: argosy.test/v1\nkind: Thing\nmetadata: {name: t, namespace: x}\n"
    )
    recorder = Recorder()
    await run(tree(text), recorder)
    kinds = [name for name in recorder.done if name.startswith("CustomResourceDefinition")]
    assert kinds[0].endswith("things.argosy.test")
