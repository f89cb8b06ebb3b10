"""ARG003: a setting whose value is its own name, left by a find-and-replace that did not happen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from argosy.graph import containers, pod_template
from argosy.graph.places import place
from argosy.graph.shape import entries, mapping, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings", "names_itself"]

SPEC = Spec(
    "ARG003",
    Severity.WARNING,
    "setting names itself",
    "An environment variable or ConfigMap key has a value in capitals that repeats its name "
    "(COLLECT_METRICS=CD_COLLECT_METRICS): a token that some tool was to replace. The program "
    "reads the token as the value.",
)
TOKEN = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def names_itself(name: str, value: str) -> bool:
    """Say whether a value is a token made of its setting's name."""
    if not TOKEN.fullmatch(value):
        return False
    upper = re.sub(r"[^A-Z0-9]", "_", name.upper())
    return value == upper or value.endswith(f"_{upper}") or upper.endswith(f"_{value}")


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such setting."""
    for obj in context.objects:
        for path, name, value in _settings(obj):
            if isinstance(value, str) and names_itself(name, value):
                message = (
                    f"{name} has the value {value}, which is a token that nothing replaced; set "
                    "the value that is meant in an overlay."
                )
                yield context.finding(SPEC, identity(obj), path, message)


def _settings(obj: Manifest) -> Iterator[tuple[str, str, object]]:
    template = pod_template(obj)
    if template is not None:
        for at, container in containers(template.spec):
            for env in entries(container, "env"):
                name = string(env, "name")
                yield f"{template.path}.{at}.env[name={name}].value", name, env.get("value")
    if obj.get("kind") == "ConfigMap":
        for name, value in mapping(obj, "data").items():
            yield place(obj, ("data", name)), name, value
