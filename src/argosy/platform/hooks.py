"""Turn Helm's hooks into Argo CD's, by the table in docs/platform.md.

Pure. Helm runs hooks as steps of a command; a rendered tree has no such steps. Argo CD reads the
same intent from annotations of its own, and so `argosy apply` and Argo CD find one tree that means
the same to both. What has no place in bringing a platform up (tests, rollbacks, removal) is left
out, and handed back by name so that it can be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.manifests import Manifest

__all__ = ["HOOKS", "HOOK_MARK", "translate_hooks"]

HOOK_MARK = "helm.sh/hook"  # how the annotations of every hook begin
WEIGHT = f"{HOOK_MARK}-weight"
POLICY = f"{HOOK_MARK}-delete-policy"
ARGO = "argocd.argoproj.io"

# Argo CD's own mapping (its user guide, "Helm"); None: an object like any other
HOOKS: dict[str, str | None] = {
    "crd-install": None,
    "pre-install": "PreSync",
    "pre-upgrade": "PreSync",
    "post-install": "PostSync",
    "post-upgrade": "PostSync",
}
_POLICIES = {
    "before-hook-creation": "BeforeHookCreation",
    "hook-succeeded": "HookSucceeded",
    "hook-failed": "HookFailed",
}


def translate_hooks(obj: Manifest) -> Manifest | None:
    """Return an object with Argo CD's hook annotations for Helm's; None when it is left out.

    An object that is no hook comes back as it is.
    """
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return obj
    if HOOK_MARK not in annotations:
        return obj
    asked = _words(annotations[HOOK_MARK])
    known = [name for name in asked if name in HOOKS]
    if not known:
        return None
    kept = {key: value for key, value in annotations.items() if not key.startswith(HOOK_MARK)}
    phases = [phase for phase in dict.fromkeys(HOOKS[name] for name in known) if phase]
    if phases:
        kept[f"{ARGO}/hook"] = ",".join(phases)
        if WEIGHT in annotations:
            kept[f"{ARGO}/sync-wave"] = str(annotations[WEIGHT])
        policies = [
            _POLICIES[name] for name in _words(annotations.get(POLICY)) if name in _POLICIES
        ]
        if policies:
            kept[f"{ARGO}/hook-delete-policy"] = ",".join(policies)
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**obj, "metadata": {**others, "annotations": kept} if kept else others}


def _words(value: object) -> list[str]:
    return [word.strip() for word in str(value or "").split(",") if word.strip()]
