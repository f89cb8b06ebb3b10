"""What an apply waits for says why: pods, their events, and definitions that are not served."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from apply_platforms import crd, deployment, platform
from argosy.kube import KubeApi, load_kubeconfig
from argosy.kube.config import ClusterConfig
from argosy.platform.apply import Applying, Incomplete, prepare
from argosy.platform.board import Board, Waiting
from argosy.platform.established import look_at
from argosy.platform.readiness import WORKLOADS
from argosy.platform.reasons import why_not_ready
from argosy.platform.status import read_status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from argosy.platform.model import RenderedPlatform
    from devcluster_fixtures import TestCluster

DEPLOYMENTS = WORKLOADS["apps", "Deployment"]


@pytest.fixture
async def api(devcluster: TestCluster, tmp_path: Path) -> AsyncIterator[KubeApi]:
    async with KubeApi(load_kubeconfig(devcluster.kubeconfig), cache=tmp_path / "cache") as client:
        yield client


class Told(Board):
    """Remembers the last reason for each thing that was waited for."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def waiting(self, found: list[Waiting]) -> None:
        self.reasons |= {item.what: item.reason for item in found if item.reason}


def simulated(name: str, simulate: str, *, account: str = "default") -> RenderedPlatform:
    """A platform of one Deployment whose pods do what an annotation says."""
    space = f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
    web = deployment("web", name, pod=f"serviceAccountName: {account}").replace(
        "labels: {app: web}}\n",
        f"labels: {{app: web}}, annotations: {{argosy.dev/simulate: {simulate}}}}}\n",
    )
    assert simulate in web
    return platform({"app": space + web}, name=name)


async def reason_of(api: KubeApi, found: RenderedPlatform) -> tuple[str, str]:
    """Apply what never gets ready; return what the error says, and what the board was told."""
    told = Told()
    with pytest.raises(Incomplete) as failed:
        await Applying(api, await prepare(api, found), timeout=5, board=told).run()
    return str(failed.value), told.reasons[f"Deployment.apps {found.name}/web to be available"]


@pytest.mark.apiserver
async def test_an_image_that_cannot_be_pulled_is_told_while_it_is_waited_for(api: KubeApi) -> None:
    found = simulated("wa-pull", "image-pull")
    error, told = await reason_of(api, found)
    assert "pod web-" in told
    assert "container main: ImagePullBackOff" in told
    assert "ImagePullBackOff" in error
    told_once = "2 objects were applied, 1 failed: waited 5 s for Deployment.apps wa-pull/web to be"
    assert error.startswith(told_once)
    (app,) = (await read_status(api, found)).apps
    assert "container main: ImagePullBackOff" in app.unwell[0].reason


@pytest.mark.apiserver
async def test_pods_that_run_and_are_not_ready_say_so(api: KubeApi) -> None:
    error, told = await reason_of(api, simulated("wa-never", "never-ready"))
    assert "container main is not ready" in told
    assert "pod web-" in told
    assert told in error


@pytest.mark.apiserver
async def test_a_container_that_crashes_says_how_it_ended(api: KubeApi) -> None:
    found = simulated("wa-crash", "fail")
    await Applying(api, await prepare(api, found), wait=False).run()
    live = await api.get(DEPLOYMENTS, "web", "wa-crash")
    async with asyncio.timeout(60):
        while "it exited" not in (told := await why_not_ready(api, live)):
            pass
    assert "container main: CrashLoopBackOff" in told
    assert "(it exited with 1" in told


@pytest.mark.apiserver
async def test_pods_that_are_not_made_say_what_the_event_says(api: KubeApi) -> None:
    error, told = await reason_of(api, simulated("wa-none", "complete", account="nobody"))
    assert "FailedCreate" in told
    assert 'serviceaccount "nobody" not found' in told
    assert 'serviceaccount "nobody" not found' in error


@pytest.mark.apiserver
async def test_a_warning_about_something_else_of_the_same_name_is_not_told(
    api: KubeApi, devcluster: TestCluster
) -> None:
    found = simulated("wa-other", "nothing")
    await Applying(api, await prepare(api, found), timeout=60).run()
    live = await api.get(DEPLOYMENTS, "web", "wa-other")
    for name, kind in (("a", "HorizontalPodAutoscaler"), ("b", "Deployment")):
        about = {"kind": kind, "name": "web", "namespace": "wa-other"}
        event = {
            "metadata": {"name": name},
            "involvedObject": about,
            "type": "Warning",
            "reason": "Odd",
            "message": f"this is the {kind}'s",
        }
        devcluster.api.create("/api/v1/namespaces/wa-other/events", event)
    assert await why_not_ready(api, live) == "Odd: this is the Deployment's"


@pytest.mark.apiserver
async def test_what_is_ready_has_no_reason(api: KubeApi) -> None:
    await Applying(api, await prepare(api, simulated("wa-fine", "nothing")), timeout=60).run()
    live = await api.get(DEPLOYMENTS, "web", "wa-fine")
    assert await why_not_ready(api, live) == ""


@pytest.mark.apiserver
async def test_after_an_apply_every_kind_is_served(api: KubeApi) -> None:
    found = platform({"app": crd("waits", "Wait") + crd("idles", "Idle")}, name="wa-kinds")
    await Applying(api, await prepare(api, found), timeout=60).run()
    index = await api.resources(fresh=True)
    assert index.find("argosy.test", None, "Wait")
    assert index.find("argosy.test", None, "Idle")
    assert (await read_status(api, found)).well


@pytest.mark.apiserver
async def test_a_definition_whose_names_are_taken_says_so(api: KubeApi) -> None:
    first = platform({"app": crd("firsts", "First", "wa.test")}, name="wa-first")
    await Applying(api, await prepare(api, first), timeout=60).run()
    second = crd("seconds", "First", "wa.test")
    await Applying(
        api, await prepare(api, platform({"app": second}, name="wa-second")), wait=False
    ).run()
    health = await look_at(api, "seconds.wa.test")
    while health.state == "progressing":
        health = await look_at(api, "seconds.wa.test")
    assert health.state == "degraded"
    assert health.reason == 'its names are not accepted: "FirstList" is already in use'


class Forgetful:
    """An API server with one definition that it establishes when it hears of a change."""

    def __init__(self) -> None:
        self.patches: list[Any] = []
        self.established = "False"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if head.startswith("patch"):
                length = int(head.partition("content-length: ")[2].split("\r\n")[0])
                self.patches.append(msgspec.json.decode(await reader.readexactly(length)))
                self.established = "True"
            content = msgspec.json.encode(self.definition())
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
            )
            await writer.drain()
        writer.close()

    def definition(self) -> dict[str, Any]:
        conditions = [
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": self.established, "reason": "Installing"},
        ]
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.test", "resourceVersion": "1"},
            "status": {"conditions": conditions},
        }


async def test_a_definition_that_a_restarted_api_server_forgot_is_brought_to_its_mind() -> None:
    forgetful = Forgetful()
    server = await asyncio.start_server(forgetful.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, KubeApi(ClusterConfig(server=f"http://127.0.0.1:{port}")) as api:
        health = await look_at(api, "things.test")
        assert health.state == "progressing"
        marks = [
            patch["metadata"]["annotations"]["argosy.dev/woken"] for patch in forgetful.patches
        ]
        assert marks == ["true", None], "the mark is taken off again"
        await look_at(api, "things.test")
        assert len(forgetful.patches) == 2, "what is established is left alone"
