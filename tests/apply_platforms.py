"""Platforms for the tests of apply: apps as YAML in a test, each with what it needs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from argosy.manifests import split
from argosy.platform.model import RenderedApp, RenderedObject, RenderedPlatform

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["crd", "deployment", "objects", "platform", "webhook"]


def objects(app: str, text: str) -> tuple[RenderedObject, ...]:
    """Return the objects of a YAML text as an app's."""
    return tuple(
        RenderedObject(d.id, f"rendered/default/{app}/{d.id.name}.yaml", d.text, d.digest, app)
        for d in split(textwrap.dedent(text))
    )


def platform(
    apps: Mapping[str, str], needs: Mapping[str, tuple[str, ...]] | None = None, name: str = "test"
) -> RenderedPlatform:
    """Return a platform of apps, name to YAML text."""
    made = tuple(
        RenderedApp(app, (needs or {}).get(app, ()), objects(app, text))
        for app, text in apps.items()
    )
    return RenderedPlatform(name, "default", "1.35", made)


def deployment(
    name: str, namespace: str, *, image: str = "example.com/app:1", pod: str = ""
) -> str:
    """Return a Deployment with the label `app: NAME`; `pod` is more of its pod spec."""
    return f"""
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: main, image: {image}}}]
{textwrap.indent(textwrap.dedent(pod), " " * 6)}
"""


def webhook(name: str, namespace: str, *, groups: str, resources: str, more: str = "") -> str:
    """Return a validating webhook that Service NAME in a namespace answers, and that Service."""
    return f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  selector: {{app: {name}}}
  ports: [{{port: 443}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: {name}}}
webhooks:
- name: {name}.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig:
    caBundle: QQ==
    service: {{name: {name}, namespace: {namespace}}}
  rules:
  - operations: [CREATE, UPDATE]
    apiGroups: ["{groups}"]
    apiVersions: ["*"]
    resources: ["{resources}"]
{textwrap.indent(textwrap.dedent(more), "  ")}"""


def crd(plural: str, kind: str, group: str = "argosy.test", *, extra: str = "") -> str:
    """Return a namespaced CustomResourceDefinition without a schema to speak of."""
    return f"""
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  names: {{kind: {kind}, plural: {plural}}}
  scope: Namespaced
{textwrap.indent(textwrap.dedent(extra), "  ")}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
