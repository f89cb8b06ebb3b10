"""The public names of both packages; taking one away breaks others and must be seen."""

from __future__ import annotations

from argosy import manifests, yaml


def test_public_names_of_yaml():
    assert yaml.__all__ == [
        "DELETE", "Marked", "YamlError", "dump", "dump_all", "load", "load_all", "load_marked",
        "splice",
    ]  # fmt: skip


def test_public_names_of_manifests():
    assert manifests.__all__ == [
        "LIST_KEYS", "Change", "Container", "Document", "ListKey", "Manifest", "ManifestError",
        "Match", "ObjectId", "Path", "PathError", "PodTemplate", "Segment", "apply_changes",
        "apply_key", "apply_rank", "containers", "diff", "find_at", "flatten", "format_path",
        "get_at", "identity", "is_secret", "mask", "mask_value", "output_key", "parse_path",
        "parse_quantity", "pod_templates", "same_quantity", "selects", "selects_labels",
        "sort_for_apply", "sort_for_output", "split", "walk", "walk_strings",
    ]  # fmt: skip
    assert all(hasattr(manifests, name) for name in manifests.__all__)
