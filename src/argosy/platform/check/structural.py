"""Turn the schema of a CustomResourceDefinition into one that validates as the API server does.

Structural schemas differ from JSON Schema: unknown fields are pruned (here: errors of their own
sort) unless `x-kubernetes-preserve-unknown-fields` says otherwise, defaults are filled in before
`required` is looked at, `x-kubernetes-int-or-string` takes both, and an embedded resource has
apiVersion, kind and metadata without saying so. CEL rules (`x-kubernetes-validations`) and
`format` are not evaluated; the API server does that when the object is applied.
"""

from __future__ import annotations

from typing import Any

from argosy.platform.openapi import METADATA

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
    """Return the JSON Schema (draft 4) of a custom resource from its `openAPIV3Schema`."""
    root = _node(structural)
    if "properties" in root:
        root["properties"] = {**root["properties"], **TYPE_META}
    return root


def _node(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert a node that describes structure: it decides which fields are known."""
    result = _validations(schema)
    properties = schema.get("properties")
    if properties is not None:
        result["properties"] = {name: _node(child) for name, child in properties.items()}
    if schema.get(EMBEDDED):
        result["properties"] = {**TYPE_META, **result.get("properties", {})}
    if "items" in schema:
        result["items"] = _node(schema["items"])
    extra = schema.get("additionalProperties")
    if extra is not None:
        result["additionalProperties"] = _node(extra) if isinstance(extra, dict) else extra
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
    if schema.get("nullable") and "enum" in result:
        result["enum"] = [*result["enum"], None]
    properties = schema.get("properties") or {}
    if required := [
        name for name in schema.get("required") or [] if "default" not in properties.get(name, {})
    ]:
        result["required"] = required
    for key in JUNCTORS:
        if key in schema:
            result[key] = [_branch(branch) for branch in schema[key]]
    if "not" in schema:
        result["not"] = _branch(schema["not"])
    return result


def _branch(schema: dict[str, Any]) -> dict[str, Any]:
    result = _validations(schema)
    if "properties" in schema:
        result["properties"] = {k: _branch(v) for k, v in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        result["items"] = _branch(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _branch(schema["additionalProperties"])
    return result
