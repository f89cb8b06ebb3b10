"""What objects say about each other: references, images wherever they hide, who may reach whom.

Pure: every function takes parsed manifests and returns data. What belongs here is knowledge about
Kubernetes and mesh objects that more than one part of argosy needs; what is wrong with a platform
is decided in `argosy.platform.check`, from what this package reads.
"""

from __future__ import annotations

from argosy.graph.images import FoundImage, ImageName, images, parse_image
from argosy.graph.index import Index
from argosy.graph.made import Made, made_by_cluster
from argosy.graph.pods import PodTemplate, containers, pod_template
from argosy.graph.reach import ClosedBy, Reach
from argosy.graph.references import Reference, references
from argosy.graph.selectors import matches

__all__ = [
    "ClosedBy",
    "FoundImage",
    "ImageName",
    "Index",
    "Made",
    "PodTemplate",
    "Reach",
    "Reference",
    "containers",
    "images",
    "made_by_cluster",
    "matches",
    "parse_image",
    "pod_template",
    "references",
]
