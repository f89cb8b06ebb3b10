"""Suggestions help when a name is nearly right, and keep quiet otherwise."""

from __future__ import annotations

from argosy.suggest import did_you_mean


def test_a_mistyped_name_gets_the_nearest_choice() -> None:
    assert did_you_mean("pipelins", ["katib", "pipelines"]) == "did you mean 'pipelines'?"


def test_case_does_not_count_and_the_choice_keeps_its_own() -> None:
    assert did_you_mean("APIVERSION", ["apiVersion", "kind"]) == "did you mean 'apiVersion'?"


def test_nothing_near_says_nothing() -> None:
    assert did_you_mean("zzz", ["katib", "pipelines"]) == ""
    assert did_you_mean("katib", []) == ""
