"""Find every container image that an object names, wherever it hides.

Three sources, from sure to likely: `image` fields of containers (also in custom resources),
`image`-like keys inside YAML or JSON that a ConfigMap or annotation carries as text, and any
other text (environment, arguments, configuration) that reads as a reference with a registry and
a tag or digest. Descriptions in CustomResourceDefinitions are not looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy import yaml
from argosy.graph.places import place
from argosy.manifests import ObjectId, identity, walk_strings
from argosy.yaml import YamlError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest

__all__ = ["FoundImage", "ImageName", "images", "parse_image"]

DOCKER_HUB = "docker.io"
_NAME = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+(?::\d+)?|localhost(?::\d+)?|[a-zA-Z0-9-]+:\d+)"
_REFERENCE = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_NAME}(?:/{_NAME})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
# in running text an image must show itself: a path with a slash, and a tag or digest
_IN_TEXT = re.compile(
    rf"(?<![\w./:@-])(?:{_HOST}/)?{_NAME}(?:/{_NAME})+"
    r"(?::[\w][\w.-]{0,127}(?:@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})(?![\w/])"
)
_REGISTRY_IN_TEXT = re.compile(
    r"(?<![\w./:@-])(?:docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|nvcr\.io"
    r"|public\.ecr\.aws|mcr\.microsoft\.com)/[a-z0-9][\w./-]*[a-z0-9]"
    r"(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_KEY = re.compile(r"(?i)(?:^|[_.-])image$|[a-z]Image$")
_PLAIN_KEY = re.compile(r"(?i)image")
_EMBEDDED = re.compile(r"\A\s*(?:\{|\[|[\w\"'.-]+:\s|- |#|---)")


class ImageName(NamedTuple):
    """A container image reference, taken apart; `host` is docker.io when none is written."""

    host: str
    path: str
    tag: str
    digest: str


class FoundImage(NamedTuple):
    """An image and where it stands.

    Attributes:
        source: the object.
        path: the place in the object; of text inside a ConfigMap, the key and the place in it.
        image: the reference as written.
        field: True when an `image` key holds it, False when it was recognised in other text.
    """

    source: ObjectId
    path: str
    image: str
    field: bool


def parse_image(text: str) -> ImageName | None:
    """Return the parts of an image reference, None when it is none."""
    found = _REFERENCE.fullmatch(text)
    if not found:
        return None
    host, path = found["host"] or DOCKER_HUB, found["path"]
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    return ImageName(host, path, found["tag"] or "", found["digest"] or "")


def images(obj: Manifest) -> Iterator[FoundImage]:
    """Yield every image that an object names, each place once."""
    source = identity(obj)
    if source.kind == "CustomResourceDefinition":
        return
    seen: set[tuple[str, str]] = set()
    for steps, text in walk_strings(obj):
        if "kubectl.kubernetes.io/last-applied-configuration" in steps or "_example" in steps:
            continue
        path = place(obj, steps)
        for found in _of_text(source, path, _last_name(obj, steps), text):
            if (found.path, found.image) not in seen:
                seen.add((found.path, found.image))
                yield found


def _is_part(path: str, text: str) -> bool:
    """Say whether a bare word in configuration is part of a name that a program puts together.

    Charts keep hub, image and tag apart (`hub: gcr.io/istio-release`, `image: proxyv2`), and a
    feature switch may end in `-image`; in a container's own field a bare word is an image.
    """
    return ":" in path and "/" not in text and ":" not in text


def _last_name(obj: Any, steps: tuple[str | int, ...]) -> str:
    """Return the name under which a text stands: its key, or its `name` in a list of env."""
    names = [step for step in steps if isinstance(step, str)]
    if names and names[-1] == "value" and len(steps) > 1:
        node = obj
        for step in steps[:-1]:
            node = node[step]
        return str(node.get("name", "value"))
    return names[-1] if names else ""


def _of_text(source: ObjectId, path: str, name: str, text: str) -> Iterator[FoundImage]:
    if "\n" not in text and _KEY.search(name):
        if parse_image(text) and not _is_part(path, text):
            yield FoundImage(source, path, text, field=True)
        return
    if len(text) > 20 and _EMBEDDED.match(text) and _PLAIN_KEY.search(text):
        try:
            value = yaml.load(text, file=path)
        except YamlError:
            value = None  # text that only looks like YAML, such as a script: scanned as text
        if isinstance(value, dict | list):
            yield from _of_tree(source, path, value)
            return
    for pattern in (_IN_TEXT, _REGISTRY_IN_TEXT):
        for found in pattern.finditer(text):
            if _plausible(found.group()):
                yield FoundImage(source, path, found.group(), field=False)


def _of_tree(source: ObjectId, path: str, value: Any) -> Iterator[FoundImage]:
    for steps, text in walk_strings(value):
        inner = f"{path}:{place(value, steps)}"
        yield from _of_text(source, inner, _last_name(value, steps), text)


def _plausible(text: str) -> bool:
    """Say whether a text with slashes and a colon is more likely an image than an address.

    `docker.io/x/y:1` is one; `kubeflow/kserve:443` (a name and a port) and `path/to:file` are not.
    """
    parsed = parse_image(text)
    if parsed is None:
        return False
    if parsed.digest:
        return True
    if "/" in text and "." in text.split("/", 1)[0]:
        return True
    return bool(re.fullmatch(r"v?\d+(\.\d+)+[\w.-]*|latest", parsed.tag))
