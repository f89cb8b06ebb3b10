"""Sort findings: new ones, upstream's known defects, and what is waived, each with its reason.

Three parties judge. The platform waives in `checks.waive` of platform.yaml. The catalogue of a
release brings a reviewed list (`reviewed-<release>.yaml`) in which every finding on upstream's
own objects is judged: `true`, a real defect with what follows from it, or `waived`, with the
reason why it is none. What neither speaks of is new.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from importlib import resources
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from argosy import yaml
from argosy.manifests import ObjectId
from argosy.platform.check.finding import Finding, Severity, Spec
from argosy.platform.check.report import Judged, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SPEC", "Reviewed", "WaiverLike", "judge", "judges", "load_reviewed"]

SPEC = Spec(
    "ARG090",
    Severity.WARNING,
    "waiver without a finding",
    "An entry of `checks.waive` matches no finding (any more): what it excuses is gone, or its "
    "code or object is mistyped.",
)


class Reviewed(Struct, frozen=True, forbid_unknown_fields=True):
    """One judgement of a release's reviewed list.

    Attributes:
        code: of the findings that it judges.
        objects: patterns of `Kind.group namespace/name`.
        verdict: `true` for a defect of upstream's, `waived` for what is none.
        reason: what follows from the defect, or why it is none.
        path: pattern of the place in the object; everything when left out.
    """

    code: str
    objects: tuple[str, ...]
    verdict: Literal["true", "waived"]
    reason: str
    path: str = "*"


class _Review(Struct, frozen=True, forbid_unknown_fields=True):
    release: str
    findings: tuple[Reviewed, ...] = ()


class WaiverLike(Struct, frozen=True):
    """What `checks.waive` says, as this module needs it."""

    code: str
    object: str
    reason: str


def load_reviewed(release: str) -> tuple[Reviewed, ...]:
    """Return the reviewed list of a release, empty when it has none."""
    if not release:
        return ()
    name = f"reviewed-{release}.yaml"
    file = resources.files("argosy.platform") / "catalogue" / name
    if not file.is_file():
        return ()
    value = yaml.load(file.read_text(encoding="utf-8"), file=name)
    return msgspec.convert(value, _Review).findings


def judge(
    findings: Iterable[Finding],
    *,
    waivers: Sequence[WaiverLike] = (),
    reviewed: Sequence[Reviewed] = (),
    platform: str = "",
) -> Report:
    """Sort findings by who has judged them; a waiver that judges nothing is a finding itself.

    Args:
        findings: all of a run.
        waivers: of platform.yaml; they come first.
        reviewed: of the release.
        platform: the platform's name, for findings about its waivers.
    """
    new: list[Finding] = []
    known: list[Judged] = []
    waived: list[Judged] = []
    used: set[int] = set()
    for finding in sorted(findings, key=lambda finding: finding.order):
        mine = [n for n, waiver in enumerate(waivers) if _waives(waiver, finding)]
        used.update(mine)
        if mine:
            waived.append(Judged(finding, waivers[mine[0]].reason))
            continue
        entry = next((entry for entry in reviewed if judges(entry, finding)), None)
        if entry is None:
            new.append(finding)
        else:
            (known if entry.verdict == "true" else waived).append(Judged(finding, entry.reason))
    unused = [
        _unused(number, waiver, platform)
        for number, waiver in enumerate(waivers)
        if number not in used
    ]
    return Report((*new, *unused), tuple(known), tuple(waived))


def judges(entry: Reviewed, finding: Finding) -> bool:
    """Say whether an entry of a reviewed list speaks of a finding."""
    return (
        entry.code == finding.code
        and any(_like(str(finding.object), pattern) for pattern in entry.objects)
        and (entry.path == "*" or _like(finding.path, entry.path))
    )


def _waives(waiver: WaiverLike, finding: Finding) -> bool:
    if waiver.code != finding.code:
        return False
    where = finding.object
    # people write the kind with or without its group
    short = str(where._replace(group=""))
    return _like(str(where), waiver.object) or _like(short, waiver.object)


def _like(text: str, pattern: str) -> bool:
    """Match a shell pattern in which brackets mean themselves: paths are full of them."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _unused(number: int, waiver: WaiverLike, platform: str) -> Finding:
    message = (
        f"The waiver of {waiver.code} for {waiver.object!r} matches no finding; remove it, or "
        "correct its code or object."
    )
    return Finding(
        SPEC.code,
        SPEC.severity,
        ObjectId("argosy.dev", "Platform", "", platform),
        f"checks.waive[{number}]",
        message,
        app="",
        file="platform.yaml",
    )
