"""Say what each object of a platform waits for before it is applied, and why.

Pure: takes the rendered tree, returns the steps of `argosy.platform.waves`. CRDs are read without
their schemas, which are most of a Kubeflow release's bytes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from argosy.graph import matches, pod_template, references
from argosy.manifests import ObjectId, apply_rank
from argosy.platform.definitions import Definition, definition
from argosy.platform.waves import Edge, Gate, Order, Step, build_order
from argosy.platform.webhooks import (
    ADMISSION,
    NAME_LABEL,
    Hook,
    HookIndex,
    Subject,
    hooks_of,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from argosy.graph import PodTemplate
    from argosy.manifests import Manifest
    from argosy.platform.model import RenderedObject, RenderedPlatform

__all__ = ["Tree"]

CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# what an app's needs wait for until it runs; Jobs may wait for their users, so they are not here
ROLLED_OUT = {("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet")}
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
LIMITS = ("LimitRange", "ResourceQuota")
# what a pod cannot start without, or is refused without
MOUNTED = {
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "PersistentVolumeClaim",
    "PriorityClass",
    "RuntimeClass",
}


class Tree:
    """A rendered tree with the look-ups that the rules need, each built once.

    Attributes:
        rendered: every object by its identity.
        definitions: what its CustomResourceDefinitions define, by group and kind.
        objects: the parsed objects; definitions are left out.
        templates: the pod templates of its workloads.

    Raises:
        YamlError: a file of the tree is not YAML.
    """

    def __init__(self, platform: RenderedPlatform) -> None:
        self.platform = platform
        self.rendered = {o.id: o for o in platform.objects()}
        self.definitions: dict[tuple[str, str], Definition] = {}
        self.objects: dict[ObjectId, Manifest] = {}
        for found in self.rendered.values():
            if found.id[:2] == CRD:
                made = definition(found.id, found.text, file=found.file)
                self.definitions[made.group, made.kind] = made
            else:
                self.objects[found.id] = found.object()
        self.templates = {
            id_: template for id_, obj in self.objects.items() if (template := pod_template(obj))
        }
        self.backing = _backing(self.templates)
        self.hooks: dict[ObjectId, list[Hook]] = {
            id_: list(hooks_of(id_, obj))
            for id_, obj in self.objects.items()
            if id_.group == ADMISSION and id_.kind in CONFIGURATIONS
        }
        self.index = HookIndex(h for hooks in self.hooks.values() for h in hooks if h.fails)
        self.bindings = self._bindings()
        self.limits: dict[str, list[ObjectId]] = defaultdict(list)
        for id_ in self.objects:
            if id_.group == "" and id_.kind in LIMITS:
                self.limits[id_.namespace].append(id_)
        self.profiles = {
            id_.name: id_ for id_ in self.objects if id_[:2] == ("kubeflow.org", "Profile")
        }
        self.gates: dict[Gate, Step] = {}

    def _bindings(self) -> dict[ObjectId, list[ObjectId]]:
        by_account: dict[ObjectId, list[ObjectId]] = defaultdict(list)
        for id_, obj in self.objects.items():
            if id_.kind in BINDINGS:
                for ref in references(obj):
                    if ref.target.kind == "ServiceAccount":
                        by_account[ref.target].append(id_)
        return by_account

    def order(self) -> Order:
        """Return the order in which the objects are applied."""
        return build_order(self.steps())

    def steps(self) -> list[Step]:
        """Return every step: objects in a stable order, then milestones, then gates."""
        apps = {app.name: number for number, app in enumerate(self.platform.apps)}
        inside = sorted(self.rendered.values(), key=lambda o: (apply_rank(o.id), apps[o.app], o.id))
        made = [Step(found.id, found, tuple(self._edges(found))) for found in inside]
        needed = {need for app in self.platform.apps for need in app.needs}
        for app in self.platform.apps:
            after = [Edge(_milestone(need), "gate") for need in app.needs]
            after += [Edge(o.id, "gate") for o in app.objects if self._is_foundation(o.id)]
            if app.name in needed:
                running = [o.id for o in app.objects if o.id[:2] in ROLLED_OUT]
                after += [Edge(self._gate("healthy", id_), "gate") for id_ in running]
            made.append(Step(_milestone(app.name), None, tuple(after)))
        return [*made, *self.gates.values()]

    def _is_foundation(self, id_: ObjectId) -> bool:
        """Say whether apps that need this one wait for the object.

        Custom resources and webhooks have gates of their own in front of them. Definitions are
        the API server's slowest work by far, and a controller that starts a moment before its
        definition simply looks again.
        """
        if id_[:2] == CRD or id_ in self.hooks:
            return False
        return (id_.group, id_.kind) not in self.definitions

    def _edges(self, found: RenderedObject) -> Iterator[Edge]:
        id_ = found.id
        if id_.namespace:
            yield from self._namespace(id_.namespace)
        if id_[:2] == CRD:
            return
        obj = self.objects[id_]
        if (made := self.definitions.get((id_.group, id_.kind))) is not None:
            yield Edge(self._gate("served", made.id), "kind")
            yield from self._conversion(obj, made)
        if id_ in self.hooks:
            for hook in self.hooks[id_]:
                yield from self._answered_by(hook.service)
        if id_.kind == "APIService":
            service = (obj.get("spec") or {}).get("service") or {}
            meant = ObjectId("", "Service", service.get("namespace", ""), service.get("name", ""))
            yield from self._answered_by(meant)
        if id_.kind in BINDINGS:
            for ref in references(obj):
                if ref.target.kind != "ServiceAccount":
                    yield Edge(ref.target, "role")
        for hook in self.index.asked(*self._subject(id_, obj)):
            yield from self._asked(hook, "webhook")
        if (template := self.templates.get(id_)) is not None:
            yield from self._workload(found, obj, template)

    def _workload(self, found: RenderedObject, obj: Manifest, pods: PodTemplate) -> Iterator[Edge]:
        for ref in references(obj):
            if ref.target.kind in MOUNTED:
                yield Edge(ref.target, "mount")
        account = ObjectId("", "ServiceAccount", pods.namespace, pods.service_account)
        for binding in self.bindings.get(account, ()):
            yield Edge(binding, "start")
        for limit in self.limits.get(pods.namespace, ()):
            yield Edge(limit, "start")
        for need in self.platform.app(found.app).needs:
            yield Edge(_milestone(need), "needs")
        pod = Subject("", "v1", "Pod", "pods", pods.namespace, pods.labels)
        if found.id.kind != "Pod":
            for hook in self.index.asked(pod, self._labels(pods.namespace)):
                yield from self._asked(hook, "inject")

    def _namespace(self, name: str) -> Iterator[Edge]:
        namespace = ObjectId("", "Namespace", "", name)
        if namespace in self.rendered:
            yield Edge(namespace, "namespace")
        elif name in self.profiles:
            gate = Gate("namespace", namespace)
            self.gates.setdefault(gate, Step(gate, None, (Edge(self.profiles[name], "gate"),)))
            yield Edge(gate, "namespace")

    def _conversion(self, obj: Manifest, made: Definition) -> Iterator[Edge]:
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        if made.converter is not None and version != made.storage:
            for workload in self._behind(made.converter):
                yield Edge(self._gate("healthy", workload), "webhook")

    def _answered_by(self, service: ObjectId | None) -> Iterator[Edge]:
        if service is None:
            return
        yield Edge(service, "gate")
        for workload in self._behind(service):
            yield Edge(self._gate("healthy", workload), "gate")

    def _asked(self, hook: Hook, why: Any) -> Iterator[Edge]:
        yield Edge(hook.configuration, why)
        if not hook.trusted and hook.service is not None:
            yield Edge(self._gate("trusted", hook.configuration), why)

    def _gate(self, kind: Any, target: ObjectId) -> Gate:
        gate = Gate(kind, target)
        self.gates.setdefault(gate, Step(gate, None, (Edge(target, "gate"),)))
        return gate

    def _behind(self, service: ObjectId) -> list[ObjectId]:
        obj = self.objects.get(service)
        selector = ((obj or {}).get("spec") or {}).get("selector") or {}
        if not selector:
            return []
        first = next(iter(selector.items()))
        candidates = self.backing.get((service.namespace, *first), ())
        return [
            id_
            for id_ in candidates
            if matches({"matchLabels": selector}, self.templates[id_].labels)
        ]

    def _subject(self, id_: ObjectId, obj: Manifest) -> tuple[Subject, Mapping[str, str]]:
        made = self.definitions.get((id_.group, id_.kind))
        labels = (obj.get("metadata") or {}).get("labels") or {}
        subject = Subject(
            group=id_.group,
            version=str(obj.get("apiVersion", "")).rpartition("/")[2],
            kind=id_.kind,
            resource=made.plural if made else plural(id_.kind),
            namespace=id_.namespace,
            labels=labels,
        )
        if id_.kind == "Namespace" and not id_.group:
            return subject, {**labels, NAME_LABEL: id_.name}
        return subject, self._labels(id_.namespace)

    def _labels(self, namespace: str) -> Mapping[str, str]:
        obj = self.objects.get(ObjectId("", "Namespace", "", namespace)) or {}
        return {**((obj.get("metadata") or {}).get("labels") or {}), NAME_LABEL: namespace}


def _milestone(app: str) -> str:
    return f"app {app}"


def _backing(
    templates: Mapping[ObjectId, PodTemplate],
) -> dict[tuple[str, str, str], list[ObjectId]]:
    found: dict[tuple[str, str, str], list[ObjectId]] = defaultdict(list)
    for id_, template in templates.items():
        for key, value in template.labels.items():
            found[template.namespace, key, value].append(id_)
    return found
