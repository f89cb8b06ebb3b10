"""Make the index of a rendered tree: what each app was built from, and what it holds.

Pure. Apps that were built are entered anew, the others as they were. Refuses two apps that render
one object.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import structs

from argosy.platform.output import OutputError, value_digests
from argosy.platform.tree import FORMAT, Index, IndexedApp
from argosy.platform.withheld import secret_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.platform.apps import Selection
    from argosy.platform.config import LoadedPlatform
    from argosy.platform.output import AppOutput

__all__ = ["make_index"]


def make_index(
    old: Index | None,
    outputs: Mapping[str, AppOutput],
    *,
    loaded: LoadedPlatform,
    selection: Selection,
    digests: Mapping[str, str],
    engines: Mapping[str, str],
) -> Index:
    """Return the index of the new tree.

    Args:
        old: the index so far.
        outputs: what was built, by app.
        loaded: the configuration.
        selection: its apps.
        digests: of the inputs of each app that was built.
        engines: name and version of each engine in use.

    Raises:
        OutputError: two apps render the same object.
    """
    values = loaded.platform.values
    entries: dict[str, IndexedApp] = {}
    for name, app in selection.apps.items():
        if name in outputs:
            output = outputs[name]
            entries[name] = IndexedApp(
                needs=app.needs,
                inputs=digests[name],
                files={file: _sha256(text) for file, text in output.files.items()},
                values=value_digests(output.keys, values),
                secrets=secret_names(output),
            )
        elif old and name in old.apps:
            entries[name] = structs.replace(old.apps[name], needs=app.needs)
    _refuse_shared(entries)
    release = selection.release
    return Index(
        format=FORMAT,
        platform=loaded.platform.metadata.name,
        release=release.release if release else "",
        kubernetes=selection.kubernetes,
        engines=dict(engines),
        apps=entries,
        provided=selection.provided,
    )


def _refuse_shared(entries: Mapping[str, IndexedApp]) -> None:
    """Refuse two apps that render one object: they would take it from each other for ever."""
    owner: dict[str, str] = {}
    for name, app in entries.items():
        for file in [*app.files, *app.secrets]:
            if file in owner:
                raise OutputError(
                    f"apps {owner[file]} and {name} both render {file.removesuffix('.yaml')}",
                    hint="leave it out of one of them with an overlay ($patch: delete)",
                )
            owner[file] = name


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
