"""The client against a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import stat
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from argosy.errors import UsageError
from argosy.kube import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeApi,
    NoSuchKind,
    NotFound,
    Priority,
    Resource,
    Unauthorized,
    Unreachable,
    load_in_cluster,
    load_kubeconfig,
)
from argosy.kube.fields import adoption_patch, last_applied_managers, owned_paths, owners
from argosy.yaml import dump, load

if TYPE_CHECKING:
    from pathlib import Path

    from devcluster_fixtures import TestCluster

pytestmark = pytest.mark.apiserver

MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
PATIENCE = 20  # seconds for what a cluster does in one


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def crd(plural: str, kind: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kube.argosy.dev"},
        "spec": {
            "group": "kube.argosy.dev",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


# -- discovery -----------------------------------------------------------------------------------


async def test_resources_are_found_by_kind_and_by_what_people_call_them(api: KubeApi) -> None:
    deployment = await api.resource("apps", None, "Deployment")
    assert deployment.path("n", "a", "scale") == "/apis/apps/v1/namespaces/n/deployments/a/scale"
    index = await api.resources()
    for name in ("deploy", "deployments", "Deployment", "deployment.apps"):
        assert index.find_name(name) == [deployment]
    assert index.find_name("ev")[0].group == ""
    assert index.find("", "v1", "Pod") is not None
    assert index.find("", "v7", "Pod") is None


async def test_a_second_client_asks_with_the_first_ones_cache(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    config = load_kubeconfig(devcluster.kubeconfig)
    for expected in (200, 304):
        async with KubeApi(config, cache=tmp_path) as api:
            assert len(await api.resources()) > 50
            assert api.stats.requests == {("discover", expected): 2}


async def test_a_damaged_cache_is_no_cache(devcluster: TestCluster, tmp_path: Path) -> None:
    config = load_kubeconfig(devcluster.kubeconfig)
    for damage in (b"", b"{", b'{"format":0,"at":0,"halves":{}}', b"[]"):
        for file in os.listdir(tmp_path):
            (tmp_path / file).write_bytes(damage)
        async with KubeApi(config, cache=tmp_path) as api:
            assert len(await api.resources()) > 50


async def test_a_kind_that_was_just_defined_is_found(api: KubeApi) -> None:
    with pytest.raises(NoSuchKind, match=r"does not serve Fresh\.kube\.argosy\.dev"):
        await api.resource("kube.argosy.dev", "v1", "Fresh")
    definition = crd("freshes", "Fresh")
    resource = await api.resource_of(definition)
    await api.apply(definition)
    async with asyncio.timeout(PATIENCE):
        async for event in api.follow(
            resource, field_selector="metadata.name=freshes.kube.argosy.dev"
        ):
            conditions = event.object.get("status", {}).get("conditions") or ()
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                break
        found = await api.resource("kube.argosy.dev", "v1", "Fresh", wait=PATIENCE)
    assert found.plural == "freshes"
    with pytest.raises(NoSuchKind, match=r"it serves kube\.argosy\.dev/v1"):
        await api.resource("kube.argosy.dev", "v2", "Fresh")
    await api.delete(resource, "freshes.kube.argosy.dev")


async def test_openapi_documents_are_fetched_once(devcluster: TestCluster, tmp_path: Path) -> None:
    config = load_kubeconfig(devcluster.kubeconfig)
    for asked in (2, 1):
        async with KubeApi(config, cache=tmp_path) as api:
            assert b"io.k8s.api.apps.v1.Deployment" in await api.openapi("apps/v1")
            assert api.stats.by_verb() == {"openapi": asked}
            with pytest.raises(NotFound, match="no OpenAPI document for nothing/v1"):
                await api.openapi("nothing/v1")


# -- server-side apply ---------------------------------------------------------------------------


async def test_applying_the_same_again_changes_nothing(api: KubeApi, namespace: str) -> None:
    first = await api.apply(config_map(namespace, x="1"))
    again = await api.apply(config_map(namespace, x="1"))
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    changed = await api.apply(config_map(namespace, y="2"))
    assert changed["data"] == {"y": "2"}


async def test_a_manifest_is_applied_from_its_bytes_json_or_yaml(
    api: KubeApi, namespace: str
) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b, namespace: {namespace}}}\n"
    found = await api.apply(text.encode(), resource=MAPS, name="b", namespace=namespace)
    assert found["metadata"]["name"] == "b"
    body = msgspec.json.encode(config_map(namespace, "c"))
    assert (await api.apply(body))["metadata"]["name"] == "c"
    with pytest.raises(UsageError, match="no manifest"):
        await api.apply(text.encode())
    with pytest.raises(UsageError, match="without a name"):
        await api.apply({"apiVersion": "v1", "kind": "ConfigMap"})


async def test_a_conflict_names_the_field_and_the_other_manager(
    api: KubeApi, namespace: str
) -> None:
    await api.apply(config_map(namespace, x="1"), manager="other")
    with pytest.raises(Conflict) as caught:
        await api.apply(config_map(namespace, x="2"))
    assert [(f.path, f.manager, f.operation) for f in caught.value.fields] == [
        ("data.x", "other", "Apply")
    ]
    assert str(caught.value) == f"apply ConfigMap {namespace}/a: data.x is owned by other"
    taken = await api.apply(config_map(namespace, x="2"), force=True)
    assert [o.manager for o in owners(taken, "data.x")] == ["argosy-platform"]


async def test_a_conflict_below_a_list_is_written_as_managed_fields_are(
    api: KubeApi, namespace: str
) -> None:
    def deployment(image: str) -> dict[str, Any]:
        labels = {"app": "web"}
        container = {"name": "web", "image": image}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }

    made = await api.apply(deployment("one"), manager="other")
    with pytest.raises(Conflict) as caught:
        await api.apply(deployment("two"))
    path = "spec.template.spec.containers[name=web].image"
    assert [f.path for f in caught.value.fields] == [path]
    entry = next(e for e in made["metadata"]["managedFields"] if e["manager"] == "other")
    assert path in owned_paths(entry)
    resource = await api.resource("apps", "v1", "Deployment")
    form = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "three"}]}}}}
    await api.patch(resource, "web", namespace, form, form="strategic", manager="editor")
    with pytest.raises(Conflict) as caught:
        await api.apply(deployment("two"))
    assert [(f.manager, f.operation) for f in caught.value.fields] == [("editor", "Update")]


async def test_a_dry_run_answers_and_changes_nothing(api: KubeApi, namespace: str) -> None:
    told = await api.apply(config_map(namespace, x="1"), dry_run=True)
    assert told["data"] == {"x": "1"}
    assert await api.find(MAPS, "a", namespace) is None


async def test_an_object_that_is_not_accepted_names_the_fields(
    api: KubeApi, namespace: str
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"ports": [{"port": 99999}]},
    }
    with pytest.raises(Invalid) as caught:
        await api.apply(service)
    assert "spec.ports[0].port" in [c.field for c in caught.value.causes]


async def test_unknown_fields_of_a_create_are_warned_about(
    devcluster: TestCluster, namespace: str
) -> None:
    warnings: list[str] = []
    config = load_kubeconfig(devcluster.kubeconfig)
    async with KubeApi(config, on_warning=warnings.append) as api:
        await api.create(MAPS, {**config_map(namespace), "colour": "red"})
    assert warnings == ['unknown field "colour"']


async def test_what_kubectl_applied_is_taken_over_and_what_is_no_longer_rendered_goes(
    api: KubeApi, devcluster: TestCluster, namespace: str, tmp_path: Path
) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl on PATH to apply with on the client's side")
    manifest = tmp_path / "map.yaml"
    manifest.write_text(dump(config_map(namespace, kept="1", dropped="1")))
    process = await asyncio.create_subprocess_exec(
        "kubectl", f"--kubeconfig={devcluster.kubeconfig}", "apply", "-f", str(manifest)
    )
    assert await process.wait() == 0
    live = await api.get(MAPS, "a", namespace)
    assert last_applied_managers(live) == {"kubectl-client-side-apply"}
    patch = adoption_patch(live, manager=api.field_manager)
    assert patch is not None
    await api.patch(MAPS, "a", namespace, patch, form="json")
    applied = await api.apply(config_map(namespace, kept="1"))
    assert applied["data"] == {"kept": "1"}
    assert "annotations" not in applied["metadata"]
    with pytest.raises(Conflict):  # the object has changed since it was read
        await api.patch(MAPS, "a", namespace, patch, form="json")


# -- other writes --------------------------------------------------------------------------------


async def test_a_namesake_of_what_was_meant_is_not_deleted(api: KubeApi, namespace: str) -> None:
    old = await api.create(MAPS, config_map(namespace))
    await api.delete(MAPS, "a", namespace, uid=old["metadata"]["uid"])
    new = await api.create(MAPS, config_map(namespace))
    with pytest.raises(Conflict, match=r"(?i)uid"):
        await api.delete(MAPS, "a", namespace, uid=old["metadata"]["uid"])
    await api.delete(MAPS, "a", namespace, uid=new["metadata"]["uid"], dry_run=True)
    assert (await api.get(MAPS, "a", namespace))["metadata"]["uid"] == new["metadata"]["uid"]
    with pytest.raises(NotFound):
        await api.delete(MAPS, "b", namespace)


async def test_what_exists_is_not_created_and_what_changed_is_not_replaced(
    api: KubeApi, namespace: str
) -> None:
    first = await api.create(MAPS, config_map(namespace))
    with pytest.raises(AlreadyExists):
        await api.create(MAPS, config_map(namespace))
    await api.patch(MAPS, "a", namespace, {"data": {"x": "1"}})
    with pytest.raises(Conflict) as caught:
        await api.replace(MAPS, first)
    assert caught.value.fields == ()


async def test_a_collection_is_deleted_by_label(api: KubeApi, namespace: str) -> None:
    for name in ("a", "b"):
        obj = config_map(namespace, name)
        obj["metadata"]["labels"] = {"which": name}
        await api.create(MAPS, obj)
    await api.delete_collection(MAPS, namespace, label_selector="which=a")
    names = [o["metadata"]["name"] async for o in api.list(MAPS, namespace)]
    assert names == ["b", "kube-root-ca.crt"]


# -- lists and watches ---------------------------------------------------------------------------


async def test_pages_make_a_whole_list_of_whole_objects(api: KubeApi, namespace: str) -> None:
    await asyncio.gather(*(api.create(MAPS, config_map(namespace, f"m{n}")) for n in range(7)))
    before = api.stats.by_verb().get("list", 0)
    listing = api.list(MAPS, namespace, field_selector="metadata.name!=kube-root-ca.crt", page=3)
    found = [o async for o in listing]
    assert [o["metadata"]["name"] for o in found] == [f"m{n}" for n in range(7)]
    assert all((o["apiVersion"], o["kind"]) == ("v1", "ConfigMap") for o in found)
    assert api.stats.by_verb()["list"] - before == 3
    assert listing.resource_version
    assert listing.consistent


async def test_metadata_alone_is_listed_got_and_watched_as_what_it_is_of(
    api: KubeApi, namespace: str
) -> None:
    made = await api.create(MAPS, config_map(namespace, x="1"))
    one = await api.get(MAPS, "a", namespace, metadata_only=True)
    listed = [o async for o in api.list(MAPS, namespace, metadata_only=True)]
    async with asyncio.timeout(PATIENCE):
        events = api.follow(MAPS, namespace, metadata_only=True)
        followed = [e.object async for e in until_synced(events)]
    for obj in (one, listed[0], followed[0]):
        assert (obj["kind"], obj["metadata"]["uid"]) == ("ConfigMap", made["metadata"]["uid"])
        assert "data" not in obj


async def until_synced(events: Any) -> Any:
    async with contextlib.aclosing(events.events()) as stream:
        async for event in stream:
            if event.type == "SYNCED":
                return
            yield event


@pytest.mark.parametrize("streaming", [True, False])
async def test_following_shows_what_is_there_and_then_what_changes(
    api: KubeApi, namespace: str, *, streaming: bool
) -> None:
    await api.create(MAPS, config_map(namespace))
    follow = api.follow(MAPS, namespace, streaming=streaming)
    seen = []
    async with asyncio.timeout(PATIENCE), contextlib.aclosing(follow.events()) as events:
        async for event in events:
            name = event.object["metadata"].get("name", "")
            if name == "kube-root-ca.crt":
                continue
            seen.append((event.type, name))
            if event.type == "SYNCED":
                await api.apply(config_map(namespace, x="1"))
                await api.delete(MAPS, "a", namespace)
            if event.type == "DELETED":
                break
    assert seen == [("ADDED", "a"), ("SYNCED", ""), ("MODIFIED", "a"), ("DELETED", "a")]
    assert api.stats.by_verb().get("list", 0) == (0 if streaming else 1)


async def test_a_watch_goes_on_from_a_list(api: KubeApi, namespace: str) -> None:
    state = await api.snapshot(MAPS, namespace)
    await api.create(MAPS, config_map(namespace))
    watch = api.watch(MAPS, namespace, resource_version=state.resource_version)
    async with asyncio.timeout(PATIENCE):
        async for event in watch:
            if event.object["metadata"]["name"] == "a":
                break
    assert event.type == "ADDED"
    assert watch.resource_version == event.object["metadata"]["resourceVersion"]


async def test_a_version_that_the_server_has_forgotten_is_refused(api: KubeApi) -> None:
    definition = crd("olds", "Old")
    await api.apply(definition)
    resource = await api.resource("kube.argosy.dev", "v1", "Old", wait=PATIENCE)
    await api.snapshot(resource)  # the server remembers this kind since now; 1 is long ago
    with pytest.raises(Expired, match="too old resource version"):
        await anext(api.watch(resource, resource_version="1").events())
    await api.delete(await api.resource_of(definition), "olds.kube.argosy.dev")


# -- who we are ----------------------------------------------------------------------------------


async def token_of(api: KubeApi, namespace: str) -> str:
    """A token of the namespace's ServiceAccount `default`."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
    answer = await api.raw("POST", path, body=body)
    return str(msgspec.json.decode(answer.body)["status"]["token"])


def kubeconfig(devcluster: TestCluster, file: Path, user: dict[str, Any]) -> Path:
    """The cluster's kubeconfig with one user of another form."""
    content = load(devcluster.kubeconfig.read_text())
    name = next(
        c["context"]["user"] for c in content["contexts"] if c["name"] == content["current-context"]
    )
    content["users"] = [{"name": name, "user": user}]
    file.write_text(dump(content))
    return file


async def test_what_rbac_refuses_is_said_with_who_and_what(
    api: KubeApi, devcluster: TestCluster, namespace: str, tmp_path: Path
) -> None:
    token = await token_of(api, namespace)
    config = load_kubeconfig(kubeconfig(devcluster, tmp_path / "k", {"token": token}))
    async with KubeApi(config, cache=tmp_path) as weak:
        with pytest.raises(Forbidden) as caught:
            await weak.apply(config_map(namespace), resource=MAPS)
        with pytest.raises(Forbidden):
            await anext(weak.follow(MAPS, namespace).events())
    said = str(caught.value)
    assert said.startswith(f"apply ConfigMap {namespace}/a: configmaps")
    assert f'User "system:serviceaccount:{namespace}:default" cannot patch resource' in said


async def test_the_clusters_own_token_context_works(devcluster: TestCluster) -> None:
    config = load_kubeconfig(devcluster.kubeconfig, f"argosy-{devcluster.name}-token")
    assert config.credentials.token or config.credentials.token_file
    async with KubeApi(config) as api:
        assert [o async for o in api.list(await api.resource("", None, "Node"))]


async def test_a_wrong_token_is_unauthorized(devcluster: TestCluster, tmp_path: Path) -> None:
    config = load_kubeconfig(kubeconfig(devcluster, tmp_path / "k", {"token": "wrong"}))
    async with KubeApi(config) as api:
        with pytest.raises(Unauthorized):
            await api.get(MAPS, "a", "default")


async def test_a_plugin_lets_us_in(
    api: KubeApi, devcluster: TestCluster, namespace: str, tmp_path: Path
) -> None:
    token = await token_of(api, namespace)
    plugin = tmp_path / "login"
    version = "client.authentication.k8s.io/v1"
    credential = (
        f'{{"kind":"ExecCredential","apiVersion":"{version}","status":{{"token":"{token}"}}}}'
    )
    plugin.write_text(f"#!/bin/sh\necho {shlex.quote(credential)}\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IEXEC)
    user = {"exec": {"command": "./login", "apiVersion": version, "interactiveMode": "Never"}}
    config = load_kubeconfig(kubeconfig(devcluster, tmp_path / "k", user))
    async with KubeApi(config) as weak:
        assert await whoami(weak) == f"system:serviceaccount:{namespace}:default"


async def whoami(api: KubeApi) -> str:
    body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await api.raw("POST", path, body=body)
    return str(msgspec.json.decode(answer.body)["status"]["userInfo"]["username"])


async def test_impersonation_is_understood_by_the_server(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    content = load(devcluster.kubeconfig.read_text())
    for user in content["users"]:
        user["user"] |= {"as": "jane", "as-groups": ["dev", "system:authenticated"]}
    file = tmp_path / "k"
    file.write_text(dump(content))
    async with KubeApi(load_kubeconfig(file)) as api:
        assert await whoami(api) == "jane"


async def test_a_pod_is_let_in_by_its_service_account(
    api: KubeApi, devcluster: TestCluster, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(await token_of(api, namespace))
    (tmp_path / "ca.crt").write_bytes(api.config.ca)
    (tmp_path / "namespace").write_text(namespace)
    host, _, port = devcluster.server.removeprefix("https://").partition(":")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    async with KubeApi(load_in_cluster(env, directory=tmp_path)) as weak:
        assert await whoami(weak) == f"system:serviceaccount:{namespace}:default"


async def test_a_server_that_another_ca_signed_is_refused_at_once(
    devcluster: TestCluster, tmp_path: Path
) -> None:
    content = load(devcluster.kubeconfig.read_text())
    for cluster in content["clusters"]:
        cluster["cluster"].pop("certificate-authority-data", None)
        cluster["cluster"].pop("certificate-authority", None)
    file = tmp_path / "k"
    file.write_text(dump(content))
    async with KubeApi(load_kubeconfig(file)) as api:
        with pytest.raises(Unreachable, match=r"TLS with .* failed: .*certificate"):
            await api.version()
        assert not api.stats.retries
    for cluster in content["clusters"]:
        cluster["cluster"]["insecure-skip-tls-verify"] = True
    file.write_text(dump(content))
    async with KubeApi(load_kubeconfig(file)) as api:
        assert (await api.version())["major"] == "1"


async def test_views_share_counters_and_differ_in_priority(api: KubeApi) -> None:
    bulk = api.prioritised(Priority.BULK)
    await bulk.version()
    await api.version()
    assert api.stats is bulk.stats
    assert api.stats.requests == {("raw", 200): 2}
