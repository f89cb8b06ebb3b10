"""Understand `KIND/NAME[:field.path]`: which object of the rendered tree is meant.

Kinds are taken as kubectl takes them: in any case, singular, plural, the short names that
Kubernetes and the tree's own CustomResourceDefinitions give, with or without their group. Refuses
what fits several objects (and lists them) and what fits none (and says what is nearest).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from argosy import yaml
from argosy.errors import UsageError
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from argosy.platform.tree import Index

__all__ = ["CRD", "SHORT", "Target", "TargetError", "find_target", "parts_of", "plurals"]

SHOWN = 10  # candidates that are listed
CRD = "customresourcedefinition.apiextensions.k8s.io"
# short names that the API server has for its own kinds (`kubectl api-resources`)
SHORT = {
    "cj": "cronjob", "cm": "configmap", "cr": "clusterrole", "crb": "clusterrolebinding",
    "crd": "customresourcedefinition", "crds": "customresourcedefinition", "csr":
    "certificatesigningrequest", "deploy": "deployment", "ds": "daemonset", "ep": "endpoints",
    "hpa": "horizontalpodautoscaler", "ing": "ingress", "limits": "limitrange", "mwc":
    "mutatingwebhookconfiguration", "netpol": "networkpolicy", "ns": "namespace", "pc":
    "priorityclass", "pdb": "poddisruptionbudget", "po": "pod", "pv": "persistentvolume", "pvc":
    "persistentvolumeclaim", "quota": "resourcequota", "rb": "rolebinding", "rs": "replicaset",
    "sa": "serviceaccount", "sc": "storageclass", "sts": "statefulset", "svc": "service", "vwc":
    "validatingwebhookconfiguration",
}  # fmt: skip
_NAMES = re.compile(r"^  names:[ \t]*\n((?:    .*\n)+)", re.MULTILINE)


class TargetError(UsageError):
    """What is asked for is not in the rendered tree, or is not one object."""


class Target(NamedTuple):
    """An object of the tree.

    Attributes:
        app: the app that renders it.
        file: its file's name, or "" for a Secret that is kept out of the tree.
        kind: the kind and group as files write them: `deployment.apps`.
        namespace: its namespace, "" when it has none.
        name: its name.
        path: the field that was asked for, "" for the object.
    """

    app: str
    file: str
    kind: str
    namespace: str
    name: str
    path: str = ""

    def __str__(self) -> str:
        """Return it as it may be asked for."""
        return f"{self.kind}/{self.name}" + (f" -n {self.namespace}" if self.namespace else "")


def find_target(
    text: str, *, namespace: str | None, index: Index, read: Callable[[str, str], str]
) -> Target:
    """Return the object that is meant.

    Args:
        text: `KIND/NAME` or `KIND/NAME:field.path`.
        namespace: the object's namespace; None takes any.
        index: the tree's index.
        read: returns the text of an app's file, for definitions.

    Raises:
        TargetError: none or several are meant.
    """
    kind, slash, rest = text.partition("/")
    if not slash or not kind or not rest:
        raise TargetError(
            f"{text!r} names no object", hint="write KIND/NAME or KIND/NAME:field.path"
        )
    everything = list(_objects(index))
    kinds = _kinds(kind.lower(), {one.kind for one in everything}, index, read)
    if not kinds:
        known = sorted({one.kind.partition(".")[0] for one in everything})
        raise TargetError(
            f"nothing of kind {kind!r} is rendered",
            hint=did_you_mean(kind.lower(), known) or f"kinds: {', '.join(known)}",
        )
    of_kind = [one for one in everything if one.kind in kinds]
    name, path = _name_and_path(rest, {one.name for one in of_kind})
    named = [one for one in of_kind if one.name == name]
    found = [one for one in named if namespace is None or one.namespace == namespace]
    if len(found) == 1:
        return found[0]._replace(path=path)
    if len(found) > 1:
        listed = "; ".join(str(one) for one in found[:SHOWN])
        raise TargetError(f"{kind}/{name} fits {len(found)} objects", hint=f"name one: {listed}")
    if named:
        places = ", ".join(sorted({one.namespace or "no namespace" for one in named}))
        raise TargetError(
            f"there is no {kind}/{name} in namespace {namespace}", hint=f"there is one in {places}"
        )
    names = {one.name: one for one in of_kind}
    near = (
        did_you_mean(name, names) or f"there are {len(names)}: {', '.join(sorted(names)[:SHOWN])}"
    )
    raise TargetError(f"no {kind} named {name!r} is rendered", hint=near)


def _objects(index: Index) -> Iterable[Target]:
    for app, entry in index.apps.items():
        for file in entry.files:
            yield Target(app, file, *parts_of(file))
        for secret in entry.secrets:
            namespace, _, name = secret.rpartition("/")
            yield Target(app, "", "secret", namespace, name)


def parts_of(file: str) -> tuple[str, str, str]:
    """Return kind (`deployment.apps`), namespace and name of the object in a file of the tree."""
    kind, namespace, name = file.removesuffix(".yaml").split("_", 2)
    # upper case is encoded behind everything else, the digits of `%3A` included
    return kind, namespace, unquote(name)


def _name_and_path(rest: str, names: set[str]) -> tuple[str, str]:
    """Cut a field's path off; names of RBAC objects may have colons themselves."""
    if rest in names:
        return rest, ""
    cuts = [at for at, char in enumerate(rest) if char == ":"]
    for at in reversed(cuts):
        if rest[:at] in names:
            return rest[:at], rest[at + 1 :].strip().removeprefix(".")
    name, _, path = rest.partition(":")
    return name, path


def _kinds(
    asked: str, known: set[str], index: Index, read: Callable[[str, str], str]
) -> frozenset[str]:
    """Return the kinds of the tree (`deployment.apps`) that a word may mean."""
    word, _, group = asked.partition(".")
    word = SHORT.get(word, word)

    def fits(kind: str) -> bool:
        own, _, own_group = kind.partition(".")
        right = not group or own_group == group or own_group.startswith(f"{group}.")
        return right and word in {own, *plurals(own)}

    found = frozenset(kind for kind in known if fits(kind))
    if found:
        return found
    named = _defined(asked, index, read)
    return frozenset(kind for kind in known if kind in named)


def plurals(kind: str) -> tuple[str, ...]:
    """Return the plurals that a kind in lower case may have."""
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return (f"{kind[:-1]}ies",)
    return (f"{kind}es",) if kind.endswith(("s", "x", "ch", "sh")) else (f"{kind}s",)


def _defined(asked: str, index: Index, read: Callable[[str, str], str]) -> set[str]:
    """Return the kinds whose definition in the tree gives them this name."""
    word, _, group = asked.partition(".")
    found: set[str] = set()
    for app, entry in index.apps.items():
        for file in entry.files:
            if not file.startswith(f"{CRD}_"):
                continue
            own_group = file.removesuffix(".yaml").rpartition("_")[2].partition(".")[2]
            if group and not own_group.startswith(group):
                continue
            names = _names_of(read(app, file))
            words = [names.get(key) for key in ("kind", "plural", "singular")]
            words += list(names.get("shortNames") or ())
            if word in {str(one).lower() for one in words if one}:
                found.add(f"{str(names.get('kind')).lower()}.{own_group}")
    return found


def _names_of(text: str) -> Mapping[str, str | list[str]]:
    """Read the names out of a definition without reading its schemas."""
    found = _NAMES.search(text)
    names = yaml.load(found.group(1)) if found else {}
    return names if isinstance(names, dict) else {}
