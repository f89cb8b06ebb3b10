"""Growth with the number of apps and objects: 1, 4 and 16 times a base, per object."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from benchmarks.bench_apply import fresh_cluster
from benchmarks.measure import Row, run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.run import Bench

__all__ = ["rows"]

BASE, OBJECTS = 10, 10  # apps at 1 ×, and objects in each
TIMES = (1, 4, 16)
ROUNDS = 3
LINEAR = 1.5  # a factor of 16 in size may cost 16 × 1.5 in time above the fixed start-up

CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {{name: c{n}, namespace: a{app}}}
data: {{key: value, other: "{n}"}}
"""


def _platform(folder: Path, apps: int) -> Path:
    folder.mkdir()
    lines = "".join(f"  - {{name: a{n}, path: apps/a{n}}}\n" for n in range(apps))
    head = "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: growth}\n"
    (folder / "platform.yaml").write_text(f'{head}kubernetes: "1.35"\napps:\n  add:\n{lines}')
    for app in range(apps):
        place = folder / "apps" / f"a{app}"
        place.mkdir(parents=True)
        (place / "kustomization.yaml").write_text("resources: [ns.yaml, all.yaml]\n")
        namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a{app}}}\n"
        (place / "ns.yaml").write_text(namespace)
        maps = [CONFIG_MAP.format(n=n, app=app) for n in range(OBJECTS - 1)]
        (place / "all.yaml").write_text("---\n".join(maps))
    return folder


def rows(bench: Bench) -> list[Row]:
    """Measure render, render again, apply and apply again at each size."""
    figures: dict[str, list[float]] = {}
    for times in TIMES:
        folder = _platform(bench.work / f"growth-{times}", BASE * times)
        place = ["-C", str(folder)]
        render = [*bench.argosy, "render", *place]
        apply = [*bench.argosy, "apply", *place, "--yes"]
        diff = [*bench.argosy, "diff", *place, "--live"]
        figures.setdefault("render", []).append(run(render, env=bench.env).seconds)
        with fresh_cluster(bench, f"growth-{times}") as (_, env):
            again = [run(render, env=env).seconds for _ in range(ROUNDS)]
            figures.setdefault("render again", []).append(statistics.median(again))
            figures.setdefault("apply", []).append(run(apply, env=env).seconds)
            again = [run(apply, env=env).seconds for _ in range(ROUNDS)]
            figures.setdefault("apply again", []).append(statistics.median(again))
            live = [run(diff, env=env).seconds for _ in range(ROUNDS)]
            figures.setdefault("diff --live", []).append(statistics.median(live))
    sizes = " / ".join(str(BASE * OBJECTS * times) for times in TIMES)
    return [
        Row(
            f"growth of {name}, {sizes} small objects",
            "linear",
            " / ".join(f"{seconds:.2f} s" for seconds in found),
            met=found[2] / found[0] <= TIMES[2] / TIMES[0] * LINEAR,
        )
        for name, found in figures.items()
    ]
