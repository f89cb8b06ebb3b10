"""A whole Kubeflow release on a real API server: everything accepted, nothing refused, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from argosy.kube import KubeApi, load_kubeconfig
from argosy.platform.apply import Applying, prepare
from argosy.platform.catalogue import load_catalogue
from argosy.platform.config import load_platform
from argosy.platform.dependencies import Tree
from argosy.platform.locking import lock_platform
from argosy.platform.plan import Options
from argosy.platform.render import render
from argosy.platform.status import read_status
from argosy.platform.withheld import load_with_secrets
from argosy.sources.blobs import BlobStore
from argosy.sources.fetch import Mirror
from devcluster_fixtures import start_cluster
from platforms import write_files
from refusing_proxy import refusing_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from argosy.platform.model import RenderedPlatform
    from devcluster_fixtures import TestCluster

pytestmark = [pytest.mark.apiserver, pytest.mark.integration, pytest.mark.upstream]


@pytest.fixture(scope="module")
def fresh() -> Iterator[TestCluster]:
    """A cluster that no other test has written to."""
    import os

    from argosy.dev import cluster

    found = start_cluster("release")
    yield found
    cluster.down(found.name, delete=True, env=os.environ)


def rendered(
    root: Path, release: str, upstream: Path, env: dict[str, str], cache: Path
) -> RenderedPlatform:
    head = "apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: kf}\n"
    write_files(root, {"platform.yaml": f'{head}kubeflow: "{release}"\n'})
    lock_platform(root, fetcher=Mirror(upstream), blobs=BlobStore(cache))
    render(load_platform(root, None), cache=cache, env=env)
    return load_with_secrets(root, "default")


@pytest.fixture(scope="module")
def releases(
    upstream: Path, engines_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, RenderedPlatform]:
    """Both releases, rendered as one platform before and after its upgrade."""
    root = tmp_path_factory.mktemp("release")
    return {
        release: rendered(root, release, upstream, engines_env, root.parent / "cache")
        for release in ("v1.11.0", "26.03")
    }


@pytest.mark.timeout(600)
async def test_an_upgrade_lists_its_hazards_and_is_applied_without_a_refusal(
    fresh: TestCluster, releases: dict[str, RenderedPlatform], tmp_path: Path
) -> None:
    for release in ("v1.11.0", "26.03"):
        found = releases[release]
        text = "\n---\n".join(o.text for o in found.objects())
        proxy = refusing_proxy(fresh, text)
        kubeconfig = tmp_path / release
        async with (
            proxy.serve(kubeconfig),
            KubeApi(load_kubeconfig(kubeconfig), cache=tmp_path / "cache") as api,
        ):
            first = await prepare(api, found, options=Options(prune=True, budget=1000))
            blocked = {
                "/".join(p for p in (h.id.kind, h.id.namespace, h.id.name) if p)
                for h in first.plan.hazards
                if h.code == "immutable-field"
            }
            options = Options(prune=True, budget=1000, replace=frozenset(blocked))
            prepared = await prepare(api, found, options=options)
            assert prepared.plan.refusals == []
            await Applying(api, prepared, timeout=120).run()
            again = await prepare(api, found, options=options)
            assert again.plan.of("create", "update", "adopt", "replace", "prune") == []
            status = await read_status(api, found)
            assert all(not app.drift for app in status.apps)
            unwell = [unit for app in status.apps for unit in app.unwell]
            assert {unit.state for unit in unwell} <= {"progressing", "unknown"}
            unknown = {unit.object.split(".")[0] for unit in unwell if unit.state == "unknown"}
            assert unknown <= {"HorizontalPodAutoscaler"}  # nobody measures simulated pods
            assert not [unit for unit in unwell if unit.object.startswith("Deployment")]
        assert proxy.refused == []
        # 429: the server makes the storage of a definition that changes anew, and says when to
        # come back; no order avoids that
        assert {code for code in proxy.answers if code >= 400} <= {404, 429}


def test_nothing_in_a_release_waits_for_itself(releases: dict[str, RenderedPlatform]) -> None:
    for release, found in releases.items():
        order = Tree(found).order()
        assert order.cuts == ()
        assert len(order.objects()) == load_catalogue(release).objects
        assert len(order.waves) <= 8
