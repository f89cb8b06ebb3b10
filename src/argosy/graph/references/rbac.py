"""What role bindings refer to, and the accounts that mesh policies name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from argosy.graph.references.model import Reference, target
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
    role = obj.get("roleRef") or {}
    if role.get("name"):
        namespace = source.namespace if role.get("kind") == "Role" else ""
        yield Reference(
            source,
            "roleRef",
            target(role.get("kind", ""), role["name"], namespace=namespace, group=RBAC),
        )
    for number, subject in enumerate(obj.get("subjects") or []):
        if subject.get("kind") == "ServiceAccount" and subject.get("name"):
            namespace = subject.get("namespace") or source.namespace
            yield Reference(
                source,
                f"subjects[{number}]",
                target("ServiceAccount", subject["name"], namespace=namespace),
            )


def from_principals(obj: Manifest) -> Iterator[Reference]:
    """Yield the ServiceAccounts whose mesh identities an AuthorizationPolicy names."""
    source = identity(obj)
    for number, rule in enumerate((obj.get("spec") or {}).get("rules") or []):
        for place, origin in enumerate(rule.get("from") or []):
            for key in ("principals", "notPrincipals"):
                for name in (origin.get("source") or {}).get(key) or []:
                    if account := principal(name):
                        path = f"spec.rules[{number}].from[{place}].source.{key}"
                        namespace, account_name = account
                        meant = target("ServiceAccount", account_name, namespace=namespace)
                        yield Reference(source, path, meant)


def principal(text: str) -> tuple[str, str] | None:
    """Return namespace and name of the account that a mesh identity stands for."""
    found = PRINCIPAL.fullmatch(text)
    return (found[1], found[2]) if found else None
