"""What many tests share: a running cluster, the engines, a mirror of real upstream manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from argosy.dev import toolchain
from devcluster_fixtures import devcluster, namespace
from repositories import repository

__all__ = ["devcluster", "engines_env", "namespace", "repository", "upstream"]

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def upstream() -> Path:
    """Return the mirror of real upstream sources, or skip and say so."""
    place = Path(os.environ.get("ARGOSY_TEST_UPSTREAM", REPOSITORY.parent / "shared" / "upstream"))
    if not place.is_dir():
        pytest.skip(f"no mirror of upstream manifests at {place} (set ARGOSY_TEST_UPSTREAM)")
    return place


@pytest.fixture(scope="session")
def engines_env() -> dict[str, str]:
    """Return an environment with the kustomize that argosy builds in front of the PATH."""
    kustomize = toolchain.ensure("kustomize", env=os.environ)
    return {**os.environ, "PATH": f"{kustomize.parent}:{os.environ['PATH']}"}
