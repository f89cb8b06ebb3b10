"""Take Secrets out of what is rendered, give them values, and keep them in the store.

What stays behind depends on the rules alone, never on a value: two people render the same tree.
A workload that a rule's `follow` names gets the environment variable through which it learns the
value, as a reference to the Secret.
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.secrets.generate import plan, rule_for
from argosy.secrets.values import (
    Credential,
    Left,
    Made,
    SecretName,
    Values,
    has_data,
    name_of,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from argosy.secrets.rules import Follow, SecretRule
    from argosy.secrets.store import SecretStore

__all__ = ["Externalised", "Workload", "adopt", "externalise", "rotate", "workloads"]

Manifest = dict[str, Any]


class Workload(NamedTuple):
    """A workload that must learn a value: group, kind, namespace, name."""

    group: str
    kind: str
    namespace: str
    name: str


class Externalised(NamedTuple):
    """What became of the objects.

    Attributes:
        kept: everything that is rendered; the Secrets that controllers fill are among it.
        secrets: the Secrets with their values, ready to be applied, as they stand in the store.
        made: the keys that got a new value in this run.
        left: the keys whose value stands in public or in the sources.
        credentials: what people type that is new in this run; show where it is kept, once.
    """

    kept: list[Manifest]
    secrets: list[Manifest]
    made: list[Made]
    left: list[Left]
    credentials: list[Credential]


def workloads(rules: Iterable[SecretRule]) -> set[Workload]:
    """Return the workloads that `externalise` has to see beside the Secrets."""
    return {_workload(follow) for rule in rules for follow in rule.follow}


def externalise(
    objects: Iterable[Manifest],
    rules: Collection[SecretRule],
    store: SecretStore,
    *,
    rng: random.Random | None = None,
) -> Externalised:
    """Split objects into what is rendered and what goes to the store.

    A copied value is found among the objects or in the store, so apps may come one by one when
    the app that owns the value comes first.

    Raises:
        SecretError: a Secret's values cannot be read, or its name is unusable.
        StoreError: the store cannot be read or written.
    """
    kept: list[Manifest] = []
    taken: list[Manifest] = []
    for obj in objects:
        is_secret = obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"
        (taken if is_secret and has_data(obj) else kept).append(obj)
    present = {_workload_of(obj) for obj in kept}
    untold = _untold(rules, taken, present)
    kept = [_told(obj, rules, taken) for obj in kept]
    if not taken:
        return Externalised(kept, [], [], [], [])
    done = _settle(taken, rules, store, untold=untold, rng=rng, anew=())
    return done._replace(kept=kept)


def rotate(
    names: Collection[str],
    rules: Collection[SecretRule],
    store: SecretStore,
    *,
    rng: random.Random | None = None,
) -> Externalised:
    """Make values in the store anew, with everything that is copied or derived from them.

    Args:
        names: `namespace/name` or `namespace/name:key`.
        rules: those of all apps.
        store: what holds them.
        rng: for tests; randomness of the system otherwise.

    Raises:
        SecretError: a name is not there, or a running server would not learn the new value.
        StoreError: the store cannot be read or written.
    """
    return _settle(store.objects(), rules, store, untold=(), rng=rng, anew=names)


def adopt(
    live: Iterable[Manifest], rules: Collection[SecretRule], store: SecretStore
) -> list[SecretName]:
    """Take the values of a running installation's Secrets over, where the store has none.

    A database that was made with upstream's password keeps it until somebody changes it there.

    Raises:
        SecretError: a live Secret's values cannot be read.
        StoreError: the store cannot be read or written.
    """
    adopted = []
    with store.locked():
        for secret in live:
            name = name_of(secret)
            rule = rule_for(rules, name)
            if rule and has_data(secret) and not store.path(name).exists():
                known = {key: v for key, v in values_of(secret).items() if key in rule.keys}
                store.write(_bare(secret), Values(known))
                adopted.append(name)
    return adopted


def _settle(
    secrets: list[Manifest],
    rules: Collection[SecretRule],
    store: SecretStore,
    *,
    untold: Collection[tuple[SecretName, str]],
    rng: random.Random | None,
    anew: Collection[str],
) -> Externalised:
    with store.locked():
        before = store.credentials()
        decided = plan(
            rules,
            {name_of(secret): values_of(secret) for secret in secrets},
            store.values(),
            rng=rng or random.SystemRandom(),
            credentials=before,
            untold=untold,
            rotate=anew,
        )
        # First what people type, then its hash: a run that ends between the two makes the hash
        # again from what was written, and nobody is locked out.
        store.write_credentials(decided.credentials)
        for secret in secrets:
            store.write(secret, decided.values[name_of(secret)])
    written = set(decided.values)
    return Externalised(
        kept=[],
        secrets=[secret for secret in store.objects() if name_of(secret) in written],
        made=decided.made,
        left=decided.left,
        credentials=[c for name, c in decided.credentials.items() if before.get(name) != c],
    )


def _untold(
    rules: Iterable[SecretRule], secrets: Iterable[Manifest], present: set[Workload]
) -> list[tuple[SecretName, str]]:
    return [
        (name_of(secret), follow.key)
        for rule in rules
        for secret in secrets
        if rule.covers(*name_of(secret))
        for follow in rule.follow
        if _workload(follow) not in present
    ]


def _told(obj: Manifest, rules: Iterable[SecretRule], secrets: Iterable[Manifest]) -> Manifest:
    """Return the object with the environment variables through which it learns its values."""
    for rule in rules:
        for follow in rule.follow:
            if _workload(follow) != _workload_of(obj):
                continue
            names = [name_of(s) for s in secrets if rule.covers(*name_of(s))]
            if names:
                obj = _with_variable(obj, follow, names[0].name)
    return obj


def _with_variable(obj: Manifest, follow: Follow, secret: str) -> Manifest:
    changed = copy.deepcopy(obj)
    reference = {"secretKeyRef": {"name": secret, "key": follow.key}}
    for container in changed["spec"]["template"]["spec"]["containers"]:
        if container["name"] == follow.container:
            others = [one for one in container.get("env", []) if one["name"] != follow.env]
            container["env"] = [*others, {"name": follow.env, "valueFrom": reference}]
    return changed


def _workload(follow: Follow) -> Workload:
    return Workload(follow.group, follow.kind, follow.namespace, follow.name)


def _workload_of(obj: Manifest) -> Workload:
    metadata = obj.get("metadata") or {}
    return Workload(
        str(obj.get("apiVersion", "")).rpartition("/")[0],
        obj.get("kind", ""),
        metadata.get("namespace", ""),
        metadata.get("name", ""),
    )


def _bare(secret: Manifest) -> Manifest:
    """Return a live Secret without what the API server and other managers added."""
    name = name_of(secret)
    bare = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name.name, "namespace": name.namespace},
    }
    return {**bare, "type": secret["type"]} if "type" in secret else bare
