"""`make bench`: measure argosy beside its peers and print the table of docs/performance.md.

python -m benchmarks.run --mirror DIR [--only render]
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from argosy.dev import toolchain
from benchmarks.measure import Row, run, table

__all__ = ["Bench", "main"]

BENCHES = ("render", "apply", "growth", "kube")
PLATFORM = """apiVersion: argosy.dev/v1
kind: Platform
metadata: {name: bench}
kubeflow: "26.03"
kubernetes: "1.35"
"""


@dataclass(frozen=True)
class Bench:
    """What every benchmark needs: places and commands.

    `env` has a cache of its own; `cluster_env` has the user's, with the cluster's binary in it.
    """

    work: Path
    mirror: Path
    kustomize: Path
    env: dict[str, str]
    cluster_env: dict[str, str]
    argosy: tuple[str, ...]

    def platform(self, name: str) -> Path:
        """Return a new platform of all of 26.03, locked."""
        folder = self.work / name
        folder.mkdir()
        (folder / "platform.yaml").write_text(PLATFORM)
        lock = [*self.argosy, "lock", "-C", str(folder), "--mirror", str(self.mirror)]
        run(lock, env=self.env)
        return folder


def main() -> None:
    """Run the benchmarks that are asked for and print their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, default=os.environ.get("ARGOSY_MIRROR"))
    parser.add_argument("--only", choices=BENCHES, action="append")
    asked = parser.parse_args()
    if asked.mirror is None:
        sys.exit("benchmarks need upstream's sources: name a mirror with --mirror DIR")
    kustomize = toolchain.ensure("kustomize", env=os.environ)
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as folder:
        work = Path(folder)
        env = {
            **os.environ,
            "PATH": f"{kustomize.parent}:{os.environ['PATH']}",
            "ARGOSY_CACHE": str(work / "cache"),
        }
        argosy = (sys.executable, "-m", "argosy.cli.main")
        mirror = Path(asked.mirror).absolute()
        bench = Bench(work, mirror, kustomize, env, dict(os.environ), argosy)
        rows: list[Row] = []
        for name in asked.only or BENCHES:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows += importlib.import_module(f"benchmarks.bench_{name}").rows(bench)
    print(table(rows))


if __name__ == "__main__":
    main()
