"""What an explanation says: an object's origin, and each line of configuration that changed it.

Data alone. Values in it are masked already; a place is a file of a source (or of the platform's
own directory) with a line, and where the source is on GitHub, a link to that line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from argosy.manifests import Change, ObjectId

if TYPE_CHECKING:
    from argosy.errors import Location

__all__ = ["Explanation", "Owner", "Spot", "Step"]


class Spot(NamedTuple):
    """A place that can be opened.

    Attributes:
        source: the source's name in the lock; "" for the platform's own directory, "argosy" for
            the catalogue.
        file: the path in the source.
        line: counted from 1; 0 when the whole file is meant.
        url: where to see it; "" when nobody knows.
    """

    source: str
    file: str
    line: int = 0
    url: str = ""

    def __str__(self) -> str:
        """Return `source: file:line`, the source left out for the platform's own files."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.source}: {place}" if self.source else place

    @classmethod
    def of(cls, where: Location) -> Spot:
        """Return the place of a line in the platform's own configuration."""
        return cls("", where.file, where.line)


class Step(Struct):
    """One line of configuration that changed an object.

    Attributes:
        what: the kind of the transform: `patch`, `images`, `labels`, `namespace`, `mend`, ….
        where: the line that did it.
        said: what stands there, in one line.
        via: the line that names `where`, such as a kustomization's `patches:` entry.
        level: the kustomization that it belongs to.
        changes: what it changed, field by field.
        sure: whether what stands there is what came out; otherwise it is the likeliest line.
    """

    what: str
    where: Spot
    said: str = ""
    via: Spot | None = None
    level: str = ""
    changes: list[Change] = field(default_factory=list)
    sure: bool = True


class Owner(Struct):
    """Who wrote a field of the live object, and when."""

    manager: str
    operation: str
    time: str
    path: str


class Explanation(Struct):
    """Why an object or a field is as it is.

    Attributes:
        id: the object.
        app: the app that renders it.
        why: why the app is part of the platform.
        asked: where it was asked for.
        source: the upstream source: URL and ref.
        commit: the commit that the lock pins it to, "" when unknown.
        origin: where the object was written first.
        said: what stands there when it is no plain object (a generator, a chart's template).
        rendered: its file in the rendered tree.
        steps: what changed it (or the field asked for), from the origin outwards.
        path: the field that was asked for, "" for the object.
        value: the field's value as rendered.
        unrendered: the field that was asked for, when it is not rendered; "" otherwise.
        first: the field's value at the origin; None when it is not there.
        set_by: the line that gave the field its value.
        owners: who wrote the live field; empty without a cluster.
        notes: what a reader has to know.
    """

    id: ObjectId
    app: str
    why: str
    asked: Spot | None = None
    source: str = ""
    commit: str = ""
    origin: Spot | None = None
    said: str = ""
    rendered: str = ""
    steps: list[Step] = field(default_factory=list)
    path: str = ""
    value: Any = None
    unrendered: str = ""
    first: Any = None
    set_by: Spot | None = None
    owners: list[Owner] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
