"""What an answer stands for: each refusal has a type, and carries what the server said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from argosy.errors import OutsideError
from argosy.kube import errors
from argosy.kube.errors import ApiError, Conflict, FieldOwner, Invalid, from_status


def status(code: int, reason: str, message: str = "no", **details: Any) -> bytes:
    return msgspec.json.encode(
        {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    )


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", "Invalid"),
        (401, "Unauthorized", "Unauthorized"),
        (403, "Forbidden", "Forbidden"),
        (404, "NotFound", "NotFound"),
        (409, "AlreadyExists", "AlreadyExists"),
        (409, "Conflict", "Conflict"),
        (410, "Expired", "Expired"),
        (410, "Gone", "Expired"),
        (422, "Invalid", "Invalid"),
        (429, "TooManyRequests", "TooManyRequests"),
        (500, "InternalError", "ServerError"),
        (503, "ServiceUnavailable", "ServerError"),
        (504, "Timeout", "ServerError"),
        (405, "MethodNotAllowed", "ApiError"),
    ],
)
def test_each_refusal_has_its_type(code: int, reason: str, expected: str) -> None:
    found = from_status(code, status(code, reason), where="get Pod a/b")
    assert type(found) is getattr(errors, expected)
    assert (found.code, found.reason) == (code, reason)
    assert isinstance(found, OutsideError)
    assert str(found).startswith("get Pod a/b: no")


def test_a_conflict_names_fields_and_owners() -> None:
    body = status(
        409,
        "Conflict",
        "Apply failed with 2 conflicts",
        causes=[
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl"',
                "field": '.spec.template.spec.containers[name="web"].image',
            },
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "hpa" with subresource "scale" using v1'
                " at 2026-11-20T10:00:00Z",
                "field": ".spec.replicas",
            },
        ],
    )
    found = from_status(409, body)
    assert isinstance(found, Conflict)
    assert found.fields == (
        FieldOwner("spec.template.spec.containers[name=web].image", "kubectl", "Apply"),
        FieldOwner("spec.replicas", "hpa", "Update", "v1", "scale"),
    )
    assert "spec.replicas is owned by hpa" in str(found)


def test_a_stale_version_is_a_conflict_without_fields() -> None:
    found = from_status(409, status(409, "Conflict", "the object has been modified"))
    assert isinstance(found, Conflict)
    assert found.fields == ()
    assert str(found) == "the object has been modified"


def test_an_invalid_object_names_its_fields() -> None:
    causes = [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"}]
    found = from_status(422, status(422, "Invalid", causes=causes))
    assert isinstance(found, Invalid)
    assert found.causes[0].field == "spec.x"


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"<html>Bad\n Gateway</html>", b"[1]", b"{}"])
def test_what_is_no_status_is_quoted(body: bytes) -> None:
    found = from_status(502, body)
    assert type(found).__name__ == "ServerError"
    assert str(found).startswith("HTTP 502")
    assert "\n" not in str(found)


def test_every_error_of_the_tree_is_public_and_documented() -> None:
    for name in errors.__all__:
        thing = getattr(errors, name)
        if isinstance(thing, type) and issubclass(thing, ApiError):
            assert thing.__doc__
            assert name in (errors.__doc__ or "")
