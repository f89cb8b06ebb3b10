"""Small platforms that tests write to disk: local kustomizations, no catalogue, no network."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DEPLOYMENT", "add_app", "write_files", "write_platform"]

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {namespace}
spec:
  replicas: 1
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      containers:
      - name: main
        image: example.com/{name}:1.0
"""


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write text files below `root`, dedented."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def add_app(root: Path, name: str, **files: str) -> None:
    """Write a kustomization `apps/<name>` whose resources are `files` (name without .yaml)."""
    listed = "".join(f"- {file}.yaml\n" for file in files)
    write_files(
        root,
        {
            f"apps/{name}/kustomization.yaml": f"resources:\n{listed}",
            **{f"apps/{name}/{file}.yaml": text for file, text in files.items()},
        },
    )


def write_platform(root: Path, *apps: str, more: str = "") -> Path:
    """Write a platform whose apps are lines of `apps.add`, and return its directory."""
    root.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"  - {app}\n" for app in apps)
    (root / "platform.yaml").write_text(
        "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: test}\n"
        f'kubernetes: "1.35"\napps:\n  add:\n{lines}{more}'
    )
    return root
