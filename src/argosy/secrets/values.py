"""Secret values in memory: what a Secret object holds, as bytes by key, and what is known of them.

Pure. A `Values` never shows itself: its repr counts the keys and prints no value.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from msgspec import Struct

from argosy.secrets.errors import SecretError

__all__ = ["Credential", "Left", "Made", "SecretName", "Values", "has_data", "name_of", "values_of"]

Manifest = dict[str, Any]


class SecretName(NamedTuple):
    """Namespace and name of a Secret."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Return `namespace/name`, as people type it."""
        return f"{self.namespace}/{self.name}"


class Values(dict[str, bytes]):
    """The values of one Secret by key; its repr hides them."""

    def __repr__(self) -> str:
        """Return the names of the keys alone."""
        return f"<values of {', '.join(self) or 'no key'}>"


class Credential(Struct, frozen=True):
    """What a person types to get in. `use` says where."""

    name: str
    user: str
    password: str
    use: str

    def __repr__(self) -> str:
        """Return everything but the password."""
        return f"<credential {self.name} of {self.user}>"


class Made(NamedTuple):
    """A key whose value was made anew."""

    secret: SecretName
    key: str


class Left(NamedTuple):
    """A key that still has a value which stands in public or in the sources, and why."""

    secret: SecretName
    key: str
    why: str


def name_of(secret: Manifest) -> SecretName:
    """Return namespace and name of a Secret object.

    Raises:
        SecretError: one of them is missing or no text, such as an unquoted `n` or `123`.
    """
    metadata = secret.get("metadata") or {}
    name = SecretName(metadata.get("namespace", ""), metadata.get("name", ""))
    if not name.name or not all(isinstance(part, str) for part in name):
        raise SecretError("a Secret's metadata has no name, or one that is not text")
    return name


def has_data(secret: Manifest) -> bool:
    """Say whether a Secret object brings values; one that a controller fills does not."""
    return bool(secret.get("data") or secret.get("stringData"))


def values_of(secret: Manifest) -> Values:
    """Return the values of a Secret object; `stringData` wins over `data`, as in the API server.

    Raises:
        SecretError: a value under `data` is not base64.
    """
    values = Values()
    for key, text in (secret.get("data") or {}).items():
        try:
            values[key] = base64.b64decode(text or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise SecretError(
                f"Secret {name_of(secret)}: data.{key} is not base64",
                hint="plain text goes under stringData",
            ) from None  # the cause quotes the value
    for key, text in (secret.get("stringData") or {}).items():
        values[key] = str(text).encode()
    return values
