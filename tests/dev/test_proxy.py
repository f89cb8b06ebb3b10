"""The proxy refuses what an unserved webhook would be asked about, and injects faults."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time

import pytest

from argosy.dev import cluster, proxy
from argosy.dev.errors import ClusterFailed
from argosy.dev.proxy import Fault
from devcluster_fixtures import Api, TestCluster

pytestmark = pytest.mark.apiserver

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
APPLY = "application/apply-patch+yaml"


def _cluster(found: TestCluster) -> cluster.Cluster:
    return cluster.Cluster(found.name, found.dir, found.kubeconfig, found.server)


@pytest.fixture
def front(devcluster):
    """Return a proxy and a client that goes through it."""
    with proxy.run(_cluster(devcluster), webhooks=True, env=os.environ) as running:
        yield running, Api(_cluster(devcluster)._replace(server=running.server))


def _webhook(namespace, **changes):
    labels = {"kubernetes.io/metadata.name": namespace}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE", "UPDATE"],
    }
    service = {"name": "guard", "namespace": namespace, "path": "/validate"}
    hook = {
        "name": "guard.example.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {"service": service},
        "namespaceSelector": {"matchLabels": labels},
        "rules": [rule],
        **changes,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [hook],
    }


def _config_map(name, labels=None):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels or {}},
    }


@pytest.fixture
def hooked(front, devcluster, namespace):
    """Return a function that installs a webhook, which nothing serves, through the proxy."""
    _, api = front

    def install(**changes):
        api.create(HOOKS, _webhook(namespace, **changes))
        return api, f"/api/v1/namespaces/{namespace}/configmaps"

    yield install
    devcluster.api.request("DELETE", f"{HOOKS}/{namespace}")


def _refused(api, path, name="x", labels=None):
    status, body = api.request("POST", path, _config_map(name, labels))
    assert status in {201, 500}, body
    return json.loads(body)["message"] if status == 500 else ""


def test_an_object_is_refused_in_the_api_servers_words(hooked):
    message = _refused(*hooked())
    assert message.startswith(
        'Internal error occurred: failed calling webhook "guard.example.dev": '
        "failed to call webhook: Post "
    )
    assert message.endswith('service "guard" not found')


def test_it_is_accepted_as_soon_as_the_deployment_is_available(hooked, devcluster, namespace):
    api, path = hooked()
    labels = {"app": "guard"}
    service = {"selector": labels, "ports": [{"port": 443}]}
    api.create(
        f"/api/v1/namespaces/{namespace}/services",
        {"metadata": {"name": "guard"}, "spec": service},
    )
    assert _refused(api, path).endswith('no endpoints available for service "guard"')
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    api.create(deployments, {"metadata": {"name": "guard"}, "spec": spec})
    api.wait(deployments, "guard", lambda found: found["status"].get("availableReplicas") == 1)
    assert _refused(api, path) == ""


def test_another_namespace_is_not_asked_about(hooked):
    api, _ = hooked()
    assert _refused(api, "/api/v1/namespaces/default/configmaps", f"free-{time.time_ns()}") == ""


def test_a_webhook_that_may_be_ignored_refuses_nothing(hooked):
    assert _refused(*hooked(failurePolicy="Ignore")) == ""


def test_the_object_selector_looks_at_the_object_as_it_will_be(hooked):
    api, path = hooked(objectSelector={"matchLabels": {"guarded": "yes"}})
    assert _refused(api, path, "free") == ""
    assert _refused(api, path, "held", {"guarded": "yes"})
    body = _config_map("free", {"guarded": "yes"})
    status, _ = api.request("PATCH", f"{path}/free?fieldManager=t", body, kind=APPLY)
    assert status == 500
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"guarded": "yes"}}]
    status, _ = api.request("PATCH", f"{path}/free", operations, kind="application/json-patch+json")
    assert status == 500


def test_an_apply_of_what_is_not_there_is_a_creation(hooked):
    api, path = hooked(
        rules=[
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE"],
            }
        ]
    )
    url = f"{path}/made?fieldManager=t"
    assert api.request("PATCH", url, _config_map("made"), kind=APPLY)[0] == 500


def test_match_conditions_are_evaluated(hooked):
    condition = {"name": "named", "expression": "object.metadata.name == 'held'"}
    api, path = hooked(matchConditions=[condition])
    assert _refused(api, path, "free") == ""
    assert _refused(api, path, "held")


def test_what_the_server_refuses_itself_keeps_its_reason(hooked):
    api, path = hooked()
    status, body = api.request("POST", path, _config_map("Not A Name"))
    assert status == 422
    assert b"Invalid value" in body


def test_a_status_comes_with_retry_after_and_only_so_often(front):
    running, api = front
    running.set_faults(
        Fault(do="status", code=429, retry_after=2, resource="nodes", after=1, times=1)
    )
    assert [api.request("GET", "/api/v1/nodes")[0] for _ in range(3)] == [200, 429, 200]
    (fault,) = running.faults()
    assert (fault["seen"], fault["hits"]) == (3, 1)


def test_a_dropped_request_does_not_reach_the_server(front, devcluster, namespace):
    running, api = front
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    running.set_faults(Fault(do="drop", verb="create", resource="configmaps"))
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        api.create(path, _config_map("x"))
    assert devcluster.api.request("GET", f"{path}/x")[0] == 404


def test_a_lost_answer_leaves_what_was_done(front, devcluster, namespace):
    running, api = front
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    running.set_faults(Fault(do="lose", verb="create", resource="configmaps"))
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        api.create(path, _config_map("x"))
    assert devcluster.api.request("GET", f"{path}/x")[0] == 200


def test_a_watch_expires_in_its_stream(front):
    running, api = front
    running.set_faults(Fault(do="expire", verb="watch"))
    status, body = api.request("GET", "/api/v1/namespaces?watch=1&resourceVersion=1")
    event = json.loads(body)
    assert (status, event["type"], event["object"]["code"]) == (200, "ERROR", 410)


def test_a_watch_is_cut_in_the_middle(front):
    running, api = front
    running.set_faults(Fault(do="cut", verb="watch", delay_ms=200))
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        api.request("GET", "/api/v1/namespaces?watch=1")


def test_a_delay_delays(front):
    running, api = front
    running.set_faults(Fault(do="delay", resource="nodes", delay_ms=300))
    started = time.monotonic()
    api.get("/api/v1/nodes")
    assert time.monotonic() - started >= 0.3


def test_requests_are_counted_by_verb_resource_and_code(front):
    running, api = front
    running.forget_requests()
    api.get("/api/v1/nodes")
    api.request("GET", "/api/v1/nodes/none")
    assert running.requests() == {"list nodes 200": 1, "get nodes 404": 1}


def test_callers_stay_who_they_are(front, devcluster):
    _, api = front
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = api.create(
        reviews, {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    )
    assert answer["status"]["userInfo"]["username"] == "argosy-admin"
    link = api._connect(10)
    link.request("GET", "/api/v1/nodes", headers={"X-Remote-User": "argosy-admin"})
    assert link.getresponse().status == 200  # by the certificate, not by the header
    link.close()


def test_an_impossible_fault_is_refused(front):
    running, _ = front
    with pytest.raises(ClusterFailed, match='a fault cannot do "explode"'):
        running.set_faults(Fault(do="explode"))


def test_the_proxy_forwards_to_clients_that_hold_a_token(front, devcluster):
    running, _ = front
    token = (devcluster.dir / "pki" / "tokens.csv").read_text().split(",")[0]
    plain = Api(_cluster(devcluster)._replace(server=running.server))
    plain._tls = ssl.create_default_context(cafile=str(devcluster.dir / "pki" / "ca.crt"))
    link = plain._connect(10)
    link.request("GET", "/api/v1/nodes", headers={"Authorization": f"Bearer {token}"})
    assert link.getresponse().status == 200
    link.close()
    link = plain._connect(10)
    link.request("GET", "/api/v1/nodes", headers={"X-Remote-User": "argosy-admin"})
    assert link.getresponse().status == 403
    link.close()
