"""What a pod template refers to: configuration, secrets, volumes, accounts, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.pods import PodTemplate, containers, pod_template
from argosy.graph.references.model import Reference, target
from argosy.graph.shape import entries, mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest

__all__ = ["PULL_SECRETS", "from_pods"]

KINDS = {"configMap": "ConfigMap", "secret": "Secret"}
CLASSES = (
    ("priorityClassName", "PriorityClass", "scheduling.k8s.io"),
    ("runtimeClassName", "RuntimeClass", "node.k8s.io"),
)
PULL_SECRETS = "imagePullSecrets"  # the name of a field


def from_pods(obj: Manifest) -> Iterator[Reference]:
    """Yield what the pods of a workload need in order to start."""
    template = pod_template(obj)
    if template is None:
        return
    yield from _spec(template)
    for path, container in containers(template.spec):
        yield from _container(template, f"{template.path}.{path}", container)
    for number, volume in enumerate(entries(template.spec, "volumes")):
        name = string(volume, "name")
        where = f"{template.path}.volumes[{f'name={name}' if name else number}]"
        yield from _volume(template, where, volume)


def _spec(template: PodTemplate) -> Iterator[Reference]:
    spec, at = template.spec, template.path
    for key in ("serviceAccountName", "serviceAccount"):
        if name := string(spec, key):
            yield _named(template, f"{at}.{key}", "ServiceAccount", name)
            break  # the older name repeats the newer one
    for number, secret in enumerate(entries(spec, "imagePullSecrets")):
        if name := string(secret, "name"):
            yield _named(template, f"{at}.{PULL_SECRETS}[{number}].name", "Secret", name)
    for key, kind, group in CLASSES:
        if name := string(spec, key):
            yield Reference(template.owner, f"{at}.{key}", target(kind, name, group=group))


def _container(template: PodTemplate, at: str, container: dict[str, Any]) -> Iterator[Reference]:
    for env in entries(container, "env"):
        for source, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            ref = mapping(env, "valueFrom", source)
            path = f"{at}.env[name={string(env, 'name')}].valueFrom.{source}"
            yield from _chosen(template, path, kind, ref, key=string(ref, "key"))
    for number, origin in enumerate(entries(container, "envFrom")):
        for source, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            path = f"{at}.envFrom[{number}].{source}"
            yield from _chosen(template, path, kind, mapping(origin, source))


def _volume(template: PodTemplate, at: str, volume: dict[str, Any]) -> Iterator[Reference]:
    yield from _files(template, f"{at}.configMap", "ConfigMap", mapping(volume, "configMap"))
    secret = mapping(volume, "secret")
    yield from _files(template, f"{at}.secret", "Secret", secret, field="secretName")
    if name := string(volume, "persistentVolumeClaim", "claimName"):
        path = f"{at}.persistentVolumeClaim.claimName"
        yield _named(template, path, "PersistentVolumeClaim", name)
    if name := string(volume, "csi", "nodePublishSecretRef", "name"):
        yield _named(template, f"{at}.csi.nodePublishSecretRef", "Secret", name)
    for number, source in enumerate(entries(volume, "projected", "sources")):
        for key, kind in KINDS.items():
            path = f"{at}.projected.sources[{number}].{key}"
            yield from _files(template, path, kind, mapping(source, key))


def _files(
    template: PodTemplate, at: str, kind: str, ref: dict[str, Any], *, field: str = "name"
) -> Iterator[Reference]:
    for key in [string(item, "key") for item in entries(ref, "items")] or [""]:
        yield from _chosen(template, at, kind, ref, key=key, field=field)


def _chosen(
    template: PodTemplate,
    path: str,
    kind: str,
    ref: dict[str, Any],
    *,
    key: str = "",
    field: str = "name",
) -> Iterator[Reference]:
    if name := string(ref, field):
        optional = ref.get("optional") is True
        yield _named(template, path, kind, name, optional=optional, key=key)


def _named(
    template: PodTemplate,
    path: str,
    kind: str,
    name: str,
    *,
    optional: bool = False,
    key: str = "",
) -> Reference:
    return Reference(
        template.owner,
        path,
        target(kind, name, namespace=template.namespace),
        optional=optional,
        key=key,
    )
