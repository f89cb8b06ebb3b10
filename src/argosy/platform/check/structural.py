"""Turn the schema of a CustomResourceDefinition into one that validates as the API server does.

Structural schemas differ from JSON Schema: unknown fields are pruned (here: errors of their own
sort) unless `x-kubernetes-preserve-unknown-fields` says otherwise, defaults are filled in before
`required` is looked at, `x-kubernetes-int-or-string` takes both, and an embedded resource has
apiVersion, kind and metadata without saying so. CEL rules (`x-kubernetes-validations`) and
`format` are not evaluated; the API server does that when the object is applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph.shape import mapping, strings
from argosy.platform.openapi import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["json_schema"]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
TYPE_META: dict[str, Any] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": METADATA,
}
# keywords whose value says something about a value and holds no schema
PLAIN = (
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "uniqueItems",
)
JUNCTORS = ("allOf", "anyOf", "oneOf")


def json_schema(structural: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema (draft 4) of a custom resource from its `openAPIV3Schema`.

    A schema that is none stays none, for the compiler to say so.
    """
    root: dict[str, Any] = _node(structural)
    if isinstance(root.get("properties"), dict):
        root["properties"] = {**root["properties"], **TYPE_META}
    return root


def _node(schema: Any) -> Any:
    """Convert a node that describes structure: it decides which fields are known."""
    if not isinstance(schema, dict):
        return schema
    result = _validations(schema)
    if "properties" in schema:
        result["properties"] = _each(schema["properties"], _node)
    if schema.get(EMBEDDED):
        result["properties"] = {**TYPE_META, **mapping(result, "properties")}
    if "items" in schema:
        result["items"] = _node(schema["items"])
    if "additionalProperties" in schema:
        result["additionalProperties"] = _node(schema["additionalProperties"])
    elif "properties" in result and not schema.get(PRESERVE):
        result["additionalProperties"] = False
    return result


def _validations(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert what restricts a value without making fields known: also the junctors' branches."""
    result: dict[str, Any] = {key: schema[key] for key in PLAIN if key in schema}
    if schema.get(INT_OR_STRING):
        result["type"] = ["integer", "string"]
    elif "type" in schema:
        kind = schema["type"]
        result["type"] = [kind, "null"] if schema.get("nullable") else kind
    if schema.get("nullable") and isinstance(result.get("enum"), list):
        result["enum"] = [*result["enum"], None]
    required = [
        name
        for name in strings(schema, "required")
        if "default" not in mapping(schema, "properties", name)
    ]
    if required:
        result["required"] = required
    for key in JUNCTORS:
        if isinstance(schema.get(key), list):
            result[key] = [_branch(branch) for branch in schema[key]]
    if "not" in schema:
        result["not"] = _branch(schema["not"])
    return result


def _branch(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    result = _validations(schema)
    if "properties" in schema:
        result["properties"] = _each(schema["properties"], _branch)
    for key in ("items", "additionalProperties"):
        if key in schema:
            result[key] = _branch(schema[key])
    return result


def _each(schemas: Any, convert: Callable[[Any], Any]) -> Any:
    if not isinstance(schemas, dict):
        return schemas
    return {name: convert(child) for name, child in schemas.items()}
