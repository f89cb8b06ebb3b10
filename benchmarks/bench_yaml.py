"""YAML: ours against PyYAML with libyaml, in one process, rounds interleaved.

Usage: python benchmarks/bench_yaml.py [MIRROR] [--rounds N]

MIRROR is a directory with real manifests; without one, the generated
workloads are measured alone. CPU seconds, the best of the rounds, and the median of the paired
ratios with their range.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml as pyyaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from argosy import manifests, yaml

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = 5_500_000  # characters of real manifests
LOADER = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
DUMPER = getattr(pyyaml, "CSafeDumper", pyyaml.SafeDumper)


def real(mirror: Path) -> str:
    """Return real manifests, each a document, until the corpus is full."""
    texts: list[str] = []
    size = 0
    for path in sorted(mirror.rglob("*.yaml")):
        if "test" in path.parts or "prow-config" in path.parts or size > CORPUS:
            continue
        try:
            text = path.read_text()
            yaml.load_all(text)
            list(pyyaml.load_all(text, Loader=LOADER))  # PyYAML refuses a few that kubectl reads
        except (yaml.YamlError, pyyaml.YAMLError, ValueError):
            continue
        texts.append(text if text.endswith("\n") else text + "\n")
        size += len(text)
    return "---\n".join(texts)


def workloads(count: int = 3000) -> str:
    """Return Deployments as people write them."""
    one: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "w",
            "namespace": "n",
            "labels": {"app.kubernetes.io/name": "w", "app.kubernetes.io/part-of": "kubeflow"},
            "annotations": {"note": "a line: with a colon", "port": "8080"},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "w"}},
            "template": {
                "metadata": {"labels": {"app": "w"}},
                "spec": {
                    "containers": [
                        {
                            "name": f"c{n}",
                            "image": f"ghcr.io/example/image-{n}:v1.2.3",
                            "args": ["--port=8080", "--log", "info"],
                            "env": [{"name": f"E{i}", "value": str(i)} for i in range(8)],
                            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                            "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                        }
                        for n in range(3)
                    ],
                    "volumes": [{"name": "config", "configMap": {"name": "w"}}],
                },
            },
        },
    }
    return yaml.dump_all(
        {**one, "metadata": {**one["metadata"], "name": f"w-{n}"}} for n in range(count)
    )


def cpu(action: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    action()
    return time.process_time() - start


def compare(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> None:
    mine, other = [], []
    for _ in range(rounds):
        mine.append(cpu(ours))
        other.append(cpu(theirs))
    ratios = [b / a for a, b in zip(mine, other, strict=True)]
    print(
        f"{name:<34} {min(mine) * 1000:8.1f} ms  {min(other) * 1000:8.1f} ms   "
        f"{statistics.median(ratios):5.2f}x  ({min(ratios):.2f}-{max(ratios):.2f})"
    )


def alone(name: str, action: Callable[[], Any], rounds: int) -> None:
    print(f"{name:<34} {min(cpu(action) for _ in range(rounds)) * 1000:8.1f} ms")


def corpus(name: str, text: str, rounds: int) -> None:
    values = yaml.load_all(text)
    compare(
        f"load {name} ({len(text) / 1e6:.1f} MB)",
        lambda: yaml.load_all(text),
        lambda: list(pyyaml.load_all(text, Loader=LOADER)),
        rounds,
    )
    compare(
        f"dump {name}",
        lambda: yaml.dump_all(values),
        lambda: pyyaml.dump_all(values, Dumper=DUMPER, sort_keys=False),
        rounds,
    )


def objects(text: str, rounds: int) -> None:
    """Measure what stands on top: split, identities, structural diff."""
    named = "---\n".join(d.text for d in manifests.split(text) if "\n  name: " in d.text)
    stream = "---\n".join([named] * max(1, round(12_000_000 / len(named))))
    alone(f"split ({len(stream) / 1e6:.1f} MB)", lambda: manifests.split(stream), rounds)

    def scan() -> None:
        for document in manifests.split(stream):
            with contextlib.suppress(manifests.ManifestError):  # values files and the like
                _ = document.id, document.digest

    alone("split, identities, digests", scan, rounds)
    values = yaml.load_all(workloads(900))
    others = yaml.load_all(workloads(900))
    alone("diff of 900 equal objects", lambda: [*map(manifests.diff, values, others)], rounds)
    for other in others:
        other["spec"]["template"]["spec"]["containers"][1]["image"] = "other"
    alone("diff of 900 changed objects", lambda: [*map(manifests.diff, values, others)], rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirror", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':<34} {'argosy':>11}  {'PyYAML C':>11}   ratio, median (range)")
    text = real(options.mirror) if options.mirror else ""
    if text:
        corpus("real manifests", text, options.rounds)
    corpus("workloads", workloads(), options.rounds)
    objects(text or workloads(), options.rounds)


if __name__ == "__main__":
    main()
