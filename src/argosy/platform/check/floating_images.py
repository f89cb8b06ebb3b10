"""ARG060: an image whose content changes under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph import images, parse_image
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG060",
    Severity.WARNING,
    "image without a fixed version",
    "An image, in a container or in a setting that names one, has the tag `latest` or neither tag "
    "nor digest: two nodes, or today and tomorrow, may run different programs.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each such image and place."""
    for obj in context.objects:
        for found in images(obj):
            name = parse_image(found.image)
            if name is None or name.digest or name.tag not in {"", "latest"}:
                continue
            if not found.field and not name.tag:
                continue  # part of a name that some code puts together
            what = "the tag `latest`" if name.tag else "no tag"
            message = f"The image {found.image} has {what}; name a version or a digest."
            yield context.finding(SPEC, found.source, found.path, message)
