"""ARG002: a `$(VARIABLE)` that nobody will replace."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy.graph import pod_template
from argosy.graph.places import place
from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity, walk_strings
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG002",
    Severity.ERROR,
    "variable not replaced",
    "A `$(VARIABLE)` is left. In a container's command, arguments and environment Kubernetes "
    "replaces the container's own variables, so there it is wrong only when the container has no "
    "such variable; elsewhere it is a kustomize variable that nothing replaced. Texts of several "
    "lines (scripts, pod templates) are looked at for capital letters only, "
    "and names that such a text defines itself are left out.",
)
VARIABLE = re.compile(r"(?<!\$)\$\(([A-Za-z_][\w.-]*)\)")
IN_SCRIPT = re.compile(r"(?<!\$)\$\(([A-Z][A-Z0-9]*_[A-Z0-9_]+)\)")


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each variable and place."""
    for obj in context.objects:
        known = _known(context, obj)
        for steps, text in walk_strings(obj):
            if "$(" not in text:
                continue
            pattern = IN_SCRIPT if "\n" in text or " $(" in text else VARIABLE
            path = place(obj, steps)
            names = [
                f"$({name})"
                for name in dict.fromkeys(pattern.findall(text))
                if name not in known.get(_container(steps), ()) and f"name: {name}\n" not in text
            ]
            if names:
                message = (
                    f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} left as written; "
                    "nothing defines the variable, so write its value in an overlay."
                )
                yield context.finding(SPEC, identity(obj), path, message)


def _container(steps: tuple[str | int, ...]) -> tuple[str, int] | None:
    """Return which container of the pod a path leads into."""
    for at, step in enumerate(steps[:-1]):
        number = steps[at + 1]
        if step in {"containers", "initContainers"} and isinstance(number, int):
            return str(step), number
    return None


def _known(context: Context, obj: Manifest) -> dict[tuple[str, int] | None, set[str]]:
    """Return the variables that each container of a workload defines."""
    template = pod_template(obj)
    if template is None:
        return {}
    known: dict[tuple[str, int] | None, set[str]] = {}
    for key in ("containers", "initContainers"):
        for number, container in enumerate(entries(template.spec, key)):
            known[key, number] = set(_variables(context, template.namespace, container))
    return known


def _variables(context: Context, namespace: str, container: Mapping[str, Any]) -> Iterator[str]:
    for env in entries(container, "env"):
        yield string(env, "name")
    for origin in entries(container, "envFrom"):
        for source, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            name = string(origin, source, "name")
            for obj in context.index.of(kind, namespace=namespace):
                if identity(obj).name == name:
                    for key in (*mapping(obj, "data"), *mapping(obj, "stringData")):
                        yield f"{string(origin, 'prefix')}{key}"
