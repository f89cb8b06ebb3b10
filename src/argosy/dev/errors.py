"""What can go wrong with local clusters and tools.

ArgosyError
├── UsageError
│   ├── BadClusterName    a name that cannot be a folder or a context
│   ├── UnknownCluster    no cluster of that name was ever started
│   └── UnknownPart       `--with` names a part that argosy does not have
└── OutsideError
    ├── NoGo              there is no Go, and none can be installed
    ├── BuildFailed       Go refused to build a tool
    └── ClusterFailed     a process of the cluster ended, or did not get ready in time

Each carries one sentence for people; what Go or a server said is in it.
"""

from __future__ import annotations

from argosy.errors import OutsideError, UsageError

__all__ = [
    "BadClusterName",
    "BuildFailed",
    "ClusterFailed",
    "NoGo",
    "UnknownCluster",
    "UnknownPart",
]


class BadClusterName(UsageError):
    """A cluster's name is not letters, digits and dashes."""


class UnknownCluster(UsageError):
    """There is no cluster of that name."""


class UnknownPart(UsageError):
    """There is no part of that name to start."""


class NoGo(OutsideError):
    """No Go toolchain was found, and installing one failed."""


class BuildFailed(OutsideError):
    """`go build` failed."""


class ClusterFailed(OutsideError):
    """The cluster did not start."""
