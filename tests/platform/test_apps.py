"""Selecting apps: what comes along and why, in which order, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.errors import ArgosyError
from argosy.platform.apps import check_names, select
from argosy.platform.config import ConfigError, load_platform

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.apps import Selection

HEAD = "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: acme-ml}\n"


def selected(folder: Path, text: str) -> Selection:
    (folder / "platform.yaml").write_text(HEAD + text)
    return select(load_platform(folder))


def test_all_of_a_release_is_the_default(tmp_path: Path) -> None:
    selection = selected(tmp_path, 'kubeflow: "26.03"\n')
    assert set(selection.apps) == set(selection.release.default_apps())  # type: ignore[union-attr]
    assert all(app.why == "Kubeflow's default" for app in selection.apps.values())


def test_what_an_app_needs_comes_along_with_its_reason(tmp_path: Path) -> None:
    selection = selected(tmp_path, 'kubeflow: "26.03"\napps: {include: [katib]}\n')
    assert {"katib", "cert-manager", "istio", "istio-crds"} <= set(selection.apps)
    assert "spark-operator" not in selection.apps
    assert selection.apps["cert-manager"].why.startswith("katib needs it: Certificate katib-")


def test_each_app_stands_behind_those_that_it_needs(tmp_path: Path) -> None:
    apps = selected(tmp_path, 'kubeflow: "26.03"\n').apps
    order = list(apps)
    assert all(order.index(need) < order.index(a.name) for a in apps.values() for need in a.needs)


def test_a_group_stands_for_its_apps(tmp_path: Path) -> None:
    apps = selected(tmp_path, 'kubeflow: "26.03"\napps: {include: [notebooks]}\n').apps
    assert {"jupyter-web-app", "notebook-controller", "admission-webhook"} <= set(apps)


def test_an_excluded_app_that_others_need_is_taken_to_be_in_the_cluster(tmp_path: Path) -> None:
    selection = selected(
        tmp_path, 'kubeflow: "26.03"\napps: {include: [katib], exclude: [cert-manager]}\n'
    )
    assert "cert-manager" not in selection.apps
    assert selection.provided["cert-manager"] == ("katib",)
    assert "cert-manager" not in selection.apps["katib"].needs


def test_a_variant_changes_the_path(tmp_path: Path) -> None:
    apps = selected(
        tmp_path, 'kubeflow: "26.03"\napps: {options: {oauth2-proxy: m2m-dex-and-eks}}\n'
    ).apps
    assert apps["oauth2-proxy"].path.endswith("m2m-dex-and-eks")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('kubernetes: "1.99"\n', "platform.yaml:4:1: argosy has no schemas of Kubernetes 1.99"),
        (
            'kubeflow: "26.3"\n',
            "platform.yaml:4:1: Kubeflow release '26.3' is not in the catalogue; did you mean",
        ),
        ('kubeflow: "26.03"\napps: {include: [katip]}\n', "did you mean 'katib'?"),
        ('kubeflow: "26.03"\napps: {options: {katib: x}}\n', "'katib' has no variants"),
        ('kubeflow: "26.03"\napps: {options: {istio: gek}}\n', "did you mean 'gke'?"),
        ('kubeflow: "26.03"\napps: {include: [dex], exclude: [dex]}\n', "both included and excl"),
        ("apps: {include: [katib]}\n", "no Kubeflow release is named"),
        ('kubeflow: "26.03"\napps: {add: [{name: katib}]}\n', "'katib' is already in Kubeflow"),
        ('kubeflow: "26.03"\napps: {overlays: {katip: x}}\n', "did you mean 'katib'?"),
        ('kubeflow: "26.03"\napps: {overlays: {katib: x}}\n', "'x' is not a directory"),
        ("apps: {add: [{name: a, needs: [c]}, {name: cc}]}\n", "needs 'c', which is not an app"),
    ],
)
def test_a_selection_that_contradicts_itself_is_refused(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(ArgosyError) as caught:
        selected(tmp_path, text)
    assert sentence in str(caught.value)


def test_app_names_on_the_command_line_are_checked(tmp_path: Path) -> None:
    selection = selected(tmp_path, 'kubeflow: "26.03"\n')
    assert check_names(["katib"], selection) == {"katib"}
    with pytest.raises(ConfigError, match="did you mean 'katib'"):
        check_names(["katip"], selection)


@given(edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_any_needs_are_ordered_or_their_circle_is_named(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int]]
) -> None:
    needs: dict[int, list[str]] = {n: [] for n in range(8)}
    for one, other in edges:
        needs[one].append(f"a{other}")
    lines = "".join(f"  - {{name: a{n}, needs: [{', '.join(on)}]}}\n" for n, on in needs.items())
    try:
        apps = selected(tmp_path_factory.mktemp("s"), f"apps:\n  add:\n{lines}").apps
    except ConfigError as error:
        circle = str(error).partition("in a circle: ")[2].split(" -> ")
        assert circle[0] == circle[-1]
        assert all(other in needs[int(one[1:])] for one, other in pairwise(circle))
    else:
        order = list(apps)
        assert all(order.index(n) < order.index(a) for a in order for n in apps[a].needs)
