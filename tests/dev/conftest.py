"""The cluster that the tests of local clusters share."""

from __future__ import annotations

from devcluster_fixtures import devcluster, namespace

__all__ = ["devcluster", "namespace"]
