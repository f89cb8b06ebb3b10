"""Read what `argosy check` looks at: the rendered tree, and the names of the Secrets beside it.

The values of those Secrets are not read: a check runs on machines that do not have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.manifests import ObjectId
from argosy.platform.tree import load_rendered, read_index

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.platform.model import RenderedPlatform

__all__ = ["load_checked"]


def load_checked(root: Path, env: str) -> tuple[RenderedPlatform, dict[ObjectId, str]]:
    """Return the rendered tree, and each Secret that is kept beside it with its app.

    Raises:
        TreeError: there is no tree, or a file of it is missing.
    """
    rendered = load_rendered(root, env)
    index = read_index(root, env)
    withheld: dict[ObjectId, str] = {}
    for app, entry in (index.apps if index else {}).items():
        for secret in entry.secrets:
            namespace, _, name = secret.rpartition("/")
            withheld[ObjectId("", "Secret", namespace, name)] = app
    return rendered, withheld
