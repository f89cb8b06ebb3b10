"""A pod annotated `argosy.dev/run: process` is run for real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from argosy.dev import cluster
from devcluster_fixtures import free_port, start_cluster

pytestmark = pytest.mark.apiserver

ANNOTATION = {"argosy.dev/run": "process"}


def _pod(name, command, *, container=None, **spec):
    main = {"name": "main", "image": "none", "command": ["sh", "-c", command], **(container or {})}
    return {
        "metadata": {"name": name, "annotations": ANNOTATION},
        "spec": {"containers": [main], "restartPolicy": "Never", **spec},
    }


class Pods:
    """The pods of a test's namespace."""

    def __init__(self, found, namespace):
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.api, self._cluster, self._namespace = found.api, found, namespace

    def run(self, *args, **options):
        """Create a pod and return it when it has come to its end."""
        self.api.create(self.path, _pod(*args, **options))
        return self.api.wait(self.path, args[0], _ended)

    def logs(self, name, query=""):
        status, body = self.api.request("GET", f"{self.path}/{name}/log?{query}")
        assert status == 200, body
        return body.decode()

    def kubectl(self, *args, text=""):
        """Run kubectl, which brings the streaming protocols that are tested here."""
        if shutil.which("kubectl") is None:
            pytest.skip("kubectl is not installed")
        command = ["kubectl", f"--kubeconfig={self._cluster.kubeconfig}", "-n", self._namespace]
        return subprocess.run(
            [*command, *args], input=text, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def pods(devcluster, namespace):
    return Pods(devcluster, namespace)


def _ended(found):
    return found is not None and found["status"].get("phase") in {"Succeeded", "Failed"}


def _ready(found):
    conditions = (found or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _terminated(found, container=0):
    return found["status"]["containerStatuses"][container]["state"]["terminated"]


def test_a_command_runs_and_its_exit_code_and_message_are_reported(pods):
    found = pods.run("done", "echo out; echo err >&2; echo why > /dev/termination-log; exit 3")
    assert found["status"]["phase"] == "Failed"
    assert _terminated(found)["exitCode"] == 3
    assert _terminated(found)["message"] == "why\n"
    assert sorted(pods.logs("done").split()) == ["err", "out"]


def test_a_message_falls_back_to_the_log_when_asked(pods):
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    found = pods.run("told", "echo it broke; exit 1", container=policy)
    assert _terminated(found)["message"] == "it broke"


def test_init_containers_run_first_and_in_order(pods):
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    first = {"name": "one", "image": "none", "command": ["sh", "-c", "echo 1 >> /shared/order"]}
    second = {**first, "name": "two", "command": ["sh", "-c", "echo 2 >> /shared/order"]}
    found = pods.run(
        "ordered",
        "cat /shared/order",
        container={"volumeMounts": mounts},
        initContainers=[{**each, "volumeMounts": mounts} for each in (first, second)],
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    assert found["status"]["phase"] == "Succeeded"
    assert pods.logs("ordered") == "1\n2\n"


def test_variables_come_from_everywhere_kubernetes_takes_them_from(pods, namespace):
    base = f"/api/v1/namespaces/{namespace}"
    pods.api.create(f"{base}/configmaps", {"metadata": {"name": "c"}, "data": {"mode": "fast"}})
    pods.api.create(f"{base}/secrets", {"metadata": {"name": "s"}, "stringData": {"key": "hush"}})
    env = [
        {"name": "A", "value": "a"},
        {"name": "B", "value": "$(A)b"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "C_", "configMapRef": {"name": "c"}}],
        "resources": {"limits": {"cpu": "2"}},
    }
    pods.run("env", 'echo "$B $SECRET $C_mode $NODE $CPU"', container=container)
    words = pods.logs("env").split()
    assert words[:3] == ["ab", "hush", "fast"]
    assert words[3].startswith("node-")
    assert words[4] == "2"


def test_volumes_hold_what_the_objects_say(pods, namespace):
    base = f"/api/v1/namespaces/{namespace}"
    pods.api.create(f"{base}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "x", "b": "y"}})
    volumes = [
        {"name": "c", "configMap": {"name": "c", "items": [{"key": "a", "path": "sub/a"}]}},
        {
            "name": "d",
            "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]},
        },
    ]
    mounts = [
        {"name": "c", "mountPath": "/conf"},
        {"name": "d", "mountPath": "/down"},
    ]
    command = (
        "cat /conf/sub/a /down/n; ls /conf; "
        "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo token"
    )
    pods.run("vol", command, container={"volumeMounts": mounts}, volumes=volumes)
    assert pods.logs("vol") == "xvolsub\ntoken\n"


def test_a_claims_files_outlive_the_pod(pods, namespace):
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    request = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    pods.api.create(claims, {"metadata": {"name": "data"}, "spec": request})
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    container = {"volumeMounts": [{"name": "d", "mountPath": "/data"}]}
    pods.run("writer", "echo kept > /data/f", container=container, volumes=volumes)
    pods.run("reader", "cat /data/f", container=container, volumes=volumes)
    assert pods.logs("reader") == "kept\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a private file system needs root")
def test_what_is_written_outside_volumes_is_gone(pods):
    place = f"/usr/argosy-{os.getpid()}"
    found = pods.run("stray", f"echo x > {place} && cat {place}")
    assert found["status"]["phase"] == "Succeeded"
    assert not Path(place).exists()


def test_a_host_path_is_refused_and_says_why(pods):
    volumes = [{"name": "h", "hostPath": {"path": "/"}}]
    pods.api.create(pods.path, _pod("host", "true", volumes=volumes))

    def refused(found):
        statuses = found["status"].get("containerStatuses", [])
        messages = [s["state"].get("waiting", {}).get("message", "") for s in statuses]
        return any("hostPath volumes are refused" in m for m in messages)

    pods.api.wait(pods.path, "host", refused)


def test_a_container_without_a_command_says_so(pods):
    body = _pod("bare", "true")
    del body["spec"]["containers"][0]["command"]
    pods.api.create(pods.path, body)
    found = pods.api.wait(pods.path, "bare", _ended)
    assert "needs a command" in _terminated(found)["message"]


def test_a_container_that_fails_is_started_again(pods):
    mounts = {"volumeMounts": [{"name": "e", "mountPath": "/e"}]}
    found = pods.run(
        "again",
        "echo try; test -e /e/seen || { touch /e/seen; exit 1; }",
        container=mounts,
        restartPolicy="OnFailure",
        volumes=[{"name": "e", "emptyDir": {}}],
    )
    assert found["status"]["phase"] == "Succeeded"
    assert found["status"]["containerStatuses"][0]["restartCount"] == 1
    assert pods.logs("again", "previous=true") == "try\n"


def test_a_server_gets_ready_serves_and_ends_with_its_pod(pods):
    port = free_port()
    probe = {"httpGet": {"port": port, "path": "/"}, "periodSeconds": 1}
    body = _pod("web", f"exec python3 -m http.server {port}", container={"readinessProbe": probe})
    pods.api.create(pods.path, body)
    pods.api.wait(pods.path, "web", _ready)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
        assert answer.status == 200
    pods.api.delete(f"{pods.path}/web")
    pods.api.wait(pods.path, "web", lambda found: found is None)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)


def test_a_process_that_ignores_its_end_is_killed_when_the_grace_is_over(pods):
    command = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"
    pods.api.create(pods.path, _pod("deaf", command, terminationGracePeriodSeconds=1))
    pods.api.wait(pods.path, "deaf", _ready)
    pods.api.delete(f"{pods.path}/deaf")
    pods.api.wait(pods.path, "deaf", lambda found: found is None)


def test_a_log_can_be_cut_and_followed(pods):
    pods.run("lines", "for n in 1 2 3; do echo $n; done")
    assert pods.logs("lines", "tailLines=1") == "3\n"
    assert pods.logs("lines", "limitBytes=2") == "1\n"
    assert pods.logs("lines", "follow=true") == "1\n2\n3\n"
    assert "T" in pods.logs("lines", "timestamps=true").split()[0]


def test_commands_are_run_beside_the_process(pods):
    mounts = {"volumeMounts": [{"name": "e", "mountPath": "/e"}], "workingDir": "/e"}
    volumes = [{"name": "e", "emptyDir": {}}]
    body = _pod("shell", "echo here > f; sleep 600", container=mounts, volumes=volumes)
    body["spec"]["terminationGracePeriodSeconds"] = 0
    pods.api.create(pods.path, body)
    pods.api.wait(pods.path, "shell", _ready)
    answer = pods.kubectl("exec", "-i", "shell", "--", "sh", "-c", "cat; exit 4", text="typed")
    assert (answer.returncode, answer.stdout) == (4, "typed")
    answer = pods.kubectl("exec", "shell", "--", "sh", "-c", "cat f; echo no >&2")
    assert (answer.returncode, answer.stdout) == (0, "here\n")
    assert answer.stderr.endswith("no\n")


def test_a_simulated_pods_log_says_that_it_is_one(pods):
    body = _pod("fake", "true")
    body["metadata"]["annotations"] = {}
    pods.api.create(pods.path, body)
    pods.api.wait(pods.path, "fake", lambda found: found["status"].get("phase") == "Running")
    assert "this pod is simulated" in pods.logs("fake")
    answer = pods.kubectl("exec", "fake", "--", "true")
    assert answer.returncode == 1
    assert "this pod is simulated" in answer.stderr


def test_no_process_outlives_the_cluster():
    found = start_cluster("own", nodes=1)
    pods = Pods(found, "default")
    try:
        found.api.create(pods.path, _pod("left", "sleep 12345 & echo $$; wait"))
        found.api.wait(pods.path, "left", _ready)
        agent = next(
            p for p in cluster.find(found.name, env=os.environ)[1].processes if p.name == "agent"
        )
        os.kill(agent.pid, signal.SIGKILL)
    finally:
        cluster.down(found.name, delete=True, env=os.environ)
    assert [line for line in _command_lines() if "sleep 12345" in line] == []


def _command_lines():
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield entry.read_text().replace("\0", " ")
        except OSError:  # it ended while we looked
            continue
