"""What a pod template refers to: configuration, secrets, volumes, accounts, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.pods import PodTemplate, containers, pod_template
from argosy.graph.references.model import Reference, target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from argosy.manifests import Manifest

__all__ = ["from_pods"]

KINDS = {"configMap": "ConfigMap", "secret": "Secret"}


def from_pods(obj: Manifest) -> Iterator[Reference]:
    """Yield what the pods of a workload need in order to start."""
    template = pod_template(obj)
    if template is None:
        return
    yield from _spec(template)
    for path, container in containers(template.spec):
        yield from _container(template, f"{template.path}.{path}", container)
    for number, volume in enumerate(template.spec.get("volumes") or []):
        name = volume.get("name")
        where = f"{template.path}.volumes[{f'name={name}' if name else number}]"
        yield from _volume(template, where, volume)


def _spec(template: PodTemplate) -> Iterator[Reference]:
    spec, at = template.spec, template.path
    key = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
    if spec.get(key):
        yield _named(template, f"{at}.{key}", "ServiceAccount", spec[key])
    for number, secret in enumerate(spec.get("imagePullSecrets") or []):
        if secret.get("name"):
            # the kubelet goes on without a pull secret, and the pull fails only if it needs one
            path = f"{at}.imagePullSecrets[{number}].name"
            yield _named(template, path, "Secret", secret["name"])
    if spec.get("priorityClassName"):
        yield Reference(
            template.owner,
            f"{at}.priorityClassName",
            target("PriorityClass", spec["priorityClassName"], group="scheduling.k8s.io"),
        )
    if spec.get("runtimeClassName"):
        yield Reference(
            template.owner,
            f"{at}.runtimeClassName",
            target("RuntimeClass", spec["runtimeClassName"], group="node.k8s.io"),
        )


def _container(template: PodTemplate, at: str, container: Mapping[str, Any]) -> Iterator[Reference]:
    for env in container.get("env") or []:
        for source, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            ref = (env.get("valueFrom") or {}).get(source)
            if ref and ref.get("name"):
                path = f"{at}.env[name={env.get('name')}].valueFrom.{source}"
                yield _named(
                    template, path, kind, ref["name"], optional=ref.get("optional"), key=ref["key"]
                )
    for number, origin in enumerate(container.get("envFrom") or []):
        for source, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            ref = origin.get(source)
            if ref and ref.get("name"):
                path = f"{at}.envFrom[{number}].{source}"
                yield _named(template, path, kind, ref["name"], optional=ref.get("optional"))


def _volume(template: PodTemplate, at: str, volume: Mapping[str, Any]) -> Iterator[Reference]:
    if ref := volume.get("configMap"):
        yield from _files(template, f"{at}.configMap", "ConfigMap", ref, ref.get("name"))
    if ref := volume.get("secret"):
        yield from _files(template, f"{at}.secret", "Secret", ref, ref.get("secretName"))
    if ref := volume.get("persistentVolumeClaim"):
        path = f"{at}.persistentVolumeClaim.claimName"
        yield _named(template, path, "PersistentVolumeClaim", ref.get("claimName", ""))
    if ref := (volume.get("csi") or {}).get("nodePublishSecretRef"):
        path = f"{at}.csi.nodePublishSecretRef"
        yield _named(template, path, "Secret", ref.get("name", ""))
    projected = volume.get("projected") or {}
    for number, source in enumerate(projected.get("sources") or []):
        for key, kind in KINDS.items():
            if ref := source.get(key):
                path = f"{at}.projected.sources[{number}].{key}"
                yield from _files(template, path, kind, ref, ref.get("name"))


def _files(
    template: PodTemplate, at: str, kind: str, ref: Mapping[str, Any], name: str | None
) -> Iterator[Reference]:
    if not name:
        return
    optional = ref.get("optional")
    items = [item.get("key", "") for item in ref.get("items") or []]
    for key in items or [""]:
        yield _named(template, at, kind, name, optional=optional, key=key)


def _named(
    template: PodTemplate,
    path: str,
    kind: str,
    name: str,
    *,
    optional: bool | None = False,
    key: str = "",
) -> Reference:
    return Reference(
        template.owner,
        path,
        target(kind, name, namespace=template.namespace),
        optional=bool(optional),
        key=key,
    )
