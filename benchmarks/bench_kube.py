"""The API client against a real API server, beside `kubectl apply --server-side`.

    python -m benchmarks.bench_kube [--kubeconfig FILE] [--objects 2000]

Server-side applies of small ConfigMaps (new, then unchanged), lists (whole, metadata alone), and
the state of a followed collection. "a core" divides by the client's own CPU time: what one core
could do if the server kept up. Without --kubeconfig a cluster is started for the run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argosy.kube import KubeApi, Resource, load_kubeconfig
from argosy.yaml import dump_all
from benchmarks.measure import Row, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.run import Bench

__all__ = ["rows"]

OBJECTS = 2000
KUBECTL_SHARE = 10  # kubectl applies a tenth: it takes tens of milliseconds an object
LISTS = 5
MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
SPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


class Stopwatch:
    """Wall time, and CPU time of this process and its children, since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def row(self, what: str, count: int, target: str = "") -> tuple[Row, float]:
        """Return the table's row, and the seconds an object took."""
        wall, cpu = time.perf_counter() - self._wall, _cpu() - self._cpu
        figure = f"{count / wall:,.0f}/s; {count / cpu:,.0f}/s a core"
        return Row(f"{what} ({count:,})", target, figure), wall / count


def _cpu() -> float:
    usage = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def config_map(namespace: str, number: int) -> dict[str, Any]:
    """Return a small object, as platforms have them by the hundred."""
    labels = {"app.kubernetes.io/part-of": "bench", "app.kubernetes.io/name": f"m{number}"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"m{number:05}", "namespace": namespace, "labels": labels},
        "data": {"text": "x" * 400},
    }


async def apply_all(api: KubeApi, objects: list[dict[str, Any]]) -> None:
    """Apply all objects, as many at once as the client lets through."""
    async with asyncio.TaskGroup() as group:
        for obj in objects:
            group.create_task(api.apply(obj, resource=MAPS))


def apply_with_kubectl(kubeconfig: Path, objects: list[dict[str, Any]]) -> None:
    """Apply all objects with kubectl."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(dump_all(objects))
        file.flush()
        command = ["kubectl", f"--kubeconfig={kubeconfig}", "apply", "--server-side"]
        subprocess.run([*command, "-f", file.name], check=True, stdout=subprocess.DEVNULL)


async def bench_apply(api: KubeApi, namespace: str, count: int, kubeconfig: Path) -> list[Row]:
    """Compare applying with kubectl's, an object each."""
    found = []
    objects = [config_map(namespace, n) for n in range(count)]
    others = [config_map(namespace, count + n) for n in range(count // KUBECTL_SHARE)]
    for what in ("new", "unchanged"):
        watch = Stopwatch()
        await apply_all(api, objects)
        row, ours = watch.row(f"apply, {what}", len(objects))
        watch = Stopwatch()
        await asyncio.to_thread(apply_with_kubectl, kubeconfig, others)
        peer, theirs = watch.row(f"kubectl apply --server-side, {what}", len(others))
        ratio = ours / theirs
        name = f"an apply, {what}, beside kubectl's"
        found += [row, peer, Row(name, "≤ 0.25 x", f"{ratio:.2f} x", ratio <= 0.25)]
    return found


async def bench_list(api: KubeApi, namespace: str) -> list[Row]:
    """List what is there, whole and metadata alone."""
    found = []
    for what, metadata_only in (("whole", False), ("metadata alone", True)):
        watch, count = Stopwatch(), 0
        for _ in range(LISTS):
            async for _ in api.list(MAPS, namespace, metadata_only=metadata_only):
                count += 1
        found.append(watch.row(f"list, {what}", count)[0])
    return found


async def bench_follow(api: KubeApi, namespace: str) -> list[Row]:
    """Read the state of a collection as events of a watch."""
    watch, count = Stopwatch(), 0
    for _ in range(LISTS):
        async with contextlib.aclosing(api.follow(MAPS, namespace).events()) as events:
            async for event in events:
                if event.type == "SYNCED":
                    break
                count += 1
    return [watch.row("watch, a collection's state as events", count)[0]]


async def bench_all(kubeconfig: Path, count: int) -> list[Row]:
    """Run all rows in a namespace of their own."""
    async with KubeApi(load_kubeconfig(kubeconfig, env=os.environ)) as api:
        namespace = f"bench-{uuid.uuid4().hex[:8]}"
        await api.create(SPACES, {"metadata": {"name": namespace}})
        try:
            return [
                *await bench_apply(api, namespace, count, kubeconfig),
                *await bench_list(api, namespace),
                *await bench_follow(api, namespace),
            ]
        finally:
            await api.delete(SPACES, namespace)


@contextlib.contextmanager
def cluster(kubeconfig: str | None) -> Iterator[Path]:
    """Return the kubeconfig to use; that of a cluster of our own when none was named."""
    if kubeconfig:
        yield Path(kubeconfig)
        return
    from argosy.dev import cluster as dev

    found = dev.up(f"bench-kube-{os.getpid()}", nodes=1, env=os.environ)
    try:
        yield found.kubeconfig
    finally:
        dev.down(found.name, delete=True, env=os.environ)


def rows(_bench: Bench) -> list[Row]:
    """Measure the client on a cluster of its own."""
    with cluster(None) as kubeconfig:
        return asyncio.run(bench_all(kubeconfig, OBJECTS))


def main() -> None:
    """Parse arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig")
    parser.add_argument("--objects", type=int, default=OBJECTS)
    options = parser.parse_args()
    with cluster(options.kubeconfig) as kubeconfig:
        print(table(asyncio.run(bench_all(kubeconfig, options.objects))))


if __name__ == "__main__":
    main()
