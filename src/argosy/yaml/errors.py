"""The one error of this package: text that is not YAML as Kubernetes reads it.

UsageError
└── YamlError    a syntax error, a duplicate key, a value that JSON has no form for
"""

from __future__ import annotations

from argosy.errors import Location, UsageError

__all__ = ["YamlError"]


class YamlError(UsageError):
    """A text cannot be read (or a value cannot be written) as YAML for Kubernetes.

    Args:
        message: one sentence that says what is wrong.
        where: file, line and column of the first wrong character, when a text was read.
        hint: what to do about it.
    """

    def __init__(
        self, message: str, *, where: Location | None = None, hint: str | None = None
    ) -> None:
        self.location = where
        super().__init__(message, where=where, hint=hint)
