"""The errors of this package.

UsageError
└── ManifestError    an object that is none: no kind, no name, not a mapping
    └── PathError    a path that cannot be read, or leads nowhere in an object
"""

from __future__ import annotations

from argosy.errors import UsageError

__all__ = ["ManifestError", "PathError"]


class ManifestError(UsageError):
    """A value is not a Kubernetes object, or not the one that was meant."""


class PathError(ManifestError):
    """A path into an object cannot be read, or leads nowhere."""
