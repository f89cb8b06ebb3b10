"""Mark the changes of a diff that need care, each with its reason.

Pure. What stops an apply or may lose data is decided in `argosy.platform.hazards`; added here is
what only a comparison of two trees shows: fields of a definition that are gone, selectors that
pick other pods, webhooks that begin to refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.graph import pod_template
from argosy.platform.hazards import Hazard, hazards, platform_hazards, removal_hazard, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.diff_crds import SchemaChange

__all__ = ["change_risks", "moved_workloads", "removal_risks", "schema_risks"]

SHOWN = 5  # fields named in one sentence
# (group, kind) -> the field that picks pods, where the API server lets it change
SELECTORS = {
    ("", "Service"): "spec.selector",
    ("networking.k8s.io", "NetworkPolicy"): "spec.podSelector",
    ("policy", "PodDisruptionBudget"): "spec.selector",
    ("security.istio.io", "AuthorizationPolicy"): "spec.selector",
    ("security.istio.io", "PeerAuthentication"): "spec.selector",
    ("security.istio.io", "RequestAuthentication"): "spec.selector",
}


def change_risks(
    id_: ObjectId, old: Manifest, new: Manifest, schemas: Iterable[SchemaChange] = ()
) -> list[Hazard]:
    """Return what needs care when `old` becomes `new`, the worst first.

    Args:
        id_: which object it is.
        old: the object before; a definition without its schemas.
        new: the object after, likewise.
        schemas: for a definition, how its schemas change.
    """
    found = [*hazards(id_, old, new), *_selectors(id_, old, new), *_webhooks(id_, old, new)]
    found += schema_risks(id_, schemas)
    return worst_first(found)


def removal_risks(id_: ObjectId) -> list[Hazard]:
    """Return what needs care when an object goes."""
    found = removal_hazard(id_)
    return [found] if found else []


def moved_workloads(
    old: Mapping[ObjectId, Manifest], new: Mapping[ObjectId, Manifest]
) -> list[Hazard]:
    """Return what needs care when some workloads take the place of others."""
    before = {id_: obj for id_, obj in old.items() if pod_template(obj) is not None}
    after = {id_: obj for id_, obj in new.items() if pod_template(obj) is not None}
    return list(platform_hazards(before, after))


def schema_risks(id_: ObjectId, schemas: Iterable[SchemaChange]) -> Iterator[Hazard]:
    """Yield what needs care when the schemas of a definition change."""
    for schema in schemas:
        path = f"spec.versions[name={schema.version}].schema"
        if schema.removed:
            yield Hazard(
                "crd-field-removed",
                "dangerous",
                id_,
                path,
                f"{schema.version} has no {_some(schema.removed)} any more",
                "the API server drops these fields from every object that is written",
            )
        tighter = [*schema.retyped, *schema.required, *schema.narrowed]
        if tighter:
            yield Hazard(
                "crd-schema-tightened",
                "dangerous",
                id_,
                path,
                f"{schema.version} takes less than before: {_some(tighter)}",
                "objects that were valid may be refused when they are next written",
            )


def _selectors(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    path = SELECTORS.get((id_.group, id_.kind))
    if path is None:
        return
    was, wanted = _at(old, path), _at(new, path)
    if was != wanted:
        yield Hazard(
            "selector-changed",
            "dangerous",
            id_,
            path,
            f"it picks other pods: {_labels(was)} becomes {_labels(wanted)}",
            "make sure that the pods it is meant for carry these labels",
        )


def _webhooks(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    if not id_.kind.endswith("WebhookConfiguration"):
        return
    before = {hook.get("name"): hook for hook in old.get("webhooks") or ()}
    for hook in new.get("webhooks") or ():
        name = hook.get("name")
        known = before.get(name)
        wanted = hook.get("failurePolicy", "Fail")
        was = known.get("failurePolicy", "Fail") if known is not None else "Ignore"
        if was == wanted:
            continue
        if wanted == "Fail":
            reason = "it is new" if known is None else f"it was {was}"
            yield Hazard(
                "webhook-fails-closed",
                "notice" if known is None else "dangerous",
                id_,
                f"webhooks[name={name}].failurePolicy",
                f"writes that it matches are refused while its server is away ({reason})",
                "roll out the server first; `argosy apply` waits for it",
            )
        else:
            yield Hazard(
                "webhook-fails-open",
                "notice",
                id_,
                f"webhooks[name={name}].failurePolicy",
                "writes that it matches pass unchecked while its server is away",
                "check that nothing relies on it",
            )


def _at(node: Any, path: str) -> Any:
    for step in path.split("."):
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _labels(selector: Any) -> str:
    if not isinstance(selector, dict) or not selector:
        return "all" if selector == {} else "none"
    labels = selector.get("matchLabels", selector)
    if not isinstance(labels, dict) or any(
        isinstance(value, dict | list) for value in labels.values()
    ):
        return str(selector)
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more
