"""Run on real Kubeflow releases, every finding is judged, and no judged one is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from argosy.platform.check import Finding, Report, find, load_checked, load_reviewed, run
from argosy.platform.check.judgement import judges
from argosy.platform.config import load_platform
from argosy.platform.locking import lock_platform
from argosy.platform.render import render
from argosy.sources.blobs import BlobStore
from argosy.sources.choose import fetcher_for

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.upstream
RELEASES = ("26.03", "v1.11.0")


@pytest.fixture(scope="module")
def trees(
    upstream: Path, engines_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Render both releases from the mirror."""
    cache = tmp_path_factory.mktemp("cache")
    fetcher = fetcher_for(upstream, cache=cache, env=engines_env)
    roots = {}
    for release in RELEASES:
        root = tmp_path_factory.mktemp(release)
        (root / "platform.yaml").write_text(
            "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: test}\n"
            f'kubeflow: "{release}"\nkubernetes: "1.35"\n'
        )
        lock_platform(root, fetcher=fetcher, blobs=BlobStore(cache))
        render(load_platform(root), cache=cache, env=engines_env, fetcher=fetcher)
        roots[release] = root
    return roots


@pytest.fixture(scope="module")
def found(trees: dict[str, Path]) -> dict[str, list[Finding]]:
    result = {}
    for release, root in trees.items():
        rendered, withheld = load_checked(root, "default")
        result[release] = find(rendered, withheld=withheld)
    return result


@pytest.mark.parametrize("release", RELEASES)
def test_no_finding_is_unjudged(release: str, found: dict[str, list[Finding]]) -> None:
    reviewed = load_reviewed(release)
    new = [one for one in found[release] if not any(judges(entry, one) for entry in reviewed)]
    assert new == []


@pytest.mark.parametrize("release", RELEASES)
def test_no_judged_finding_is_gone(release: str, found: dict[str, list[Finding]]) -> None:
    gone = [
        (entry.code, pattern)
        for entry in load_reviewed(release)
        for pattern in entry.objects
        if not any(
            judges(entry, one) and str(one.object).startswith(pattern.partition("*")[0])
            for one in found[release]
        )
    ]
    assert gone == []


@pytest.mark.parametrize(
    ("code", "name", "says"),
    [
        ("ARG002", "jobsets.jobset.x-k8s.io", "CERTIFICATE_NAME"),
        ("ARG003", "centraldashboard", "CD_COLLECT_METRICS"),
        ("ARG015", "torch-distributed", "kubeflow-system"),
        ("ARG043", "model-registry", "no workload"),
        ("ARG051", "llminferenceservice.serving.kserve.io", "excludeInboundPorts"),
        ("ARG052", "global-deny-all", "every namespace"),
        ("ARG053", "profiles-kfam", "/kfam/"),
        ("ARG055", "volumes-web-app-viewer-spec-gm954c98h6", "30s"),
        ("ARG058", "notebook-controller-service", "443"),
        ("ARG071", "dex-passwords", "seal"),
        ("ARG072", "katib-ui", "USERID_PREFIX"),
    ],
)
def test_the_real_defects_of_26_03_are_reported(
    code: str, name: str, says: str, found: dict[str, list[Finding]]
) -> None:
    matching = [one for one in found["26.03"] if one.code == code and one.object.name == name]
    assert matching
    assert any(says in one.message for one in matching)


def report_on(root: Path) -> Report:
    rendered, withheld = load_checked(root, "default")
    return run(rendered, withheld=withheld)


def test_a_whole_release_has_no_new_error_but_known_defects(trees: dict[str, Path]) -> None:
    report = report_on(trees["26.03"])
    assert not report.failed()
    assert report.failed(strict=True)


def test_a_defect_that_is_added_is_the_only_new_finding(trees: dict[str, Path]) -> None:
    file = trees["26.03"] / "rendered/default/katib/deployment.apps_kubeflow_katib-ui.yaml"
    text = file.read_text()
    file.write_text(text.replace("serviceAccountName: katib-ui", "serviceAccountName: gone"))
    try:
        report = report_on(trees["26.03"])
    finally:
        file.write_text(text)
    assert [one.code for one in report.new] == ["ARG030"]
    assert report.new[0].file == "rendered/default/katib/deployment.apps_kubeflow_katib-ui.yaml"
    assert report.failed()
