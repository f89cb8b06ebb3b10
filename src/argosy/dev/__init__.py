"""A real Kubernetes control plane on the developer's machine, and tools that are built from Go.

    toolchain   build a tool of ours from its Go module into the cache, once
    cluster     start, stop and describe named clusters
    parts       start a part of argosy beside a cluster

What the cluster's processes are given on their command lines is decided in `components`, without
I/O; `process` is the one place that starts and ends processes. No container engine is needed.
Nothing here reads the process's environment: callers pass `env`.
"""

from __future__ import annotations

__all__: list[str] = []
