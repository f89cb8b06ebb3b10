"""Rendered platforms made from YAML in a test, as the checks take them."""

from __future__ import annotations

import textwrap

from argosy.manifests import split
from argosy.platform.check import Finding, find
from argosy.platform.model import RenderedApp, RenderedObject, RenderedPlatform

__all__ = ["NAMESPACE", "codes", "findings", "rendered"]

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
"""


def rendered(*texts: str, kubernetes: str = "1.35", release: str = "") -> RenderedPlatform:
    """Return a platform with an app for each text: `app0`, `app1`, …"""
    apps = []
    for number, text in enumerate(texts):
        name = f"app{number}"
        objects = tuple(
            RenderedObject(
                document.id,
                f"rendered/default/{name}/{document.id.name}.yaml",
                document.text,
                document.digest,
                name,
            )
            for document in split(textwrap.dedent(text))
        )
        apps.append(RenderedApp(name, (), objects))
    return RenderedPlatform("test", "default", kubernetes, tuple(apps), release)


def findings(*texts: str, code: str = "", kubernetes: str = "1.35") -> list[Finding]:
    """Return what the checks find in a platform, of one code when it is named."""
    found = find(rendered(*texts, kubernetes=kubernetes))
    return [finding for finding in found if code in {"", finding.code}]


def codes(*texts: str) -> set[str]:
    """Return the codes that the checks report for a platform."""
    return {finding.code for finding in findings(*texts)}
