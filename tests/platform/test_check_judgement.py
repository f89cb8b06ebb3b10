"""How findings are sorted: new, upstream's known defects, waived; and what fails a run."""

from __future__ import annotations

import msgspec
import pytest

from argosy.manifests import ObjectId
from argosy.platform.check import Finding, Severity, WaiverLike, judge, load_reviewed
from argosy.platform.check.judgement import Reviewed


def finding(code: str = "ARG070", name: str = "a", severity: Severity = Severity.ERROR) -> Finding:
    where = ObjectId("apps", "Deployment", "team", name)
    path = "spec.containers[name=x].image"
    return Finding(code, severity, where, path, "Wrong; mend it.", "web", f"{name}.yaml")


def waiver(pattern: str, code: str = "ARG070") -> WaiverLike:
    return WaiverLike(code, pattern, "we know")


def reviewed(verdict: str, pattern: str = "Deployment.apps team/a", path: str = "*") -> Reviewed:
    return msgspec.convert(
        {
            "code": "ARG070",
            "objects": [pattern],
            "verdict": verdict,
            "reason": "seen",
            "path": path,
        },
        Reviewed,
    )


@pytest.mark.parametrize(
    "pattern", ["Deployment.apps team/a", "Deployment team/a", "Deployment team/*", "*"]
)
def test_a_waiver_names_objects_with_or_without_their_group(pattern: str) -> None:
    report = judge([finding()], waivers=[waiver(pattern)])
    assert [one.reason for one in report.waived] == ["we know"]
    assert not report.new


@pytest.mark.parametrize("pattern", ["Service team/a", "Deployment team/b", "deployment team/a"])
def test_a_waiver_for_something_else_waives_nothing_and_is_a_finding_itself(pattern: str) -> None:
    report = judge([finding()], waivers=[waiver(pattern)], platform="acme")
    assert [one.code for one in report.new] == ["ARG070", "ARG090"]
    assert report.new[1].path == "checks.waive[0]"
    assert report.new[1].file == "platform.yaml"


def test_a_waiver_holds_for_its_code_alone() -> None:
    report = judge([finding("ARG071")], waivers=[waiver("*")])
    assert [one.code for one in report.new] == ["ARG071", "ARG090"]


def test_a_true_defect_of_upstream_is_known_and_a_waived_one_waived() -> None:
    assert len(judge([finding()], reviewed=[reviewed("true")]).known) == 1
    assert len(judge([finding()], reviewed=[reviewed("waived")]).waived) == 1


def test_brackets_in_a_reviewed_path_mean_themselves() -> None:
    exact = reviewed("true", path="spec.containers[name=x].image")
    assert len(judge([finding()], reviewed=[exact]).known) == 1
    other = reviewed("true", path="spec.containers[name=y].image")
    assert len(judge([finding()], reviewed=[other]).new) == 1


def test_the_platforms_waiver_comes_before_the_releases_review() -> None:
    report = judge([finding()], waivers=[waiver("*")], reviewed=[reviewed("true")])
    assert [one.reason for one in report.waived] == ["we know"]


@pytest.mark.parametrize(
    ("severity", "verdict", "fails", "fails_strictly"),
    [
        (Severity.ERROR, "", True, True),
        (Severity.WARNING, "", False, True),
        (Severity.INFO, "", False, False),
        (Severity.ERROR, "true", False, True),
        (Severity.ERROR, "waived", False, False),
    ],
)
def test_what_fails_a_run(
    severity: Severity, verdict: str, fails: bool, fails_strictly: bool
) -> None:
    entries = [reviewed(verdict)] if verdict else []
    report = judge([finding(severity=severity)], reviewed=entries)
    assert report.failed() is fails
    assert report.failed(strict=True) is fails_strictly


def test_a_report_on_one_app_leaves_the_others_out() -> None:
    report = judge([finding()])
    assert report.only(frozenset({"web"})).new
    assert not report.only(frozenset({"katib"})).new
    assert report.only(frozenset()) is report


def test_scripts_get_every_finding_with_its_parts_and_reason() -> None:
    report = judge([finding("ARG001"), finding()], reviewed=[reviewed("true")])
    shown = msgspec.json.decode(report.to_json(failed=True))
    assert shown["failed"] is True
    assert shown["new"][0]["object"] == {
        "group": "apps",
        "kind": "Deployment",
        "namespace": "team",
        "name": "a",
    }
    assert shown["known"][0]["reason"] == "seen"


def test_findings_come_worst_first() -> None:
    report = judge([finding("ARG001", severity=Severity.WARNING), finding("ARG070")])
    assert [one.code for one in report.new] == ["ARG070", "ARG001"]


def test_a_release_without_a_reviewed_list_has_an_empty_one() -> None:
    assert load_reviewed("") == load_reviewed("0.1") == ()


@pytest.mark.parametrize("release", ["26.03", "v1.11.0"])
def test_every_judgement_gives_a_reason(release: str) -> None:
    assert all(len(entry.reason.split()) > 4 for entry in load_reviewed(release))
