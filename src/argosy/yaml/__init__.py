"""YAML as Kubernetes reads and writes it. Knows nothing about Kubernetes objects, does no I/O.

Reading follows kubectl scalar for scalar, refuses duplicate keys, and every error names file, line
and column. Writing gives text that every reader understands alike. Files of users are never
written anew: `splice` changes the characters that must change and leaves the rest alone.
"""

from __future__ import annotations

from argosy.yaml.emitter import dump, dump_all
from argosy.yaml.errors import YamlError
from argosy.yaml.loader import load, load_all
from argosy.yaml.marked import Marked, load_marked
from argosy.yaml.splice import DELETE, splice

__all__ = [
    "DELETE",
    "Marked",
    "YamlError",
    "dump",
    "dump_all",
    "load",
    "load_all",
    "load_marked",
    "splice",
]
