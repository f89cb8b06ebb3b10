"""What can go wrong with secrets, said to a person without ever showing a value.

SecretError(UsageError)        a name to rotate that does not exist or must not, an unusable name
StoreError(OutsideError)       the folder of secrets cannot be read or written, or is not private
"""

from __future__ import annotations

from argosy.errors import OutsideError, UsageError

__all__ = ["SecretError", "StoreError"]


class SecretError(UsageError):
    """What was asked for cannot be done with these secrets."""


class StoreError(OutsideError):
    """The folder of secrets cannot be used."""
