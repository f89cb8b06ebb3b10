"""Secret values: made anew, kept in an ignored folder, never in the rendered tree.

The only package that sees a plaintext. `rules` is what the catalogue says of upstream's Secrets,
`generate` makes values by it (pure, given randomness), `store` keeps them on disk, `externalise`
takes Secrets out of what is rendered. Nothing here prints, logs or sends a value.
"""

from __future__ import annotations

from argosy.manifests import mask
from argosy.secrets.errors import SecretError, StoreError
from argosy.secrets.externalise import (
    Externalised,
    Workload,
    adopt,
    externalise,
    rotate,
    workloads,
)
from argosy.secrets.generate import Plan, plan, review
from argosy.secrets.rules import SecretRule
from argosy.secrets.store import SecretStore, store_for
from argosy.secrets.values import Credential, Left, Made, SecretName, Values

__all__ = [
    "Credential",
    "Externalised",
    "Left",
    "Made",
    "Plan",
    "SecretError",
    "SecretName",
    "SecretRule",
    "SecretStore",
    "StoreError",
    "Values",
    "Workload",
    "adopt",
    "externalise",
    "mask",
    "plan",
    "review",
    "rotate",
    "store_for",
    "workloads",
]
