"""Applying Kubeflow 26.03 to a real API server, beside `kubectl apply --server-side`."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import time
from typing import TYPE_CHECKING

from argosy.dev import cluster
from benchmarks.measure import Row, Sample, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.run import Bench

__all__ = ["fresh_cluster", "rows"]

ROUNDS = 3
MOST_PASSES = 10  # of kubectl; upstream's own loop has no limit, and two are what it takes


@contextlib.contextmanager
def fresh_cluster(bench: Bench, name: str) -> Iterator[dict[str, str]]:
    """Yield an environment whose KUBECONFIG is that of an empty cluster of its own."""
    name = f"bench-{name}"
    try:
        up = cluster.up(name, env=bench.cluster_env)
        yield {**bench.env, "KUBECONFIG": str(up.kubeconfig)}
    finally:
        cluster.down(name, delete=True, env=bench.cluster_env)


def rows(bench: Bench) -> list[Row]:
    """Measure the apply rows and `diff --live`."""
    platform = bench.platform("apply")
    run([*bench.argosy, "render", "-C", str(platform)], env=bench.env)
    kubectl = shutil.which("kubectl", path=bench.env["PATH"])
    stream = bench.work / "stream.yaml"
    stream.write_text(_stream(platform))
    pairs: list[tuple[Sample, float, int]] = []
    again: list[Sample] = []
    live: list[Sample] = []
    kubectl_again: list[float] = []
    versions = True
    apply = [*bench.argosy, "apply", "-C", str(platform), "--yes"]
    for turn in range(ROUNDS):
        with fresh_cluster(bench, f"ours-{turn}") as env:
            # without waiting for the roll-out: kubectl does not wait for it either
            ours = run([*apply, "--no-wait"], env=env)
            run(apply, env=env)
            before = _versions(env)
            again += [run(apply, env=env) for _ in range(ROUNDS)]
            versions = versions and _versions(env) == before
            live += [run([*bench.argosy, "diff", "-C", str(platform), "--live"], env=env)]
        if kubectl:
            with fresh_cluster(bench, f"kubectl-{turn}") as env:
                seconds, passes = _until_it_succeeds(kubectl, stream, env)
                kubectl_again.append(_once(kubectl, stream, env)[0])
            pairs.append((ours, seconds, passes))
    found = [_cold(pairs)] if pairs else []
    unchanged = "no resourceVersion changed" if versions else "resourceVersions CHANGED"
    median = statistics.median(s.seconds for s in again)
    peer = f" (kubectl {statistics.median(kubectl_again):.1f} s)" if kubectl_again else ""
    found.append(
        Row(
            "apply again, nothing changed",
            "≤ 2 s, no resourceVersion changes",
            f"{median:.2f} s{peer}, {unchanged}",
            met=median <= 2 and versions,
        )
    )
    quiet = statistics.median(s.seconds for s in live)
    found.append(Row("diff --live, nothing changed", "≤ 3 s", f"{quiet:.2f} s", met=quiet <= 3))
    return found


def _cold(pairs: list[tuple[Sample, float, int]]) -> Row:
    ratio = statistics.median(ours.seconds / seconds for ours, seconds, _ in pairs)
    mine = statistics.median(ours.seconds for ours, _, _ in pairs)
    theirs = statistics.median(seconds for _, seconds, _ in pairs)
    passes = max(count for _, _, count in pairs)
    return Row(
        "apply to an empty cluster, all accepted",
        "≤ 0.25 × kubectl apply --server-side until it succeeds",
        f"{ratio:.2f} × ({mine:.1f} s against {theirs:.1f} s in {passes} passes)",
        met=ratio <= 0.25,
    )


def _stream(platform: Path) -> str:
    """Return the rendered objects as one stream, in upstream's order of kinds."""
    from argosy.manifests import sort_for_output
    from argosy.platform.withheld import load_with_secrets

    objects = {o.id: o for o in load_with_secrets(platform, "default").objects()}
    ordered = sort_for_output([o.object() for o in objects.values()])
    from argosy.manifests import identity

    return "---\n".join(objects[identity(obj)].text for obj in ordered)


def _until_it_succeeds(kubectl: str, stream: Path, env: dict[str, str]) -> tuple[float, int]:
    started = time.monotonic()
    for passes in range(1, MOST_PASSES + 1):
        if _once(kubectl, stream, env)[1] == 0:
            return time.monotonic() - started, passes
    raise RuntimeError(f"kubectl did not succeed in {MOST_PASSES} passes")


def _once(kubectl: str, stream: Path, env: dict[str, str]) -> tuple[float, int]:
    command = [kubectl, "apply", "--server-side", "--force-conflicts", "-f", str(stream)]
    started = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    return time.monotonic() - started, done.returncode


def _versions(env: dict[str, str]) -> str:
    """Return name and generation-independent version of what 26.03 consists of, Leases apart."""
    kinds = "crd,deploy,svc,cm,sa,clusterrole,role,rolebinding,secret,virtualservice,gateway"
    template = "{range .items[*]}{.kind}/{.metadata.name}={.metadata.resourceVersion}\n{end}"
    command = ["kubectl", "get", kinds, "-A", "-o", f"jsonpath={template}"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
