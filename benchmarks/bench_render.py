"""Rendering Kubeflow 26.03, beside upstream's own `kustomize build example`."""

from __future__ import annotations

import os
import re
import shutil
import statistics
from typing import TYPE_CHECKING

from benchmarks.measure import Row, Sample, ratio_of, run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.run import Bench

__all__ = ["rows"]

ROUNDS = 5
COMPONENT = """apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
images: [{name: ghcr.io/kubeflow/katib/katib-controller, newTag: "%s"}]
"""


def upstream_tree(bench: Bench) -> Path:
    """Return a copy of the mirror in which upstream's remote references are local paths."""
    tree = bench.work / "upstream"
    if not tree.exists():
        shutil.copytree(bench.mirror / "github.com", tree / "github.com")
        for file in (tree / "github.com/kubeflow/manifests/26.03").rglob("kustomization.yaml"):
            _localise(file, tree)
    return tree / "github.com/kubeflow/manifests/26.03"


def _localise(file: Path, tree: Path) -> None:
    text = file.read_text()
    local = re.sub(
        r"https://(github\.com/[^/\s]+/[^/\s]+)/([^?\s]+)\?ref=(\S+)",
        lambda m: os.path.relpath(tree / m[1] / m[3] / m[2], file.parent),
        text,
    )
    local = re.sub(
        r"https://(github\.com/\S+/releases/download/\S+)/([^/\s]+\.yaml)",
        lambda m: _beside(tree / m[1] / m[2], file),
        local,
    )
    if local != text:
        file.chmod(0o644)
        file.write_text(local)


def _beside(target: Path, file: Path) -> str:
    shutil.copyfile(target, file.parent / f"remote-{target.name}")
    return f"remote-{target.name}"


def rows(bench: Bench) -> list[Row]:
    """Measure the four render rows."""
    platform = bench.platform("render")
    whole = upstream_tree(bench) / "example"
    kustomize = str(bench.kustomize)

    def cold() -> Sample:
        shutil.rmtree(platform / "rendered", ignore_errors=True)
        shutil.rmtree(bench.work / "cold", ignore_errors=True)
        env = {**bench.env, "ARGOSY_CACHE": str(bench.work / "cold")}
        mirror = ["--mirror", str(bench.mirror)]
        return run([*bench.argosy, "render", "-C", str(platform), *mirror], env=env)

    def peer() -> Sample:
        return run([kustomize, "build", str(whole), "-o", str(bench.work / "out")], env=bench.env)

    ratio, mine, theirs = ratio_of(cold, peer, rounds=ROUNDS)
    memory = max(s.mebibytes for s in mine)
    cold_row = Row(
        "cold render, all of 26.03, locked, no cache",
        "≤ 0.85 × upstream's own build, then ≤ 0.5 ×; ≤ 600 MiB",
        f"{ratio:.2f} × ({_median(mine):.1f} s against {_median(theirs):.1f} s), {memory:.0f} MiB",
        met=ratio <= 0.5 and memory <= 600,
    )
    render = [*bench.argosy, "render", "-C", str(platform)]
    run(render, env=bench.env)
    again = [run(render, env=bench.env) for _ in range(ROUNDS)]
    again_row = Row(
        "render, nothing changed",
        "≤ 0.5 s",
        f"{_median(again):.2f} s",
        met=_median(again) <= 0.5,
    )
    return [cold_row, again_row, _edited(bench, platform, upstream_tree(bench)), _help(bench)]


def _edited(bench: Bench, platform: Path, tree: Path) -> Row:
    overlay = platform / "overlays/katib/kustomization.yaml"
    overlay.parent.mkdir(parents=True, exist_ok=True)
    text = (platform / "platform.yaml").read_text()
    (platform / "platform.yaml").write_text(
        f"{text}apps: {{overlays: {{katib: overlays/katib}}}}\n"
    )
    overlay.write_text(COMPONENT % "start")
    render = [*bench.argosy, "render", "-C", str(platform)]
    run(render, env=bench.env)
    app = str(tree / "applications/katib/upstream/installs/katib-with-kubeflow")
    turn = iter(range(1000))

    def edited() -> Sample:
        overlay.write_text(COMPONENT % f"v{next(turn)}")
        return run(render, env=bench.env)

    def peer() -> Sample:
        out = str(bench.work / "out")
        return run([str(bench.kustomize), "build", app, "-o", out], env=bench.env)

    _, mine, theirs = ratio_of(edited, peer, rounds=ROUNDS)
    limit = 1.3 * _median(theirs) + 0.3
    return Row(
        "render, one app's overlay edited (katib)",
        "≤ 1.3 × that app's build + 0.3 s",
        f"{_median(mine):.2f} s against {_median(theirs):.2f} s (limit {limit:.2f} s)",
        met=_median(mine) <= limit,
    )


def _help(bench: Bench) -> Row:
    samples = [run([*bench.argosy, "--help"], env=bench.env) for _ in range(ROUNDS)]
    return Row(
        "argosy --help", "≤ 0.15 s", f"{_median(samples):.2f} s", met=_median(samples) <= 0.15
    )


def _median(samples: list[Sample]) -> float:
    return statistics.median(s.seconds for s in samples)
