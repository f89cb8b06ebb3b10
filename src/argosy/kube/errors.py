"""What can go wrong between argosy and an API server, as types that carry their data.

    KubeconfigError (UsageError)        the kubeconfig is missing, unreadable or contradicts itself
    CredentialsError (OutsideError)     a credential plugin or a token file gives no credentials
    ApiError (OutsideError)             the API server said no, or said nothing
    ├── Unreachable                     no answer: refused, timed out, TLS failed, connection lost
    ├── Unauthorized                    401
    ├── Forbidden                       403
    ├── NotFound                        404
    │   └── NoSuchKind                  the server serves no such group, version and kind
    ├── AlreadyExists                   409 with reason AlreadyExists
    ├── Conflict                        409: fields owned by others (.fields), or a stale version
    ├── Expired                         410: a resourceVersion or continue token is too old
    ├── Invalid                         422 and 400: what the server does not accept (.causes)
    ├── TooManyRequests                 429, after all retries
    └── ServerError                     5xx, after all retries (.webhook names a failing webhook)

Pure: `from_status` reads a response that somebody else received. It knows no HTTP library.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from argosy.errors import OutsideError, UsageError

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Cause",
    "Conflict",
    "CredentialsError",
    "Expired",
    "FieldOwner",
    "Forbidden",
    "Invalid",
    "KubeconfigError",
    "NoSuchKind",
    "NotFound",
    "ServerError",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "from_status",
    "plain_path",
]

SNIPPET = 300  # characters of a body that is no Status; more is an HTML page of some proxy


class KubeconfigError(UsageError):
    """The kubeconfig is missing, unreadable or contradicts itself."""


class CredentialsError(OutsideError):
    """A credential plugin failed, or a file with credentials cannot be read."""


class Cause(NamedTuple):
    """One reason out of a Status: which field, what is wrong, the server's type of reason."""

    field: str
    message: str
    type: str


class FieldOwner(NamedTuple):
    """A field that we tried to apply, and the manager that owns it."""

    path: str
    manager: str
    operation: str = ""
    api_version: str = ""
    subresource: str = ""


class ApiError(OutsideError):
    """The API server refused a request, or did not answer.

    Args:
        message: what the server said.
        where: the request, as a person would call it ("apply Deployment.apps team/web").
        code: the HTTP status, 0 when there was none.
        reason: the Status' reason ("Forbidden"), "" when there was no Status.
        status: the Status object as it came, {} when there was none.
        retry_after: seconds that the server asked for, None when it did not.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        hint: str | None = None,
        code: int = 0,
        reason: str = "",
        status: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.status = status or {}
        self.retry_after = retry_after
        self.repeated = False  # whether an earlier attempt may have been carried out
        super().__init__(message, where=where or None, hint=hint)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Return the Status' causes; () when it names none."""
        details = self.status.get("details") or {}
        return tuple(
            Cause(c.get("field", ""), c.get("message", ""), c.get("reason", ""))
            for c in details.get("causes") or ()
        )


class Unreachable(ApiError):
    """There was no answer: connection refused or lost, no TLS, no such host, timed out."""


class Unauthorized(ApiError):
    """The server does not know who we are."""


class Forbidden(ApiError):
    """The server knows who we are and says no."""


class NotFound(ApiError):
    """There is no such object."""


class NoSuchKind(NotFound):
    """The server serves no such group, version and kind."""


class AlreadyExists(ApiError):
    """The object that was to be created is there."""


class Conflict(ApiError):
    """Another manager owns a field that we tried to apply, or the object has moved on.

    `.fields` names fields and owners for a server-side apply and is () for a stale
    resourceVersion or a failed precondition.
    """

    @property
    def fields(self) -> tuple[FieldOwner, ...]:
        """Return the fields in conflict, each with the manager that owns it."""
        return tuple(_owner(c) for c in self.causes if c.type == "FieldManagerConflict")


class Expired(ApiError):
    """A resourceVersion or a continue token is older than what the server remembers."""


class Invalid(ApiError):
    """The server read the object and does not accept it; `.causes` names the fields."""


class TooManyRequests(ApiError):
    """The server asked us to slow down, and went on asking after all retries."""


class ServerError(ApiError):
    """The server failed. `.webhook` is the name of the admission webhook when one did."""

    @property
    def webhook(self) -> str:
        """Return the name of the webhook that could not be called, "" when that was not it."""
        found = re.search(r'failed calling webhook "([^"]+)"', self.message)
        return found.group(1) if found else ""


_OWNER = re.compile(
    r'conflict with "(?P<manager>(?:[^"\\]|\\.)*)"'
    r'(?: with subresource "(?P<sub>[^"]*)")?'
    r"(?: using (?P<version>\S+))?"
)


def _owner(cause: Cause) -> FieldOwner:
    path = plain_path(cause.field)
    found = _OWNER.search(cause.message)
    if found is None:
        return FieldOwner(path, cause.message)
    # the server prints the version of Update entries alone (managedfields/internal/conflict.go)
    operation = "Update" if found["version"] else "Apply"
    return FieldOwner(path, found["manager"], operation, found["version"] or "", found["sub"] or "")


def plain_path(path: str) -> str:
    """Return a path of a conflict (`.spec.x[name="a"]`) as `fields.owned_paths` writes it."""
    return _QUOTED.sub(lambda m: f"={_unquoted(m.group(1))}", path.removeprefix("."))


_QUOTED = re.compile(r'=("(?:[^"\\]|\\.)*")')


def _unquoted(text: str) -> str:
    try:
        return str(msgspec.json.decode(text))
    except msgspec.DecodeError:
        return text.strip('"')


_BY_CODE: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}
_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
}
_HINTS: dict[type[ApiError], str] = {
    Unauthorized: "the credentials of the kubeconfig's user are wrong or have expired",
}


def from_status(
    code: int, body: bytes, *, where: str = "", retry_after: float | None = None
) -> ApiError:
    """Return the error that an answer with `code` and `body` stands for."""
    status = _status(body)
    reason = str(status.get("reason") or "")
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if kind is None:
        kind = ServerError if code >= 500 else ApiError
    message = str(status.get("message") or "") or _snippet(code, body)
    error = kind(
        message,
        where=where,
        hint=_HINTS.get(kind),
        code=code,
        reason=reason,
        status=status,
        retry_after=retry_after,
    )
    if isinstance(error, Conflict) and error.fields:
        owners = "; ".join(f"{f.path} is owned by {f.manager}" for f in error.fields)
        error.message = owners
        error.args = (owners,)
    return error


def _status(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "Status" else {}


def _snippet(code: int, body: bytes) -> str:
    text = " ".join(body.decode("utf-8", "replace").split())
    return f"HTTP {code}: {text[:SNIPPET]}" if text else f"HTTP {code}"
