"""Where things are: the cache, and the Go modules that argosy's tools are built from.

The modules are beside `src/` in a checkout and inside the package in an installed argosy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from argosy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cache_root", "module_folder"]

PACKAGE = Path(__file__).resolve().parent.parent


def cache_root(env: Mapping[str, str]) -> Path:
    """Return argosy's cache: ARGOSY_CACHE, else its folder in XDG_CACHE_HOME or ~/.cache."""
    if own := env.get("ARGOSY_CACHE"):
        return Path(own).absolute()
    home = env.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path(env.get("HOME", "~")).expanduser() / ".cache") / "argosy"


def module_folder(relative: str) -> Path:
    """Return the folder of a Go module of ours, such as `devcluster` or `tools/helm`.

    Raises:
        UsageError: this copy of argosy came without it.
    """
    for root in (PACKAGE.parent.parent, PACKAGE / "_go"):
        if (root / relative / "go.mod").is_file():
            return root / relative
    raise UsageError(
        f"this copy of argosy has no Go module {relative}",
        hint="reinstall argosy, or run it from a checkout",
    )
