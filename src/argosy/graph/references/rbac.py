"""What role bindings refer to, and the accounts that mesh policies name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from argosy.graph.references.model import Reference, target
from argosy.graph.shape import entries, mapping, string, strings
from argosy.manifests import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest

__all__ = ["from_binding", "from_principals", "principal"]

RBAC = "rbac.authorization.k8s.io"
# <trust domain>/ns/<namespace>/sa/<name>; wildcards name no account
PRINCIPAL = re.compile(r"[^/*]+/ns/([a-z0-9-]+)/sa/([a-z0-9.-]+)")


def from_binding(obj: Manifest) -> Iterator[Reference]:
    """Yield the role of a RoleBinding or ClusterRoleBinding, and its ServiceAccounts."""
    source = identity(obj)
    role = mapping(obj, "roleRef")
    kind, name = string(role, "kind"), string(role, "name")
    if name:
        namespace = source.namespace if kind == "Role" else ""
        meant = target(kind, name, namespace=namespace, group=RBAC)
        yield Reference(source, "roleRef", meant)
    for number, subject in enumerate(entries(obj, "subjects")):
        name = string(subject, "name")
        if subject.get("kind") == "ServiceAccount" and name:
            namespace = string(subject, "namespace") or source.namespace
            meant = target("ServiceAccount", name, namespace=namespace)
            yield Reference(source, f"subjects[{number}]", meant)


def from_principals(obj: Manifest) -> Iterator[Reference]:
    """Yield the ServiceAccounts whose mesh identities an AuthorizationPolicy names."""
    source = identity(obj)
    for number, rule in enumerate(entries(obj, "spec", "rules")):
        for place, origin in enumerate(entries(rule, "from")):
            for key in ("principals", "notPrincipals"):
                for name in strings(origin, "source", key):
                    if account := principal(name):
                        path = f"spec.rules[{number}].from[{place}].source.{key}"
                        namespace, account_name = account
                        meant = target("ServiceAccount", account_name, namespace=namespace)
                        yield Reference(source, path, meant)


def principal(text: str) -> tuple[str, str] | None:
    """Return namespace and name of the account that a mesh identity stands for."""
    found = PRINCIPAL.fullmatch(text)
    return (found[1], found[2]) if found else None
