"""Decide what an apply does in this cluster, without writing anything.

Reads the cluster, makes the plan, and has the API server try each change: what is wrong with a
plan is known before its first write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from argosy.platform.adopt import is_tool
from argosy.platform.applyset import applyset_id, parent_name
from argosy.platform.inspect import Inspected, inspect_plan
from argosy.platform.live import LiveState, read_live
from argosy.platform.owners import scaled_by_others
from argosy.platform.payload import payload, payload_digest
from argosy.platform.plan import Options, Plan, Wanted, make_plan, settle_hazards
from argosy.platform.scope import Scoped, scope
from argosy.platform.secrets_live import changed_secrets

if TYPE_CHECKING:
    from argosy.kube import KubeApi, Resource, ResourceIndex
    from argosy.manifests import ObjectId
    from argosy.platform.model import RenderedObject, RenderedPlatform

__all__ = ["Prepared", "conflict_sentence", "prepare", "written_version"]


@dataclass
class Prepared:
    """A plan with all that is needed to execute it.

    Attributes:
        plan: what is to be done; with refusals it cannot be executed.
        inspected: what the look at its changes found.
    """

    plan: Plan
    inspected: Inspected
    scoped: Scoped
    state: LiveState
    wanted: dict[ObjectId, Wanted]
    index: ResourceIndex
    options: Options
    forced: set[ObjectId] = field(default_factory=set)


async def prepare(
    api: KubeApi,
    platform: RenderedPlatform,
    *,
    apps: frozenset[str] = frozenset(),
    options: Options | None = None,
) -> Prepared:
    """Look at the cluster and decide what an apply does; changes nothing.

    Args:
        api: the cluster.
        platform: the whole rendered tree.
        apps: the apps to apply; none means all.
        options: what the person has allowed.

    Raises:
        UnknownKind: nothing defines a kind of the tree.
        ApiError: see `argosy.kube.errors`.
    """
    options = options or Options()
    index = await api.resources()
    kinds = {(o.id.group, o.id.kind) for o in platform.objects()}
    if any(index.find(group, None, kind) is None for group, kind in kinds):
        index = await api.resources(fresh=True)  # what is remembered may be older than the CRDs
    everything = scope(platform, index, namespace=api.config.namespace)
    chosen = everything.platform.only(apps)
    scoped = Scoped(chosen, {o.id: everything.resources[o.id] for o in chosen.objects()})
    state = await read_live(api, platform.name, platform.env, wanted=scoped.resources, index=index)
    wanted = _wanted(chosen, await changed_secrets(api, chosen, state))
    plan = make_plan(
        wanted,
        state,
        apps=frozenset(app.name for app in platform.apps),
        options=_with_orphans(options, apps),
        elsewhere=everything.resources,
    )
    prepared = Prepared(plan, Inspected(), scoped, state, wanted, index, options)
    if plan.of("update", "adopt", "prune"):
        await _inspect(api, prepared)
    return prepared


def _with_orphans(options: Options, apps: frozenset[str]) -> Options:
    return msgspec.structs.replace(options, orphans=options.orphans and not apps)


def _wanted(platform: RenderedPlatform, changed: frozenset[ObjectId]) -> dict[ObjectId, Wanted]:
    wanted = {}
    for app in platform.apps:
        part_of = applyset_id(parent_name(platform.name, platform.env, app.name))
        for found in app.objects:
            digest = payload_digest(found, part_of)
            if found.id in changed:
                digest = ""
            wanted[found.id] = Wanted(app.name, digest, part_of)
    return wanted


async def _inspect(api: KubeApi, prepared: Prepared) -> None:
    rendered = {o.id: o for o in prepared.scoped.platform.objects()}
    scaled = scaled_by_others(
        (o.id, o.object()) for o in rendered.values() if o.id.kind == "HorizontalPodAutoscaler"
    )

    def resource_of(id_: ObjectId) -> Resource | None:
        return prepared.index.find(id_.group, written_version(rendered.get(id_)), id_.kind)

    def send(found: RenderedObject) -> bytes:
        resource = prepared.scoped.resources[found.id]
        part_of = prepared.wanted[found.id].part_of
        return payload(found, part_of, namespaced=resource.namespaced, scaled=scaled)

    inspected = await inspect_plan(
        api, prepared.plan, rendered=rendered, resource_of=resource_of, send=send
    )
    prepared.inspected = inspected
    settle_hazards(prepared.plan, inspected.hazards, options=prepared.options)
    for id_, fields in inspected.conflicts.items():
        managers = {f.manager for f in fields}
        if managers <= prepared.options.force or (
            prepared.options.adopt and all(map(is_tool, managers))
        ):
            prepared.forced.add(id_)
        else:
            prepared.plan.refusals.append(conflict_sentence(id_, fields))
    for id_, message in inspected.invalid.items():
        prepared.plan.refusals.append(f"{id_}: the API server would refuse it: {message}")


def conflict_sentence(id_: ObjectId, fields: Any) -> str:
    """Return what a person is told about fields that others own."""
    by: dict[str, list[str]] = {}
    for owned in fields:
        by.setdefault(owned.manager, []).append(owned.path)
    owners = "; ".join(f"{manager} owns {', '.join(paths)}" for manager, paths in by.items())
    adopt = "--adopt takes over what tools made, " if any(map(is_tool, by)) else ""
    names = " ".join(f"--force-conflicts {manager}" for manager in by)
    return f"{id_}: {owners}; {adopt}{names} takes the fields all the same"


def written_version(found: RenderedObject | None) -> str | None:
    """Return the API version that a manifest is written in, read from its first lines."""
    if found is None:
        return None
    for line in found.text.splitlines():
        if line.startswith("apiVersion:"):
            return line.partition(":")[2].strip().strip("\"'").rpartition("/")[2]
    return str(found.object().get("apiVersion", "")).rpartition("/")[2]
