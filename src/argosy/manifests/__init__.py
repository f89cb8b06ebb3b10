"""A Kubernetes object as data: identity, paths, order, differences, quantities, selectors.

Plain functions over dicts as argosy.yaml reads them. Pure: no I/O, no cluster, no settings.
"""

from __future__ import annotations

from argosy.manifests.changes import Change, apply_changes
from argosy.manifests.diff import diff
from argosy.manifests.documents import Document, split
from argosy.manifests.errors import ManifestError, PathError
from argosy.manifests.identity import Manifest, ObjectId, flatten, identity
from argosy.manifests.listkeys import LIST_KEYS, ListKey
from argosy.manifests.masking import is_secret, mask, mask_value
from argosy.manifests.order import (
    apply_key,
    apply_rank,
    output_key,
    sort_for_apply,
    sort_for_output,
)
from argosy.manifests.paths import (
    Match,
    Path,
    Segment,
    find_at,
    format_path,
    get_at,
    parse_path,
    walk,
    walk_strings,
)
from argosy.manifests.pods import Container, PodTemplate, containers, pod_templates
from argosy.manifests.quantities import parse_quantity, same_quantity
from argosy.manifests.selectors import selects, selects_labels

__all__ = [
    "LIST_KEYS",
    "Change",
    "Container",
    "Document",
    "ListKey",
    "Manifest",
    "ManifestError",
    "Match",
    "ObjectId",
    "Path",
    "PathError",
    "PodTemplate",
    "Segment",
    "apply_changes",
    "apply_key",
    "apply_rank",
    "containers",
    "diff",
    "find_at",
    "flatten",
    "format_path",
    "get_at",
    "identity",
    "is_secret",
    "mask",
    "mask_value",
    "output_key",
    "parse_path",
    "parse_quantity",
    "pod_templates",
    "same_quantity",
    "selects",
    "selects_labels",
    "sort_for_apply",
    "sort_for_output",
    "split",
    "walk",
    "walk_strings",
]
