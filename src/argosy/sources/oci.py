"""Fetch a chart from an OCI registry by `helm pull`, which knows registries' authentication."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from argosy.sources.engines import find_helm
from argosy.sources.errors import FetchError
from argosy.sources.fetch import HERE, label_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.errors import Location
    from argosy.sources.remote import ChartRef

__all__ = ["pull"]

TIMEOUT = 300.0  # seconds; charts are small, registries are slow


def pull(
    ref: ChartRef, *, cache: Path, env: Mapping[str, str], where: Location | None = None
) -> bytes:
    """Return the archive of a chart in an OCI registry.

    Raises:
        EngineError: helm is missing or too old.
        FetchError: the registry does not give the chart.
    """
    helm = find_helm(env=env, cache=cache)
    address = f"{ref.repo.rstrip('/')}/{ref.chart}"
    # As for files: without TLS only from this machine.
    plain = ["--plain-http"] if urlsplit(ref.repo).hostname in HERE else []
    with tempfile.TemporaryDirectory(prefix="argosy-chart-") as folder:
        try:
            done = subprocess.run(
                [*helm.command, "pull", address, "--version", ref.version, "-d", folder, *plain],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise FetchError(f"{address} did not come within {TIMEOUT:.0f} s") from error
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            told = done.stderr.strip().removeprefix("Error: ") or f"exit code {done.returncode}"
            raise FetchError(f"{label_of(ref)} cannot be pulled: {told}", where=where)
        return archives[0].read_bytes()
