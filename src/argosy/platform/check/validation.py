"""Validate objects against their kinds' schemas, once for the two checks that report on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs

from argosy.graph.places import place
from argosy.manifests import identity
from argosy.platform.check.definitions import KIND
from argosy.platform.check.structural import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.check.context import Context

__all__ = ["Violation", "violations"]

LONG = 160  # characters; a message that quotes a whole object says less than its beginning
UNKNOWN = "additionalProperties"


class Violation(NamedTuple):
    """A value that its schema does not allow; `unknown` when it is a field that is not there."""

    object: ObjectId
    path: str
    message: str
    unknown: bool


def violations(context: Context) -> tuple[Violation, ...]:
    """Return what every object's schema says against it."""
    found = [one for obj in context.objects for one in _of_object(context, obj)]
    return (*found, *context.broken_schemas)


def _of_object(context: Context, obj: Manifest) -> Iterator[Violation]:
    where = identity(obj)
    if (where.group, where.kind) == KIND:
        return  # of these only the head is parsed
    validator = _validator(context, where, str(obj.get("apiVersion", "")).rpartition("/")[2])
    if validator is None:
        return
    value = _without_nulls(obj)
    if validator.is_valid(value):
        return
    for error in validator.iter_errors(value):
        steps = list(error.instance_path)
        path = place(value, steps)
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            for field in error.kind.unexpected:
                yield Violation(
                    where,
                    place(value, [*steps, field]),
                    f"There is no field {field!r} here",
                    unknown=True,
                )
        else:
            yield Violation(where, path, _short(error.message), unknown=False)


def _validator(
    context: Context, where: ObjectId, version: str
) -> jsonschema_rs.Draft4Validator | None:
    kind = context.openapi.find(where.group, version, where.kind)
    if kind:
        return context.openapi.validator(kind)
    definition = context.definitions.get((where.group, where.kind))
    return _compiled(context, (where.group, where.kind), version) if definition else None


def _compiled(
    context: Context, kind: tuple[str, str], version: str
) -> jsonschema_rs.Draft4Validator | None:
    known = context.validators
    if (*kind, version) not in known:
        schema = context.definitions[kind].schema(version)
        try:
            known[*kind, version] = jsonschema_rs.Draft4Validator(
                json_schema(schema or {}), registry=context.openapi.registry
            )
        except jsonschema_rs.ValidationError as error:
            known[*kind, version] = None
            where = context.definitions[kind].rendered.id
            message = _short(f"the schema of {version} is none: {error.message}")
            context.broken_schemas.append(Violation(where, "spec.versions", message, unknown=False))
    return known[*kind, version]


def _without_nulls(value: Any) -> Any:
    """Return a value without the keys that are null: the API server reads them as absent."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _short(message: str) -> str:
    return message if len(message) <= LONG else f"{message[: LONG - 1]}…"
