"""What the API server of a Kubernetes minor version takes: its kinds and their schemas.

The data beside this file is built by `scripts/vendor_openapi.py` from the published OpenAPI, one
file for each minor version. Schemas are compiled when somebody validates, once in a process;
as in the API server, `format` is not enforced. Callers leave out null values before they
validate: the API server reads null as absent.
"""

from __future__ import annotations

import gzip
import re
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from argosy.errors import UsageError

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["METADATA", "Kind", "OpenApi", "VersionError", "available", "load_openapi"]

BASE = "urn:kubernetes"
API = "io.k8s.apimachinery.pkg"
QUANTITY = "quantity"
METADATA = {"$ref": f"{BASE}#/definitions/{API}.apis.meta.v1.ObjectMeta"}


class VersionError(UsageError):
    """There is no OpenAPI data for the Kubernetes version that the platform is meant for."""


class Kind(NamedTuple):
    """A kind that the API server has, at one version."""

    group: str
    version: str
    kind: str
    namespaced: bool
    definition: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def served_by_default(self) -> bool:
        """Whether it is there without being switched on: alpha and beta versions are not."""
        return re.fullmatch(r"v\d+", self.version) is not None


class OpenApi:
    """The kinds and schemas of one Kubernetes minor version.

    Attributes:
        version: the patch release that the data was taken from, such as `v1.35.4`.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.version: str = data["version"]
        self._definitions: dict[str, Any] = data["definitions"]
        kinds = [Kind(*row) for row in data["kinds"]]
        self._kinds = {(kind.group, kind.version, kind.kind): kind for kind in kinds}
        self._validators: dict[str, jsonschema_rs.Draft4Validator] = {}

    def find(self, group: str, version: str, kind: str) -> Kind | None:
        """Return a kind at one version, None when this Kubernetes does not have it."""
        return self._kinds.get((group, version, kind))

    def versions(self, group: str, kind: str) -> list[Kind]:
        """Return a kind at all its versions."""
        return [row for row in self._kinds.values() if (row.group, row.kind) == (group, kind)]

    @cached_property
    def groups(self) -> frozenset[str]:
        """The API groups that Kubernetes itself has."""
        return frozenset(kind.group for kind in self._kinds.values())

    def validator(self, kind: Kind) -> jsonschema_rs.Draft4Validator:
        """Return the compiled schema of a kind; unknown fields are errors of their own sort."""
        found = self._validators.get(kind.definition)
        if found is None:
            import jsonschema_rs  # heavy, and only validation needs it

            found = jsonschema_rs.Draft4Validator(
                {"$ref": f"{BASE}#/definitions/{kind.definition}"}, registry=self.registry
            )
            self._validators[kind.definition] = found
        return found

    @cached_property
    def registry(self) -> jsonschema_rs.Registry:
        """The compiled definitions, for schemas that refer to them (`METADATA`)."""
        import jsonschema_rs  # see validator

        # published as a string; the API server reads a number as well
        definitions = self._definitions
        definitions[f"{API}.api.resource.Quantity"]["format"] = QUANTITY
        document = {
            "id": BASE,
            "definitions": {name: _strict(schema) for name, schema in definitions.items()},
        }
        return jsonschema_rs.Registry([(BASE, document)], draft=jsonschema_rs.Draft4)


def available() -> list[str]:
    """Return the minor versions that there is data for, newest first."""
    names = [entry.name for entry in resources.files(__name__).iterdir()]
    minors = [name.removesuffix(".json.gz") for name in names if name.endswith(".json.gz")]
    return sorted(minors, key=_minor_key, reverse=True)


def load_openapi(minor: str) -> OpenApi:
    """Return what is known about a Kubernetes minor version.

    Args:
        minor: such as `1.35`; `v1.35` and `1.35.4` mean the same.

    Raises:
        VersionError: there is no data for it.
    """
    found = re.fullmatch(r"v?(\d+\.\d+)(?:\.\d+.*)?", minor.strip())
    if not found or found[1] not in available():
        raise VersionError(
            f"there is no schema data for Kubernetes {minor!r}",
            hint=f"set `kubernetes:` to one of {', '.join(available())}",
        )
    return _load(found[1])


@cache
def _load(minor: str) -> OpenApi:
    packed = (resources.files(__name__) / f"{minor}.json.gz").read_bytes()
    return OpenApi(msgspec.json.decode(gzip.decompress(packed)))


def _minor_key(minor: str) -> tuple[int, ...]:
    return tuple(int(part) for part in minor.split("."))


def _strict(schema: Any) -> Any:
    """Return a schema as the API server reads values, with unknown fields as errors."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    strict = {key: value for key, value in schema.items() if key != "format"}
    form = schema.get("format")
    if form == "int-or-string":
        strict["type"] = ["integer", "string"]
    elif form == QUANTITY:
        strict["type"] = ["number", "string"]
    if "properties" in schema:
        strict["properties"] = {k: _strict(v) for k, v in schema["properties"].items()}
        strict.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            strict[key] = _strict(schema[key])
    return strict
