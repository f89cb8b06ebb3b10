"""ARG055: a file browser whose requests are cut off while a file is on its way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from argosy import yaml
from argosy.graph.places import place
from argosy.graph.shape import mapping, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.yaml import YamlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings", "seconds"]

SPEC = Spec(
    "ARG055",
    Severity.WARNING,
    "time limit too short for files",
    "A PVCViewer, or the template of one in a ConfigMap, sets networking.timeout below five "
    "minutes. It becomes the time limit of the VirtualService, which ends uploads and downloads "
    "of large files in the middle.",
)
ENOUGH = 300  # seconds; what upstream gives the pipelines' UI for artifacts
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def seconds(duration: str) -> float | None:
    """Return a Go duration such as `1m30s` in seconds, None when it is none."""
    if not re.fullmatch(rf"(?:{_PART.pattern})+", duration):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(duration))


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each viewer, or template of one, with a short limit."""
    for obj in context.objects:
        for path, spec in _viewers(obj):
            limit = string(spec, "networking", "timeout")
            length = seconds(limit)
            if length is not None and 0 < length < ENOUGH:
                message = (
                    f"Transfers of files that take longer than {limit} are cut off; set "
                    "networking.timeout to 0s (none), or to hours."
                )
                yield context.finding(SPEC, identity(obj), path, message)


def _viewers(obj: Manifest) -> Iterator[tuple[str, dict[str, Any]]]:
    if obj.get("kind") == "PVCViewer":
        yield "spec.networking.timeout", mapping(obj, "spec")
    if obj.get("kind") != "ConfigMap":
        return
    for key, text in mapping(obj, "data").items():
        if isinstance(text, str) and "podSpec:" in text and "networking:" in text:
            try:
                template = yaml.load(text, file=key)
            except YamlError:
                continue  # a template language that is not YAML
            if isinstance(template, dict) and "pvc" in template:
                yield f"{place(obj, ('data', key))}:networking.timeout", template
