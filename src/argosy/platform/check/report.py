"""What a run found, sorted by who has judged it, and how scripts read it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec

from argosy.platform.check.finding import Finding, Severity

__all__ = ["Judged", "Report"]


@dataclass(frozen=True)
class Judged:
    """A finding that somebody has judged, and the reason that was given."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Report:
    """All findings of a run, sorted.

    Attributes:
        new: nobody has judged these.
        known: real defects of the upstream release.
        waived: by the platform, or by the release's review.
    """

    new: tuple[Finding, ...]
    known: tuple[Judged, ...]
    waived: tuple[Judged, ...]

    def failed(self, *, strict: bool = False) -> bool:
        """Say whether the run fails: on new errors.

        Strict, it fails as well on new warnings and on upstream's known defects: on every error
        and warning that is not waived. What is only worth knowing never fails a run.
        """
        if not strict:
            return any(finding.severity is Severity.ERROR for finding in self.new)
        known = (judged.finding for judged in self.known)
        return any(finding.severity is not Severity.INFO for finding in (*self.new, *known))

    def only(self, apps: frozenset[str]) -> Report:
        """Return the report with the findings of the apps named alone (all when none is)."""
        if not apps:
            return self
        return Report(
            tuple(finding for finding in self.new if finding.app in apps),
            tuple(judged for judged in self.known if judged.finding.app in apps),
            tuple(judged for judged in self.waived if judged.finding.app in apps),
        )

    def waived_by_code(self) -> dict[str, int]:
        """Return how many findings of each code are waived."""
        return dict(sorted(Counter(judged.finding.code for judged in self.waived).items()))

    def summary(self) -> str:
        """Return the last line of the report."""
        by = Counter(finding.severity for finding in self.new)
        counts = [_counted(by[level], level.value) for level in Severity if by[level]]
        new = ", ".join(counts) if counts else "nothing new"
        known = _counted(len(self.known), "known defect")
        return f"{new}; {known} of upstream's, {len(self.waived)} waived"

    def to_json(self, *, failed: bool) -> bytes:
        """Return the report for scripts."""
        return msgspec.json.encode(
            {
                "failed": failed,
                "new": [_shown(finding) for finding in self.new],
                "known": [_shown(one.finding, one.reason) for one in self.known],
                "waived": [_shown(one.finding, one.reason) for one in self.waived],
            }
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _shown(finding: Finding, reason: str = "") -> dict[str, Any]:
    where = finding.object
    shown: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.severity.value,
        "object": {
            "group": where.group,
            "kind": where.kind,
            "namespace": where.namespace,
            "name": where.name,
        },
        "path": finding.path,
        "message": finding.message,
        "app": finding.app,
        "file": finding.file,
    }
    return {**shown, "reason": reason} if reason else shown
