"""A cluster starts, keeps its data, stands beside others, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.dev import cluster, state
from argosy.dev.errors import BadClusterName, ClusterFailed, UnknownCluster
from argosy.dev.process import is_alive
from argosy.dev.status import status
from argosy.errors import UsageError
from devcluster_fixtures import Api, TestCluster, start_cluster

pytestmark = pytest.mark.apiserver

PROCESSES = {
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "agent",
}


@pytest.fixture
def second() -> TestCluster:
    """Return a cluster of the test's own."""
    found = start_cluster("own", nodes=1)
    yield found
    if found.dir.exists():
        cluster.down(found.name, delete=True, env=os.environ)


def _processes(found: TestCluster) -> list:
    return state.read(found.dir).processes


def _mentions(folder: Path) -> list[str]:
    """Return the command lines of all processes that name a cluster's folder."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_text()
        except OSError:  # it ended while we looked
            continue
        if str(folder) in text:
            lines.append(text)
    return lines


def test_status_names_every_process_with_what_it_weighs(devcluster):
    (found,) = status(devcluster.name, env=os.environ)
    assert found.running
    assert {c.name for c in found.components} == PROCESSES
    assert all(c.ready and c.memory > 10_000_000 for c in found.components)


def test_nodes_are_ready_and_take_pods_when_up_returns(second):
    (node,) = second.api.get("/api/v1/nodes")["items"]
    assert "taints" not in node["spec"]
    assert ("Ready", "True") in {(c["type"], c["status"]) for c in node["status"]["conditions"]}


def test_two_clusters_side_by_side_share_nothing(devcluster, second):
    assert devcluster.server != second.server
    second.api.create("/api/v1/namespaces", {"metadata": {"name": "only-here"}})
    status_code, _ = devcluster.api.request("GET", "/api/v1/namespaces/only-here")
    assert status_code == 404


def test_a_cluster_that_runs_is_returned_as_it_is(devcluster):
    before = _processes(devcluster)
    again = cluster.up(devcluster.name, env=os.environ)
    assert again.server == devcluster.server
    assert _processes(devcluster) == before


def test_other_settings_for_a_running_cluster_are_refused(devcluster):
    with pytest.raises(UsageError, match="runs with other settings; stop it first"):
        cluster.up(devcluster.name, nodes=7, env=os.environ)


def test_down_leaves_no_process_and_up_goes_on_with_the_data(second):
    second.api.create("/api/v1/namespaces", {"metadata": {"name": "kept"}})
    ended = _processes(second)
    assert cluster.down(second.name, env=os.environ)
    assert not any(map(is_alive, ended))
    assert _mentions(second.dir) == []
    again = cluster.up(second.name, env=os.environ)
    assert Api(again).get("/api/v1/namespaces/kept")["metadata"]["name"] == "kept"


def test_reset_gives_an_empty_cluster(second):
    second.api.create("/api/v1/namespaces", {"metadata": {"name": "gone"}})
    again = Api(cluster.reset(second.name, env=os.environ))
    assert again.request("GET", "/api/v1/namespaces/gone")[0] == 404
    assert len(again.get("/api/v1/nodes")["items"]) == 1


def test_a_cluster_that_was_killed_starts_again(second):
    for process in _processes(second):
        os.killpg(process.pid, signal.SIGKILL)
    again = cluster.up(second.name, env=os.environ)
    assert Api(again).get("/version")["gitVersion"] == "v1.35.4"


def test_the_id_of_a_process_that_is_somebody_elses_now_is_not_signalled(second):
    ended = _processes(second)
    cluster.down(second.name, env=os.environ)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        left = state.read(second.dir)
        left.processes = [type(ended[0])("etcd", other.pid, ended[0].started, ended[0].boot)]
        state.write(second.dir, left)
        assert not cluster.down(second.name, env=os.environ)
        assert other.poll() is None
        other.communicate(b"\n")


def test_an_interrupted_start_leaves_no_process():
    name = f"test-{os.getpid()}-cut"

    class Interrupt:
        """Progress that is interrupted as soon as the first servers run."""

        def start(self, task, *, total=None):
            pass

        def advance(self, task, steps=1):
            pass

        def finish(self, task, text=""):
            pass

        def message(self, task, text):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster.up(name, env=os.environ, progress=Interrupt())
    folder, left = cluster.find(name, env=os.environ)
    assert left.processes == []
    assert _mentions(folder) == []
    cluster.down(name, delete=True, env=os.environ)


def test_a_server_that_ends_at_its_start_is_named_with_its_last_words(tmp_path):
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text("#!/bin/sh\necho this is not a server >&2\n")
        (tmp_path / name).chmod(0o755)
    name = f"test-{os.getpid()}-bad"
    with pytest.raises(ClusterFailed, match="ended at its start: this is not a server"):
        cluster.up(name, assets=tmp_path, env=os.environ)
    cluster.down(name, delete=True, env=os.environ)


def test_assets_without_the_servers_are_refused(tmp_path):
    with pytest.raises(UsageError, match="has no etcd"):
        cluster.up("never", assets=tmp_path, env=os.environ)


def test_the_kubeconfig_is_its_owners_alone(devcluster):
    for path in (devcluster.kubeconfig, *(devcluster.dir / "pki").glob("*.key")):
        assert path.stat().st_mode & 0o077 == 0
    contexts = json.loads(devcluster.kubeconfig.read_text())["contexts"]
    assert [c["name"] for c in contexts] == [
        f"argosy-{devcluster.name}",
        f"argosy-{devcluster.name}-token",
    ]


def test_an_impossible_name_and_an_unknown_one_are_refused():
    with pytest.raises(BadClusterName, match="cannot be a cluster's name"):
        cluster.up("../escape", env=os.environ)
    with pytest.raises(UnknownCluster, match="there is no cluster 'nowhere'"):
        cluster.down("nowhere", env=os.environ)


def test_every_process_listens_on_loopback_alone(devcluster):
    inodes = set()
    for process in _processes(devcluster):
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            target = str(entry.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:  # 0A is LISTEN
                listening.append(fields[1].split(":")[0])
    assert len(listening) >= len(PROCESSES) - 1  # kwok listens nowhere
    assert set(listening) == {"0100007F"}  # 127.0.0.1 as the kernel writes it


def test_nobody_reads_without_a_certificate_or_a_token(devcluster):
    stranger = Api(cluster.Cluster(*devcluster[:4]))
    stranger._tls = ssl.create_default_context(cafile=str(devcluster.dir / "pki" / "ca.crt"))
    assert stranger.request("GET", "/api/v1/secrets")[0] == 403
    assert stranger.request("GET", "/readyz")[0] == 200
