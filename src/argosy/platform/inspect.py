"""Look at what is going to be changed, before anything is: hazards, conflicts, refusals.

Reads the old object of each change and asks the API server, by a dry run, whether it would accept
the new one. Fresh objects are not looked at: there is nothing that they could be in conflict with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argosy.kube import ApiError, Conflict, Invalid
from argosy.manifests import Change, diff
from argosy.platform.definitions import outline
from argosy.platform.diff_crds import SchemaChange, compare_parsed
from argosy.platform.hazards import Hazard, hazards, platform_hazards, removal_hazard
from argosy.platform.risks import schema_risks
from argosy.platform.tasks import together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from argosy.kube import FieldOwner, KubeApi, Resource
    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.model import RenderedObject
    from argosy.platform.plan import Action, Plan

__all__ = ["Inspected", "inspect_plan"]

CRD = "CustomResourceDefinition"
WORKLOADS = ("Deployment", "StatefulSet")


@dataclass
class Inspected:
    """What the look at a plan's changes found.

    Attributes:
        hazards: steps that need care.
        conflicts: fields that others own, by object.
        invalid: what the API server would not accept, by object.
        changes: what a change does to each object, as the API server sees it.
    """

    hazards: list[Hazard] = field(default_factory=list)
    conflicts: dict[ObjectId, tuple[FieldOwner, ...]] = field(default_factory=dict)
    invalid: dict[ObjectId, str] = field(default_factory=dict)
    changes: dict[ObjectId, list[Change]] = field(default_factory=dict)


async def inspect_plan(
    api: KubeApi,
    plan: Plan,
    *,
    rendered: Mapping[ObjectId, RenderedObject],
    resource_of: Callable[[ObjectId], Resource | None],
    send: Callable[[RenderedObject], bytes],
) -> Inspected:
    """Return what is to be known about a plan's changes before they are made.

    Args:
        api: the cluster.
        plan: the plan; only its changes and deletions are looked at.
        rendered: the rendered objects.
        resource_of: the resource of an object in the version that its manifest has.
        send: what would be sent for an object.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    found = Inspected()
    changing = plan.of("update", "adopt", "replace")
    going = [a for a in plan.of("prune") if a.id.kind in WORKLOADS]
    old: dict[ObjectId, Manifest] = {}

    async def read(action: Action) -> None:
        resource = resource_of(action.id)
        if resource is None:
            return
        live = await api.find(resource, action.id.name, action.id.namespace or None)
        if live is not None:
            old[action.id] = live

    await together([read(a) for a in [*changing, *going]], name="read what changes")
    for action in changing:
        if action.id in old:
            new = rendered[action.id]
            manifest = outline(new.text, file=new.file) if new.id.kind == CRD else new.object()
            found.hazards += hazards(action.id, old[action.id], manifest)
    new_workloads = {id_: o.object() for id_, o in rendered.items() if id_.kind in WORKLOADS}
    gone = {a.id: old[a.id] for a in going if a.id in old}
    if gone:
        found.hazards += platform_hazards(gone, new_workloads)
    found.hazards += [h for a in plan.of("prune") if (h := removal_hazard(a.id))]
    blocked = {h.id for h in found.hazards if h.severity == "blocks"}

    async def rehearse(action: Action) -> None:
        resource = resource_of(action.id)
        if resource is None:
            return
        await _rehearse(api, action, resource, send(rendered[action.id]), old, found)

    trying = [a for a in changing if a.id in old and a.id not in blocked]
    await together([rehearse(a) for a in trying], name="try what changes")
    return found


async def _rehearse(
    api: KubeApi,
    action: Action,
    resource: Resource,
    body: bytes,
    old: Mapping[ObjectId, Manifest],
    found: Inspected,
) -> None:
    id_ = action.id
    try:
        new = await api.apply(
            body,
            resource=resource,
            name=id_.name,
            namespace=id_.namespace,
            dry_run=True,
            force=action.verb == "adopt",
        )
    except Conflict as error:
        found.conflicts[id_] = error.fields
    except Invalid as error:
        found.invalid[id_] = error.message
    except ApiError as error:
        # a namespace or a kind that this very apply makes: the real call comes behind them
        if error.code not in {403, 404, 500}:
            raise
    else:
        if id_.kind == CRD:
            found.changes[id_] = _definition_changes(id_, old[id_], new, found)
        else:
            found.changes[id_] = _changes(old[id_], new)


def _definition_changes(
    id_: ObjectId, old: Manifest, new: Manifest, found: Inspected
) -> list[Change]:
    """Return the changes outside of the schemas, and note what the schemas lose as hazards."""
    told = compare_parsed(_quiet(old), _quiet(new))
    found.hazards += schema_risks(id_, told.schemas)
    return [*told.changes, *(_schema_change(schema) for schema in told.schemas)]


def _schema_change(schema: SchemaChange) -> Change:
    fields = [*schema.added, *schema.removed, *schema.retyped]
    return Change(
        f"spec.versions[name={schema.version}].schema",
        "change",
        old=f"{len(schema.removed)} fields go",
        new=f"{len(schema.added)} fields come, {len(fields) + schema.texts} things differ",
    )


NOISE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


def _changes(old: Manifest, new: Manifest) -> list[Change]:
    return diff(_quiet(old), _quiet(new), semantic=True, mask=True)


def _quiet(obj: Manifest) -> Manifest:
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in NOISE}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}
