"""Sources: git, Helm, OCI and release files, locked to the byte; and the engines that read them.

    remote, paths, trees        what a reference is, and files as data
    kustomization, closure      what a build will read
    fetch, network, charts      where files come from: a mirror, or the network
    blobs, lock, resolve        the content-addressed cache, argosy.lock, and how it is made
    workspace, engines          files laid out for kustomize and helm, and their runs
    vendor                      a mirror made from a lock, and its proof

Import from the modules; this one stays empty so that each command loads only what it uses.
"""

from __future__ import annotations

__all__: list[str] = []
