"""What a check says: findings, and what each code means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from argosy.manifests import ObjectId  # noqa: TC001  # dataclasses show their types at run time

__all__ = ["Finding", "Severity", "Spec"]


class Severity(Enum):
    """How bad a finding is; the order is that of the report."""

    ERROR = "error"
    """The API server refuses it, or what it is for does not work."""
    WARNING = "warning"
    """It is accepted and does something else, or less, than it says; or it is a risk."""
    INFO = "info"
    """Worth knowing."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Spec(NamedTuple):
    """What a check looks for.

    Attributes:
        code: stable; people write it into waivers.
        severity: of all its findings.
        title: what is wrong, in a few words.
        description: what is looked at, what follows from it, what is not seen. One paragraph.
    """

    code: str
    severity: Severity
    title: str
    description: str


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in one place.

    Attributes:
        code: of the check that found it.
        severity: how bad it is.
        object: the object that is wrong.
        path: the place in the object, "" when it is the whole.
        message: one sentence that says what is wrong and what to do.
        app: the app that renders the object.
        file: the rendered file.
    """

    code: str
    severity: Severity
    object: ObjectId
    path: str
    message: str
    app: str
    file: str

    @property
    def order(self) -> tuple[int, str, str, str, str]:
        """The order of reports: worst first, then by code and place."""
        return (self.severity.rank, self.code, str(self.object), self.path, self.message)
