"""Decide the value of every key of every Secret that argosy takes out of the rendered tree.

Pure given `rng`: the same rules, Secrets, existing values and randomness give the same plan. What
exists is kept, so planning twice is planning once; `rotate` names what is made anew all the same.
Refuses to rotate what a running server would not learn of. Never makes a value that would break
the platform: where nobody would tell the server, upstream's value stays and the plan says so.
"""

from __future__ import annotations

import base64
import hashlib
import string
from typing import TYPE_CHECKING

from msgspec import Struct, field

from argosy.secrets.errors import SecretError
from argosy.secrets.rules import Bcrypt, Copy, Keep, Random, RandomBytes, SecretRule
from argosy.secrets.values import Credential, Left, Made, SecretName, Values
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["Plan", "plan", "review", "rule_for"]

ALPHABET = (
    string.ascii_letters + string.digits
)  # 5.95 bits a letter, and nothing that needs quoting

NOTHING = Values()

NOT_TOLD = "its server is not part of this platform, so argosy cannot tell it a new value"
NOT_THERE = "the Secret that it must agree with is not part of this platform"
NO_RULE = "its value stands in the sources, and no rule says how to make another"
CONSTANT = "it still has upstream's value, which is public"


class Plan(Struct, frozen=True):
    """What every Secret shall hold.

    Attributes:
        values: by Secret, all its keys.
        credentials: what people type, by name; those that existed and those that are new.
        made: the keys that got a new value in this plan.
        left: the keys whose value stands in public or in the sources.
    """

    values: dict[SecretName, Values] = field(default_factory=dict)
    credentials: dict[str, Credential] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


def rule_for(rules: Iterable[SecretRule], secret: SecretName) -> SecretRule | None:
    """Return the rule that speaks of this Secret, if one does."""
    return next((rule for rule in rules if rule.covers(*secret)), None)


def plan(
    rules: Collection[SecretRule],
    rendered: Mapping[SecretName, Values],
    existing: Mapping[SecretName, Values],
    *,
    rng: random.Random,
    credentials: Mapping[str, Credential] | None = None,
    untold: Collection[tuple[SecretName, str]] = (),
    rotate: Collection[str] = (),
) -> Plan:
    """Return the values of all rendered Secrets.

    Args:
        rules: how values are made.
        rendered: the Secrets as upstream or the user's own sources give them.
        existing: what was made before.
        rng: `random.SystemRandom()`, or a seeded generator in tests.
        credentials: what people type, made before.
        untold: keys whose server is not rendered and would never learn a new value.
        rotate: `namespace/name` or `namespace/name:key`, to be made anew although they exist.

    Raises:
        SecretError: `rotate` names nothing that argosy makes, or what a server would not learn.
    """
    work = _Planner(rules, existing, dict(credentials or {}), frozenset(untold), rng)
    work.anew = _to_rotate(rules, rendered, rotate)
    copies: list[tuple[SecretName, str, Copy]] = []
    for secret, values in rendered.items():
        rule = rule_for(rules, secret)
        work.plan.values[secret] = Values(values)  # keeps the order of keys
        for key in values:
            how = rule.keys.get(key) if rule else None
            if isinstance(how, Copy):
                copies.append((secret, key, how))
            else:
                work.decide(secret, key, how)
    for secret, key, how in copies:
        work.copy(secret, key, how)
    return work.plan


class _Planner:
    def __init__(
        self,
        rules: Collection[SecretRule],
        existing: Mapping[SecretName, Values],
        credentials: dict[str, Credential],
        untold: frozenset[tuple[SecretName, str]],
        rng: random.Random,
    ) -> None:
        self.rules = rules
        self.existing = existing
        self.untold = untold
        self.rng = rng
        self.anew: frozenset[tuple[SecretName, str]] = frozenset()
        self.plan = Plan(credentials=credentials)

    def decide(
        self, secret: SecretName, key: str, how: Keep | Random | RandomBytes | Bcrypt | None
    ) -> None:
        if how is None:
            self.plan.left.append(Left(secret, key, NO_RULE))
            return
        if isinstance(how, Keep):
            return
        before = self._before(secret, key)
        again = (secret, key) in self.anew
        if (secret, key) in self.untold and (
            before is None or self._is_public(secret, key, before)
        ):
            self.plan.left.append(Left(secret, key, NOT_TOLD))
        elif before is not None and not again:
            self.plan.values[secret][key] = before
            if self._is_public(secret, key, before):
                self.plan.left.append(Left(secret, key, CONSTANT))
        else:
            self.plan.values[secret][key] = self._make(how, again=again)
            self.plan.made.append(Made(secret, key))

    def copy(self, secret: SecretName, key: str, how: Copy) -> None:
        source = SecretName(how.of.namespace, how.of.name)
        value = self.plan.values.get(source, NOTHING).get(how.of.key)
        if value is None:
            value = self._before(source, how.of.key)
        before = self._before(secret, key)
        if value is None:
            if before is None or self._is_public(secret, key, before):
                self.plan.left.append(Left(secret, key, NOT_THERE))
            else:
                self.plan.values[secret][key] = before
            return
        self.plan.values[secret][key] = value
        if self._is_public(secret, key, value):
            self.plan.left.append(Left(secret, key, CONSTANT))
        if value != before:
            self.plan.made.append(Made(secret, key))

    def _before(self, secret: SecretName, key: str) -> bytes | None:
        """Return the existing value, also of a Secret whose name's hash was another."""
        if secret in self.existing:
            return self.existing[secret].get(key)
        rule = rule_for(self.rules, secret)
        if rule is None or not rule.hashed:
            return None
        return next(
            (v[key] for n, v in self.existing.items() if rule.covers(*n) and key in v), None
        )

    def _is_public(self, secret: SecretName, key: str, value: bytes) -> bool:
        rule = rule_for(self.rules, secret)
        return rule is not None and _is_public(rule, key, value)

    def _make(self, how: Random | RandomBytes | Bcrypt, *, again: bool) -> bytes:
        match how:
            case Random():
                return _letters(self.rng, how.length).encode()
            case RandomBytes():
                return base64.urlsafe_b64encode(self.rng.randbytes(how.length))
            case Bcrypt():
                credential = self.plan.credentials.get(how.credential)
                if credential is None or again:
                    password = _letters(self.rng, how.length)
                    credential = Credential(how.credential, how.user, password, how.use)
                    self.plan.credentials[how.credential] = credential
                return _bcrypt(credential.password, cost=how.cost, rng=self.rng)


def review(rules: Collection[SecretRule], stored: Mapping[SecretName, Values]) -> list[Left]:
    """Return the keys of stored (or live) Secrets that still have a value known to the public."""
    left = []
    for secret, values in stored.items():
        rule = rule_for(rules, secret)
        for key, value in values.items():
            if rule is None:
                left.append(Left(secret, key, NO_RULE))
            elif _is_public(rule, key, value):
                left.append(Left(secret, key, CONSTANT))
    return left


def _is_public(rule: SecretRule, key: str, value: bytes) -> bool:
    return hashlib.sha256(value).hexdigest() == rule.constants.get(key)


def _to_rotate(
    rules: Collection[SecretRule], secrets: Iterable[SecretName], rotate: Collection[str]
) -> frozenset[tuple[SecretName, str]]:
    """Turn names that people type into keys, and refuse those that must not be rotated."""
    choices: dict[str, list[tuple[SecretName, str]]] = {}
    fixed: dict[str, str] = {}
    for secret in secrets:
        rule = rule_for(rules, secret)
        for key, how in (rule.keys if rule else {}).items():
            if isinstance(how, Random | RandomBytes | Bcrypt):
                for name in (str(secret), f"{secret}:{key}"):
                    choices.setdefault(name, []).append((secret, key))
                    if isinstance(how, Random) and how.at_first_start:
                        fixed[name] = how.at_first_start
    for name in rotate:
        if name not in choices:
            known = ", ".join(sorted(n for n in choices if ":" not in n)) or "none"
            raise SecretError(
                f"there is no secret '{name}' that argosy makes",
                hint=did_you_mean(name, choices) or f"known: {known}",
            )
        if name in fixed:
            raise SecretError(
                f"{name} cannot be rotated: {fixed[name]}",
                hint="change it in the server, then write the new value into the secret's file",
            )
    return frozenset(entry for name in rotate for entry in choices[name])


def _letters(rng: random.Random, length: int) -> str:
    return "".join(rng.choice(ALPHABET) for _ in range(length))


def _bcrypt(password: str, *, cost: int, rng: random.Random) -> bytes:
    import bcrypt  # a native library, needed once in a platform's life

    # bcrypt's own base64; 22 letters carry 128 bits, so the last one has four values only.
    letters = "./" + string.ascii_uppercase + string.ascii_lowercase + string.digits
    salt = "".join(rng.choice(letters) for _ in range(21)) + rng.choice(".Oeu")
    return bcrypt.hashpw(password.encode(), f"$2b${cost:02d}${salt}".encode())
