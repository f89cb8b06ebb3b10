"""Read what a CustomResourceDefinition defines, without its schemas.

Pure. Schemas are most of the bytes of a Kubeflow release; the rest of a definition is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from argosy import yaml
from argosy.manifests import ObjectId
from argosy.platform.crds import SchemaStore

if TYPE_CHECKING:
    from argosy.manifests import Manifest

__all__ = ["Definition", "definition", "outline"]


class Definition(NamedTuple):
    """What a CustomResourceDefinition defines.

    Attributes:
        id: the definition itself.
        versions: each version's name and whether it is served.
        storage: the version that is stored.
        converter: the Service that converts between versions; None when nothing does.
    """

    id: ObjectId
    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: dict[str, bool]
    storage: str
    converter: ObjectId | None


def outline(text: str, *, file: str = "") -> Manifest:
    """Return a definition without its schemas, read from its text.

    Raises:
        YamlError: the text is not YAML.
    """
    cut = SchemaStore().cut(text.encode())
    parsed: Manifest = yaml.load(text if cut is None else cut, file=file)
    return parsed


def definition(id_: ObjectId, text: str, *, file: str = "") -> Definition:
    """Return what the CustomResourceDefinition in `text` defines.

    Raises:
        YamlError: the text is not YAML.
    """
    return of(id_, outline(text, file=file))


def of(id_: ObjectId, obj: Manifest) -> Definition:
    """Return what a parsed CustomResourceDefinition defines."""
    spec = obj.get("spec") or {}
    names: dict[str, Any] = spec.get("names") or {}
    versions = [v for v in spec.get("versions") or () if v.get("name")]
    conversion = spec.get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service") or {}
    return Definition(
        id=id_,
        group=str(spec.get("group", "")),
        kind=str(names.get("kind", "")),
        plural=str(names.get("plural", "")),
        namespaced=spec.get("scope") != "Cluster",
        versions={v["name"]: bool(v.get("served")) for v in versions},
        storage=next((v["name"] for v in versions if v.get("storage")), ""),
        converter=ObjectId("", "Service", service.get("namespace", ""), service["name"])
        if conversion.get("strategy") == "Webhook" and service.get("name")
        else None,
    )
