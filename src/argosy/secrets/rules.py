"""The rules by which secret values are made: data, as the catalogue and `platform.yaml` write it.

A rule speaks of one Secret of upstream and says of every key how its value is made. It holds no
value and makes none; `argosy.secrets.generate` does. What a rule cannot say is refused when it is
read: an unknown way of making, a bcrypt cost out of range, a random value too short to be one.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

__all__ = ["Bcrypt", "Copy", "Follow", "Keep", "KeyOf", "Random", "RandomBytes", "SecretRule"]

SHORTEST = 16  # letters and digits: 95 bits, beyond guessing
LONGEST = 72  # bcrypt reads no further; long enough for everything else

Length = Annotated[int, Meta(ge=SHORTEST, le=LONGEST)]

# kustomize's name hash: ten letters and digits of this alphabet behind the generator's name
HASH = re.compile(r"-[2456789bcdfghkmt]{10}")


class Keep(Struct, frozen=True, tag="keep", tag_field="make", forbid_unknown_fields=True):
    """Upstream's value stays, because it is no secret (a user name) or must not change alone."""

    why: str


class Random(Struct, frozen=True, tag="random", tag_field="make", forbid_unknown_fields=True):
    """Letters and digits: they survive shells, URLs, YAML and MySQL's quoting.

    `at_first_start` says why a running installation does not take a new value by itself.
    """

    why: str
    length: Length = 32
    at_first_start: str = ""


class RandomBytes(Struct, frozen=True, tag="bytes", tag_field="make", forbid_unknown_fields=True):
    """Random bytes in URL-safe base64, for keys of ciphers."""

    why: str
    length: Annotated[int, Meta(ge=16, le=64)] = 32  # bytes


class KeyOf(Struct, frozen=True, forbid_unknown_fields=True):
    """One key of one Secret."""

    namespace: str
    name: str
    key: str


class Copy(Struct, frozen=True, tag="copy", tag_field="make", forbid_unknown_fields=True):
    """The value of another Secret's key; two parties must hold the same one."""

    why: str
    of: KeyOf


class Bcrypt(Struct, frozen=True, tag="bcrypt", tag_field="make", forbid_unknown_fields=True):
    """The bcrypt hash of a random password that a person will type.

    The password itself never enters a Secret: it is kept in the store under `credential`.
    """

    why: str
    credential: str
    user: str
    use: str
    length: Length = 20
    # The password is random (119 bits at 20 letters), so the cost guards nothing that its length
    # does not; 10 is Dex's own default and takes 60 ms.
    cost: Annotated[int, Meta(ge=10, le=14)] = 10


class Follow(Struct, frozen=True, forbid_unknown_fields=True):
    """A container that must learn a key's value from the Secret, through an environment variable.

    Upstream leaves it out; with it, a value other than upstream's works. Where the workload is
    not among the objects, the value is not made anew, since nobody would tell the server.
    """

    kind: str
    group: str
    namespace: str
    name: str
    container: str
    env: str
    key: str
    why: str


class SecretRule(Struct, frozen=True, forbid_unknown_fields=True):
    """How the values of one Secret are made, key by key.

    `hashed`: kustomize has put a hash of the content behind the name; it stays as it is, since
    the objects that refer to the Secret carry it as well. `constants`: SHA-256 of upstream's public
    values, by key, by which a value that nobody has changed is recognised.
    """

    namespace: str
    name: str
    keys: dict[str, Keep | Random | RandomBytes | Copy | Bcrypt]
    hashed: bool = False
    follow: tuple[Follow, ...] = ()
    constants: dict[str, str] = {}

    def covers(self, namespace: str, name: str) -> bool:
        """Say whether the rule speaks of the Secret with this namespace and rendered name."""
        if namespace != self.namespace:
            return False
        if not self.hashed:
            return name == self.name
        return name.startswith(self.name) and bool(HASH.fullmatch(name[len(self.name) :]))
