"""Apply against a real API server: what is written, what is left alone, what stops it."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from apply_platforms import crd, deployment, platform, webhook
from argosy.kube import Invalid, KubeApi, Unreachable, load_kubeconfig
from argosy.kube.backoff import Backoff
from argosy.platform.apply import Applying, ApplyRefused, Incomplete, Report, prepare
from argosy.platform.lease import LEASES, NAME, Lease, LeaseHeld, this_process
from argosy.platform.plan import Options, Plan
from refusing_proxy import refusing_proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from argosy.platform.model import RenderedPlatform
    from devcluster_fixtures import TestCluster

pytestmark = pytest.mark.apiserver


@pytest.fixture
async def api(devcluster: TestCluster, tmp_path: Path) -> AsyncIterator[KubeApi]:
    async with KubeApi(load_kubeconfig(devcluster.kubeconfig), cache=tmp_path / "cache") as client:
        yield client


async def apply(api: KubeApi, found: RenderedPlatform, **options: Any) -> Report:
    prepared = await prepare(api, found, options=Options(**options))
    return await Applying(api, prepared, timeout=60).run()


async def plan(api: KubeApi, found: RenderedPlatform, **options: Any) -> Plan:
    return (await prepare(api, found, options=Options(**options))).plan


def config(name: str, namespace: str, **data: str) -> str:
    values = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return (
        "---\napiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        f"data:\n  text: x\n{values}"
    )


def small(name: str, *, image: str = "example.com/app:1", extra: str = "") -> RenderedPlatform:
    """A platform with a namespace of its own, named after it."""
    text = f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
    secret = (
        f"---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: {name}}}\n"
        "stringData: {password: correct-horse}\n"
    )
    whole = text + secret + config("settings", name) + deployment("web", name, image=image)
    return platform({"app": whole + extra}, name=name)


def versions(cluster: TestCluster, namespace: str) -> dict[str, str]:
    """Return the resourceVersions of a namespace's objects that nobody else writes."""
    found = {}
    for path in ("configmaps", "secrets"):
        for obj in cluster.api.get(f"/api/v1/namespaces/{namespace}/{path}")["items"]:
            found[obj["metadata"]["name"]] = obj["metadata"]["resourceVersion"]
    for obj in cluster.api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments")["items"]:
        found[obj["metadata"]["name"]] = obj["metadata"]["resourceVersion"]
    parents = cluster.api.get("/api/v1/namespaces/argosy-system/configmaps")["items"]
    found |= {p["metadata"]["name"]: p["metadata"]["resourceVersion"] for p in parents}
    return found


async def test_a_second_apply_writes_nothing(api: KubeApi, devcluster: TestCluster) -> None:
    first = await apply(api, small("ap-twice"))
    assert len(first.applied) == 4
    before = versions(devcluster, "ap-twice")
    wrote = api.stats.by_verb()["apply"]
    second = await apply(api, small("ap-twice"))
    assert second.applied == []
    assert versions(devcluster, "ap-twice") == before
    assert api.stats.by_verb()["apply"] == wrote


async def test_a_changed_image_touches_its_deployment_alone(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("ap-image"))
    before = versions(devcluster, "ap-image")
    report = await apply(api, small("ap-image", image="example.com/app:2"))
    assert [id_.name for id_ in report.applied] == ["web"]
    after = versions(devcluster, "ap-image")
    assert {name for name in before if before[name] != after[name]} == {
        "web",
        "ap-image.default.app",
    }


async def test_the_plan_shows_which_fields_change(api: KubeApi) -> None:
    await apply(api, small("ap-fields"))
    prepared = await prepare(api, small("ap-fields", image="example.com/app:2"))
    (changes,) = prepared.inspected.changes.values()
    assert [(c.path, c.new) for c in changes] == [
        ("spec.template.spec.containers[name=main].image", "example.com/app:2")
    ]


async def test_a_secret_that_somebody_changed_is_found_and_put_right(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("ap-secret"))
    path = "/api/v1/namespaces/ap-secret/secrets/s"
    devcluster.api.merge(path, {"data": {"password": "aGFja2Vk"}})
    found = await plan(api, small("ap-secret"), force=frozenset({"Python-urllib"}))
    assert [a.id.name for a in found.actions] == ["s"]


async def test_a_conflict_names_the_manager_the_field_and_the_way_out(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("ap-conflict"))
    path = "/api/v1/namespaces/ap-conflict/configmaps/settings?fieldManager=somebody"
    devcluster.api.merge(path, {"data": {"text": "theirs"}})
    with pytest.raises(ApplyRefused) as refused:
        await apply(api, small("ap-conflict"))
    assert str(refused.value) == (
        "nothing was changed: ConfigMap ap-conflict/settings: somebody owns data.text; "
        "--force-conflicts somebody takes the fields all the same"
    )
    report = await apply(api, small("ap-conflict"), force=frozenset({"somebody"}))
    assert [id_.name for id_ in report.applied] == ["settings"]
    live = devcluster.api.get("/api/v1/namespaces/ap-conflict/configmaps/settings")
    assert live["data"]["text"] == "x"


async def test_a_controllers_own_fields_are_no_drift(api: KubeApi, devcluster: TestCluster) -> None:
    await apply(api, small("ap-theirs"))
    path = "/apis/apps/v1/namespaces/ap-theirs/deployments/web?fieldManager=controller"
    devcluster.api.merge(path, {"metadata": {"annotations": {"theirs": "yes"}}})
    assert (await plan(api, small("ap-theirs"))).actions == []


async def test_prune_deletes_what_is_rendered_no_more_and_only_that(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("ap-prune", extra=config("old", "ap-prune")))
    devcluster.api.create(
        "/api/v1/namespaces/ap-prune/configmaps", {"metadata": {"name": "not-ours"}}
    )
    kept = await apply(api, small("ap-prune"))
    assert kept.deleted == []
    report = await apply(api, small("ap-prune"), prune=True)
    assert [id_.name for id_ in report.deleted] == ["old"]
    names = versions(devcluster, "ap-prune")
    assert "old" not in names
    assert "not-ours" in names
    assert (await plan(api, small("ap-prune"), prune=True)).actions == []


async def test_an_object_that_moves_to_another_app_is_not_pruned(api: KubeApi) -> None:
    space = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ap-move}\n"
    moving = config("a", "ap-move")
    await apply(api, platform({"one": space + moving, "two": ""}, name="ap-move"))
    report = await apply(api, platform({"one": space, "two": moving}, name="ap-move"), prune=True)
    assert report.deleted == []
    assert [id_.name for id_ in report.applied] == ["a"]


async def test_adoption_takes_over_what_kubectl_made_and_drops_what_is_not_rendered(
    api: KubeApi, devcluster: TestCluster, tmp_path: Path
) -> None:
    devcluster.api.create("/api/v1/namespaces", {"metadata": {"name": "ap-adopt"}})
    manifest = tmp_path / "a.yaml"
    manifest.write_text(config("settings", "ap-adopt", left="over"))
    subprocess.run(  # noqa: ASYNC221  # a test's setting up
        ["kubectl", "--kubeconfig", str(devcluster.kubeconfig), "apply", "-f", str(manifest)],
        check=True,
        capture_output=True,
    )
    with pytest.raises(ApplyRefused, match=r"kubectl-client-side-apply.*--adopt takes them over"):
        await apply(api, small("ap-adopt"))
    await apply(api, small("ap-adopt"), adopt=True)
    live = devcluster.api.get("/api/v1/namespaces/ap-adopt/configmaps/settings")
    assert live["data"] == {"text": "x"}
    managers = {entry["manager"] for entry in live["metadata"]["managedFields"]}
    assert managers == {"argosy-platform"}


async def test_what_cannot_be_patched_stops_the_plan_and_is_replaced_when_named(
    api: KubeApi, devcluster: TestCluster
) -> None:
    await apply(api, small("ap-replace"))
    path = "/apis/apps/v1/namespaces/ap-replace/deployments/web"
    uid = devcluster.api.get(path)["metadata"]["uid"]
    found = small("ap-replace")
    text = "\n".join(o.text for o in found.objects()).replace("app: web", "app: other")
    docs = "".join(f"---\n{o.text}" for o in found.objects()).replace("app: web", "app: other")
    assert "other" in text
    changed = platform({"app": docs}, name="ap-replace")
    with pytest.raises(ApplyRefused, match=r"spec.selector cannot be changed"):
        await apply(api, changed)
    assert devcluster.api.get(path)["metadata"]["uid"] == uid
    await apply(api, changed, replace=frozenset({"Deployment/ap-replace/web"}))
    live = devcluster.api.get(path)
    assert live["metadata"]["uid"] != uid
    assert live["spec"]["selector"]["matchLabels"] == {"app": "other"}


async def test_what_the_server_would_refuse_stops_the_plan(api: KubeApi) -> None:
    await apply(api, small("ap-invalid"))
    docs = "".join(f"---\n{o.text}" for o in small("ap-invalid").objects())
    wrong = platform({"app": docs.replace("replicas: 1", "replicas: -1")}, name="ap-invalid")
    with pytest.raises(ApplyRefused, match="the API server would refuse it"):
        await apply(api, wrong)


async def test_a_failure_leaves_the_rest_applied_and_says_what_is_behind_it(
    api: KubeApi, devcluster: TestCluster
) -> None:
    wrong = deployment("bad", "ap-fails").replace("replicas: 1", "replicas: -1")
    with pytest.raises(Incomplete) as failed:
        await apply(api, small("ap-fails", extra=wrong))
    told = "4 objects were applied, 1 failed: apply Deployment.apps ap-fails/bad: "
    assert str(failed.value).startswith(told)
    assert isinstance(failed.value.__cause__, Invalid | None)
    report = await apply(api, small("ap-fails", extra=deployment("bad", "ap-fails")))
    assert [id_.name for id_ in report.applied] == ["bad"]


async def test_a_writer_keeps_others_out_and_a_dead_one_does_not(api: KubeApi) -> None:
    await apply(api, small("ap-lease"))
    elsewhere = Lease(api, holder="other-host/1@2", purpose="apply other")
    await elsewhere.acquire()
    with pytest.raises(LeaseHeld, match=r"other-host/1@2 is writing .*apply other"):
        await apply(api, small("ap-lease", image="example.com/app:3"))
    await elsewhere.release()
    dead = Lease(api, holder=f"{socket.gethostname()}/{2**22 + 1}@1", purpose="apply")
    await dead.acquire()
    await apply(api, small("ap-lease", image="example.com/app:3"))


async def test_a_holder_that_was_stopped_finds_out_before_it_writes(api: KubeApi) -> None:
    await apply(api, small("ap-stopped"))

    class Stopped:
        """A process for which a minute passes while it stands still."""

        def __init__(self) -> None:
            self.skipped = 0.0

        def now(self) -> Any:
            from datetime import UTC, datetime, timedelta

            return datetime.now(UTC) + timedelta(seconds=self.skipped)

        def monotonic(self) -> float:
            return asyncio.get_running_loop().time() + self.skipped

        def is_gone(self, holder: str) -> bool:
            return False

    around = Stopped()
    lease = Lease(api, holder="one", purpose="apply", surroundings=around)
    await lease.acquire()
    await lease.check()
    around.skipped = -60.0  # the lease that it wrote is a minute old for everybody else
    await lease._api.replace(LEASES, _aged(await lease._find()))
    other = Lease(api, holder=this_process(), purpose="apply")
    await other.acquire()
    around.skipped = 60.0
    around.now = lambda: __import__("datetime").datetime.now(  # type: ignore[method-assign]
        __import__("datetime").UTC
    )
    with pytest.raises(LeaseHeld):
        await lease.check()
    await other.release()


def _aged(lease: Any) -> Any:
    lease["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    return lease


async def test_the_lease_is_one_object_with_the_name_that_is_documented(api: KubeApi) -> None:
    await apply(api, small("ap-named"))
    live = await api.get(LEASES, NAME, "argosy-system")
    assert live["spec"]["holderIdentity"] == ""


class CutLine:
    """A line to the API server that breaks after some bytes, and never comes back."""

    def __init__(self, server: str, limit: int) -> None:
        host, _, port = server.removeprefix("https://").partition(":")
        self._target = (host, int(port))
        self._left = limit
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._cut()

    def _cut(self) -> None:
        self._server.close()
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(*self._target)
        self._open |= {writer, up_writer}
        await asyncio.gather(self._pump(reader, up_writer), self._pump(up_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(4096):
                self._left -= len(data)
                if self._left < 0:
                    self._cut()
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            return


async def test_a_server_that_goes_away_is_one_sentence_and_the_next_run_goes_on(
    api: KubeApi, devcluster: TestCluster, tmp_path: Path
) -> None:
    extra = "".join(config(f"c{n}", "ap-away") for n in range(300))
    found = small("ap-away", extra=extra)
    async with CutLine(devcluster.server, limit=160_000) as server:
        kubeconfig = tmp_path / "config"
        text = devcluster.kubeconfig.read_text()
        kubeconfig.write_text(text.replace(devcluster.server, server))
        broken = KubeApi(load_kubeconfig(kubeconfig), backoff=Backoff(attempts=2), concurrency=2)
        async with broken:
            with pytest.raises(Unreachable) as failed:
                await apply(broken, found)
    assert failed.value.exit_code == 3
    assert "\n" not in str(failed.value)
    before = versions(devcluster, "ap-away")
    assert 0 < len([name for name in before if name.startswith("c")]) < 300
    await apply(api, found)
    assert (await plan(api, found)).actions == []


def test_an_apply_that_is_killed_anywhere_is_healed_by_the_next(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    chance = random.Random(os.getpid())
    text = "".join(f"---\n{o.text}" for o in small("ap-killed").objects())
    text += "".join(config(f"c{n}", "ap-killed") for n in range(80))
    file = tmp_path / "all.yaml"
    command = [
        *(sys.executable, "-m", "apply_once"),
        *(str(devcluster.kubeconfig), "ap-killed", str(file)),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "tests"])}
    root = Path(__file__).resolve().parents[2]
    for run in range(5):
        file.write_text(text.replace("text: x", f"text: x{run}"))
        process = subprocess.Popen(
            command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        try:
            process.wait(chance.uniform(0.02, 0.5))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("begin\n")
    live = devcluster.api.get("/api/v1/namespaces/ap-killed/configmaps")["items"]
    ours = [o for o in live if o["metadata"]["name"] != "kube-root-ca.crt"]
    assert len(ours) == 81
    assert {o["data"]["text"] for o in ours} == {"x4"}
    again = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    assert again.stdout == "begin\n0\n"


async def test_nothing_is_refused_by_webhooks_that_are_not_up_yet(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    name = "ap-hooks"
    here = f"namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}"
    text = (
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
        + crd("widgets", "Widget")
        + "---\napiVersion: argosy.test/v1\nkind: Widget\n"
        + f"metadata: {{name: w, namespace: {name}}}\n"
        + config("checked", name)
        + webhook("first", name, groups="argosy.test", resources="widgets")
        + webhook("second", name, groups="", resources="configmaps", more=here)
        + deployment("first", name)
        + deployment("second", name)
    )
    proxy = refusing_proxy(devcluster, text)
    kubeconfig = tmp_path / "proxied"
    async with (
        proxy.serve(kubeconfig),
        KubeApi(load_kubeconfig(kubeconfig), cache=tmp_path / "cache") as api,
    ):
        report = await apply(api, platform({"app": text}, name=name))
        assert len(report.applied) == 10
    assert proxy.refused == []
    assert [code for code in proxy.answers if code >= 400] == []


async def test_the_proxy_does_refuse_what_comes_too_early(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    text = webhook("never", "default", groups="", resources="configmaps")
    text += deployment("never", "default")
    proxy = refusing_proxy(devcluster, text)
    kubeconfig = tmp_path / "proxied"
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "early", "namespace": "default"},
    }
    async with (
        proxy.serve(kubeconfig),
        KubeApi(
            load_kubeconfig(kubeconfig), backoff=Backoff(attempts=1), cache=tmp_path / "cache"
        ) as api,
    ):
        with pytest.raises(Exception, match="failed calling webhook"):
            await api.apply(obj)
    assert len(proxy.refused) == 1
