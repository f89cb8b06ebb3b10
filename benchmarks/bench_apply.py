"""Applying Kubeflow 26.03 to a real API server, beside `kubectl apply --server-side`."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argosy.dev import cluster, proxy
from benchmarks.measure import Row, Sample, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.run import Bench

__all__ = ["fresh_cluster", "rows"]

ROUNDS = 3
PATIENCE = 60  # seconds until controllers have come to rest
MOST_PASSES = 10  # of kubectl; upstream's own loop has no limit, and two are what it takes


@dataclass
class _Figures:
    ours: list[Sample] = field(default_factory=list)
    waited: list[Sample] = field(default_factory=list)
    again: list[Sample] = field(default_factory=list)
    live: list[Sample] = field(default_factory=list)
    kubectl: list[tuple[float, int]] = field(default_factory=list)
    kubectl_again: list[float] = field(default_factory=list)
    still: bool = True


@contextlib.contextmanager
def fresh_cluster(bench: Bench, name: str) -> Iterator[tuple[cluster.Cluster, dict[str, str]]]:
    """Yield an empty cluster of its own, and an environment whose KUBECONFIG is its."""
    name = f"bench-{name}"
    try:
        up = cluster.up(name, env=bench.cluster_env)
        yield up, {**bench.env, "KUBECONFIG": str(up.kubeconfig)}
    finally:
        cluster.down(name, delete=True, env=bench.cluster_env)


def rows(bench: Bench) -> list[Row]:
    """Measure the apply rows and `diff --live`."""
    platform = bench.platform("apply")
    run([*bench.argosy, "render", "-C", str(platform)], env=bench.env)
    stream = bench.work / "stream.yaml"
    stream.write_text(_stream(platform))
    figures = _Figures()
    kubectl = shutil.which("kubectl", path=bench.env["PATH"])
    for turn in range(ROUNDS):
        if turn % 2 == 0:
            _ours(bench, platform, figures)
        if kubectl:
            _kubectl(bench, kubectl, stream, figures)
        if turn % 2 == 1:
            _ours(bench, platform, figures)
    found = [_cold(figures)] if kubectl else []
    return [*found, _refused(bench, platform), *_again(figures)]


def _ours(bench: Bench, platform: Path, figures: _Figures) -> None:
    apply = [*bench.argosy, "apply", "-C", str(platform), "--yes"]
    with fresh_cluster(bench, "ours") as (_, env):
        started = time.monotonic()
        # without waiting for the last roll-outs: kubectl waits for none
        figures.ours.append(run([*apply, "--no-wait"], env=env))
        run(apply, env=env)
        figures.waited.append(Sample(time.monotonic() - started, 0))
        before = _settled(env)
        figures.again += [run(apply, env=env) for _ in range(ROUNDS)]
        figures.still = figures.still and _versions(env) == before
        live = [*bench.argosy, "diff", "-C", str(platform), "--live"]
        figures.live += [run(live, env=env) for _ in range(ROUNDS)]


def _kubectl(bench: Bench, kubectl: str, stream: Path, figures: _Figures) -> None:
    with fresh_cluster(bench, "kubectl") as (up, env):
        # kubectl remembers kinds by address, and a port may have been another cluster's
        own = {**env, "KUBECACHEDIR": str(up.dir / "kubectl")}
        figures.kubectl.append(_until_it_succeeds(kubectl, stream, own))
        figures.kubectl_again.append(_once(kubectl, stream, own)[0])


def _cold(figures: _Figures) -> Row:
    pairs = zip(figures.ours, figures.kubectl, strict=True)
    ratio = statistics.median(ours.seconds / seconds for ours, (seconds, _) in pairs)
    mine = statistics.median(ours.seconds for ours in figures.ours)
    theirs = statistics.median(seconds for seconds, _ in figures.kubectl)
    passes = max(count for _, count in figures.kubectl)
    ready = statistics.median(sample.seconds for sample in figures.waited)
    return Row(
        "apply to an empty cluster, all accepted",
        "≤ 0.25 × kubectl apply --server-side until it succeeds",
        f"{ratio:.2f} × ({mine:.1f} s against {theirs:.1f} s in {passes} passes); "
        f"{ready:.1f} s until all is available",
        met=ratio <= 0.25,
    )


def _refused(bench: Bench, platform: Path) -> Row:
    """Count what a server refuses that asks about webhooks which nobody serves yet."""
    with (
        fresh_cluster(bench, "refusing") as (up, env),
        proxy.run(up, webhooks=True, env=bench.cluster_env) as front,
    ):
        own = {**env, "KUBECONFIG": str(front.kubeconfig)}
        run([*bench.argosy, "apply", "-C", str(platform), "--yes"], env=own)
        requests = front.requests()
    failed = {what: n for what, n in requests.items() if what.split()[-1][0] in "45"}
    avoidable = {what: n for what, n in failed.items() if not what.endswith("404")}
    return Row(
        "failed requests that order could avoid",
        "none",
        f"{sum(avoidable.values())} of {sum(requests.values())}",
        met=not avoidable,
    )


def _again(figures: _Figures) -> list[Row]:
    median = statistics.median(s.seconds for s in figures.again)
    peers = figures.kubectl_again
    peer = f" (kubectl {statistics.median(peers):.1f} s)" if peers else ""
    unchanged = "no resourceVersion changed" if figures.still else "resourceVersions CHANGED"
    live = statistics.median(s.seconds for s in figures.live)
    return [
        Row(
            "apply again, nothing changed",
            "≤ 2 s, no resourceVersion changes",
            f"{median:.2f} s{peer}, {unchanged}",
            met=median <= 2 and figures.still,
        ),
        Row("diff --live, nothing changed", "≤ 3 s", f"{live:.2f} s", met=live <= 3),
    ]


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


def _settled(env: dict[str, str]) -> str:
    """Return the versions once controllers have stopped changing them by themselves."""
    before = _versions(env)
    for _ in range(PATIENCE):
        time.sleep(1)
        now = _versions(env)
        if now == before:
            return now
        before = now
    return before


def _versions(env: dict[str, str]) -> str:
    """Return kind, name and resourceVersion of every member of an ApplySet."""
    template = "{range .items[*]}{.kind}/{.metadata.name}={.metadata.resourceVersion}\n{end}"
    listed = ["kubectl", "api-resources", "--verbs=list,patch", "-o", "name"]
    kinds = subprocess.run(listed, env=env, capture_output=True, text=True, check=True).stdout
    command = ["kubectl", "get", ",".join(kinds.split()), "-A", "-o", f"jsonpath={template}"]
    command += ["-l", "applyset.kubernetes.io/part-of"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
