"""Compare the rendered tree with a cluster: `argosy diff --live`, what `argosy apply` would change.

The plan of an apply says which objects could differ; the API server says, by a dry run of that
apply, what each of them would become. Both sides of a comparison are then the server's own, so
defaults, conversions and fields of controllers make no noise. Nothing is written.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from argosy.kube import ApiError, Invalid, KubeApi, load_kubeconfig
from argosy.manifests import diff
from argosy.manifests.listkeys import find_keys, matches
from argosy.platform.apply import prepare
from argosy.platform.applyset import PART_OF
from argosy.platform.diff import AppDiff, ObjectDiff, PlatformDiff
from argosy.platform.diff_crds import compare_parsed
from argosy.platform.diff_git import known_apps
from argosy.platform.owners import scaled_by_others
from argosy.platform.payload import payload
from argosy.platform.plan import Options
from argosy.platform.risks import change_risks, removal_risks
from argosy.platform.tasks import together
from argosy.platform.withheld import load_with_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from argosy.kube import Resource
    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.apply import Prepared
    from argosy.platform.model import RenderedObject, RenderedPlatform
    from argosy.platform.plan import Action

__all__ = ["against_cluster", "live_diff"]

CRD = "CustomResourceDefinition"
EVERYTHING = 1_000_000  # a deletion budget that a diff never reaches: it deletes nothing
NOISE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
MARK = f'metadata.labels["{PART_OF}"]'


def against_cluster(
    root: Path,
    env: str,
    *,
    apps: Iterable[str] = (),
    kubeconfig: Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str],
) -> PlatformDiff:
    """Return what `argosy apply --prune --adopt` would change in a cluster.

    Args:
        root: the platform's directory.
        env: the environment.
        apps: only these.
        kubeconfig: the file that names the cluster; None takes what kubectl would.
        context: the kubeconfig's context.
        environ: the process environment.

    Raises:
        KubeconfigError: no cluster is named.
        Unreachable: the cluster does not answer.
        TreeError: nothing is rendered.
    """
    config = load_kubeconfig(kubeconfig, context, environ)
    platform = load_with_secrets(root, env)
    asked = known_apps(apps, {app.name for app in platform.apps}, "rendered")

    async def run() -> PlatformDiff:
        async with KubeApi(config) as api:
            found = await live_diff(api, platform, apps=asked)
            found.old = config.server
            return found

    return asyncio.run(run())


async def live_diff(
    api: KubeApi, platform: RenderedPlatform, *, apps: frozenset[str] = frozenset()
) -> PlatformDiff:
    """Return what an apply would change.

    Args:
        api: the cluster.
        platform: the whole rendered tree, with its Secrets.
        apps: only these apps; all when empty.

    Raises:
        ApiError: see `argosy.kube.errors`.
    """
    options = Options(prune=True, adopt=True, budget=EVERYTHING)
    prepared = await prepare(api, platform, apps=apps, options=options)
    look = _Look(api, prepared)
    found: dict[str, list[ObjectDiff]] = {}
    for action in prepared.plan.of("create"):
        found.setdefault(action.app, []).append(ObjectDiff("add", action.id, look.file(action.id)))
    for action in prepared.plan.of("prune", "keep"):
        note = "would be pruned" if action.verb == "prune" else f"stays: {action.reason}"
        one = ObjectDiff("remove", action.id, risks=removal_risks(action.id), note=note)
        found.setdefault(action.app, []).append(one)
    changing = prepared.plan.of("update", "adopt", "replace")
    diffs = await together([look.changed(action) for action in changing], name="compare")
    for action, changed in zip(changing, diffs, strict=True):
        if changed is not None:
            found.setdefault(action.app, []).append(changed)
    order = {app.name: place for place, app in enumerate(platform.apps)}
    listed = sorted(found.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    return PlatformDiff(
        old="the cluster",
        new=f"rendered/{platform.env}",
        env=platform.env,
        apps=[_app(name, objects, order) for name, objects in listed],
    )


def _app(name: str, objects: list[ObjectDiff], order: Mapping[str, int]) -> AppDiff:
    return AppDiff(name, "change" if name in order else "remove", objects)


class _Look:
    """Compares single objects with the cluster."""

    def __init__(self, api: KubeApi, prepared: Prepared) -> None:
        self._api = api
        self._prepared = prepared
        self._rendered = {o.id: o for o in prepared.scoped.platform.objects()}
        self._scaled = scaled_by_others(
            (o.id, o.object())
            for o in self._rendered.values()
            if o.id.kind == "HorizontalPodAutoscaler"
        )

    def file(self, id_: ObjectId) -> str:
        found = self._rendered.get(id_)
        return found.file if found else ""

    async def changed(self, action: Action) -> ObjectDiff | None:
        """Return how an object would change; None when it would not."""
        rendered = self._rendered[action.id]
        resource = self._resource(rendered)
        live = await self._api.find(resource, action.id.name, action.id.namespace or None)
        if live is None:
            return ObjectDiff("add", action.id, rendered.file)
        try:
            new = await self._dry_run(rendered, resource)
        except Invalid as error:
            return _refused(rendered, live, error)
        except ApiError as error:
            if error.code not in {403, 404, 500}:
                raise
            # a namespace, a kind or a webhook's server that the apply itself brings
            note = f"the API server cannot say what it would become: {error.message}"
            return ObjectDiff("change", action.id, rendered.file, note=note)
        return self._compare(action, rendered.file, _quiet(live), _quiet(new))

    def _compare(
        self, action: Action, file: str, live: Manifest, new: Manifest
    ) -> ObjectDiff | None:
        if action.id.kind == CRD:
            both = compare_parsed(live, new)
            one = ObjectDiff("change", action.id, file, both.changes, both.schemas)
            live, new = both.old, both.new
        else:
            changes = diff(live, new, semantic=True, mask=True)
            one = ObjectDiff("change", action.id, file, changes)
        one.changes = [change for change in one.changes if change.path != MARK]
        fields = self._prepared.inspected.conflicts.get(action.id, ())
        others = sorted({owned.manager for owned in fields})
        if action.verb == "adopt":
            one.note = f"{action.reason}; `argosy apply --adopt` takes it over"
        elif others:
            one.note = f"changed by {', '.join(others)}"
        if not (one.changes or one.schemas or action.verb == "adopt"):
            return None
        one.risks = change_risks(action.id, live, new, one.schemas)
        return one

    async def _dry_run(self, rendered: RenderedObject, resource: Resource) -> Manifest:
        wanted = self._prepared.wanted[rendered.id]
        body = payload(
            rendered, wanted.part_of, namespaced=resource.namespaced, scaled=self._scaled
        )
        return await self._api.apply(
            body,
            resource=resource,
            name=rendered.id.name,
            namespace=rendered.id.namespace,
            dry_run=True,
            force=True,
        )

    def _resource(self, rendered: RenderedObject) -> Resource:
        known = self._prepared.scoped.resources[rendered.id]
        version = known.version
        if rendered.id.kind != CRD:
            version = str(rendered.object().get("apiVersion", "")).rpartition("/")[2]
        return self._prepared.index.find(known.group, version, known.kind) or known


def _refused(rendered: RenderedObject, live: Manifest, error: Invalid) -> ObjectDiff:
    """Return how an object would change if the API server took it: by what is rendered alone."""
    wanted = rendered.object()
    changes = diff(_part(live, wanted), wanted, semantic=True, mask=True)
    return ObjectDiff(
        "change",
        rendered.id,
        rendered.file,
        [change for change in changes if change.path.partition(".")[0] != "status"],
        risks=change_risks(rendered.id, live, wanted),
        note=f"the API server refuses it: {error.message}",
    )


def _part(live: Any, wanted: Any, path: tuple[str, ...] = (), kind: str = "") -> Any:
    """Return what a live object holds of the fields that are wanted."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        kind = kind or str(wanted.get("kind", ""))
        return {
            key: _part(live[key], value, (*path, key), kind)
            for key, value in wanted.items()
            if key in live
        }
    if isinstance(wanted, list) and isinstance(live, list):
        keys = find_keys(path, kind, live, wanted)
        if keys is not None:
            named = dict(zip(matches(wanted, keys), wanted, strict=True))
            return [
                _part(item, named[name], path, kind) if name in named else item
                for name, item in zip(matches(live, keys), live, strict=True)
            ]
    return live


def _quiet(obj: Manifest) -> Manifest:
    """Return an object without what the server writes on its own."""
    metadata = {key: v for key, v in (obj.get("metadata") or {}).items() if key not in NOISE}
    return {**{key: v for key, v in obj.items() if key != "status"}, "metadata": metadata}
