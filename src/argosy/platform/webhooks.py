"""Say which admission webhooks the API server would ask about an object.

Pure: reads webhook configurations of the tree and answers for objects of the tree, with the API
server's own rules (groups, versions, resources, scope, operations, both selectors). A match
condition cannot be evaluated here and counts as met: waiting for a webhook that is not asked
costs a second, not waiting for one that is costs a refused request.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy import yaml
from argosy.graph import matches
from argosy.manifests import ObjectId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.manifests import Manifest

__all__ = ["ADMISSION", "NAME_LABEL", "Hook", "HookIndex", "Subject", "hooks_of", "plural"]

ADMISSION = "admissionregistration.k8s.io"
NAME_LABEL = "kubernetes.io/metadata.name"
RULES = Path(__file__).parent / "data" / "webhook-rules.yaml"
WRITES = {"*", "CREATE", "UPDATE"}
# the API server never asks webhooks about these, or nobody could repair a broken webhook
EXEMPT = {
    (ADMISSION, "MutatingWebhookConfiguration"),
    (ADMISSION, "ValidatingWebhookConfiguration"),
    (ADMISSION, "ValidatingAdmissionPolicy"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
}


class Subject(NamedTuple):
    """What a webhook would be asked about.

    Attributes:
        group: its API group.
        version: the version in which it is written.
        kind: its kind.
        resource: the plural name in URLs.
        namespace: "" for what has none.
        labels: its own labels.
    """

    group: str
    version: str
    kind: str
    resource: str
    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Hook:
    """One webhook of a configuration.

    Attributes:
        configuration: the object that it stands in.
        name: its own name.
        service: the Service that answers; None when it is a URL.
        fails: a request is refused while it cannot be asked.
        trusted: the manifest carries the certificate authority; otherwise a controller adds it.
    """

    configuration: ObjectId
    name: str
    service: ObjectId | None
    fails: bool
    trusted: bool
    exact: bool
    rules: tuple[Mapping[str, Any], ...]
    namespaces: Mapping[str, Any]
    objects: Mapping[str, Any]

    def asked(self, subject: Subject, namespace_labels: Mapping[str, str]) -> bool:
        """Say whether the API server asks this webhook when the subject is written.

        Args:
            subject: what is written.
            namespace_labels: the labels of its namespace; for a Namespace, its own.
        """
        if (subject.group, subject.kind) in EXEMPT:
            return False
        if not any(self._covers(rule, subject) for rule in self.rules):
            return False
        is_namespace = subject.kind == "Namespace" and not subject.group
        if (subject.namespace or is_namespace) and not matches(self.namespaces, namespace_labels):
            return False
        return matches(self.objects, subject.labels)

    def _covers(self, rule: Mapping[str, Any], subject: Subject) -> bool:
        scope = rule.get("scope") or "*"
        if scope != "*" and (scope == "Namespaced") != bool(subject.namespace):
            return False
        if not WRITES.intersection(rule.get("operations") or ()):
            return False
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if "*" not in groups and subject.group not in groups:
            return False
        # `Equivalent`, the default, also catches the other versions of the same resource
        if self.exact and "*" not in versions and subject.version not in versions:
            return False
        return any(_is_resource(text, subject.resource) for text in rule.get("resources") or ())


def _is_resource(text: str, resource: str) -> bool:
    name, _, sub = text.partition("/")
    return name in {"*", resource} and sub in {"", "*"}


def hooks_of(configuration: ObjectId, obj: Manifest) -> Iterator[Hook]:
    """Yield the webhooks of a configuration."""
    for webhook in obj.get("webhooks") or ():
        client = webhook.get("clientConfig") or {}
        service = client.get("service") or {}
        yield Hook(
            configuration=configuration,
            name=str(webhook.get("name", "")),
            service=ObjectId("", "Service", service.get("namespace", ""), service["name"])
            if service.get("name")
            else None,
            fails=webhook.get("failurePolicy", "Fail") == "Fail",
            trusted=_is_authority(client.get("caBundle")),
            exact=webhook.get("matchPolicy") == "Exact",
            rules=tuple(webhook.get("rules") or _runtime_rules(configuration.name)),
            namespaces=webhook.get("namespaceSelector") or {},
            objects=webhook.get("objectSelector") or {},
        )


def _is_authority(bundle: Any) -> bool:
    # "Cg==" is an empty line: what manifests write where a controller fills in the real one
    return isinstance(bundle, str) and bundle.strip() not in {"", "Cg=="}


@cache
def _runtime_table() -> tuple[tuple[str, tuple[Mapping[str, Any], ...]], ...]:
    table = yaml.load(RULES.read_bytes(), file=str(RULES))
    return tuple((row["configuration"], tuple(row["rules"])) for row in table)


def _runtime_rules(name: str) -> tuple[Mapping[str, Any], ...]:
    for pattern, rules in _runtime_table():
        if fnmatchcase(name, pattern):
            return rules
    return ()


class HookIndex:
    """The webhooks of a tree, found by resource so that each object is checked against few."""

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._by_resource: dict[str, list[Hook]] = {}
        for hook in hooks:
            names = {r.partition("/")[0] for rule in hook.rules for r in rule.get("resources", ())}
            for name in sorted(names):
                self._by_resource.setdefault(name, []).append(hook)

    def asked(self, subject: Subject, namespace_labels: Mapping[str, str]) -> list[Hook]:
        """Return the webhooks that are asked about a subject, each once."""
        candidates = [
            *self._by_resource.get(subject.resource, ()),
            *self._by_resource.get("*", ()),
        ]
        found = {
            (hook.configuration, hook.name): hook
            for hook in candidates
            if hook.asked(subject, namespace_labels)
        }
        return list(found.values())


_IRREGULAR = {"Endpoints": "endpoints"}


def plural(kind: str) -> str:
    """Return the resource name of a kind of Kubernetes itself, as its URLs have it."""
    name = _IRREGULAR.get(kind, "")
    if name:
        return name
    name = kind.lower()
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch")) else f"{name}s"
