"""Name the steps of an upgrade that need care, before anything is changed.

Pure: looks at an old and a new object, or at all of them together. What `diff` marks, what
`apply` lists and stops for and what `rehearse` reports is decided here.

A hazard of severity `blocks` cannot be applied as it is: the API server would refuse the change.
One that is `dangerous` can, and may lose data or break what runs. `notice` is for reading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from argosy.graph import pod_template
from argosy.platform.definitions import of as definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from argosy.manifests import Manifest, ObjectId

__all__ = [
    "Hazard",
    "Severity",
    "hazards",
    "platform_hazards",
    "removal_hazard",
    "short",
    "worst_first",
]

Severity = Literal["blocks", "dangerous", "notice"]


class Hazard(NamedTuple):
    """A step that needs care.

    Attributes:
        code: a stable name, such as `immutable-field`.
        severity: what happens without care.
        id: the object.
        path: the field, "" when it is the object as a whole.
        message: one sentence: what is different.
        advice: one sentence: what to do, and what is lost.
    """

    code: str
    severity: Severity
    id: ObjectId
    path: str
    message: str
    advice: str


# (group, kind) -> the fields that the API server does not let anybody change
IMMUTABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "ReplicaSet"): ("spec.selector",),
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "StatefulSet"): (
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
        "spec.podManagementPolicy",
    ),
    ("batch", "Job"): ("spec.selector", "spec.template", "spec.completionMode"),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): (
        "provisioner",
        "parameters",
        "reclaimPolicy",
        "volumeBindingMode",
    ),
    ("", "PersistentVolumeClaim"): (
        "spec.storageClassName",
        "spec.accessModes",
        "spec.volumeMode",
        "spec.selector",
        "spec.dataSource",
    ),
    ("", "Service"): ("spec.clusterIP",),
    ("scheduling.k8s.io", "PriorityClass"): ("value", "globalDefault", "preemptionPolicy"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("spec.group", "spec.scope"),
}
LOST = {
    "StatefulSet": "its pods are restarted; its claims stay",
    "PersistentVolumeClaim": "THE DATA on its volume, unless the volume is retained",
    "CustomResourceDefinition": "EVERY custom resource of the kind",
    "Service": "its address, and the connections to it",
    "Job": "its pods and their logs",
    "StorageClass": "nothing: existing volumes keep what they have",
    "PriorityClass": "nothing: running pods keep their priority",
}
LOST_PODS = "its pods are stopped until the new ones run"


def hazards(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    """Yield what needs care when `old`, rendered or live, becomes `new`.

    Args:
        id_: which object it is.
        old: the object as it is; a definition may come without its schemas.
        new: the object as it is going to be.
    """
    yield from _immutable(id_, old, new)
    if id_.kind == "CustomResourceDefinition":
        yield from _definition(id_, old, new)
    if id_.kind == "PersistentVolumeClaim":
        yield from _shrunk(id_, old, new)
    if pod_template(new) is not None:
        yield from _databases(id_, old, new)


def _immutable(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    paths: tuple[str, ...] = IMMUTABLE.get((id_.group, id_.kind), ())
    if id_.kind in {"ConfigMap", "Secret"} and not id_.group and old.get("immutable"):
        paths = ("data", "binaryData", "stringData")
    if id_.kind == "Secret" and not id_.group:
        paths = (*paths, "type")
    for path in paths:
        was, wanted = _at(old, path), _at(new, path)
        if wanted is None or was is None or _covers(was, wanted):
            continue
        yield Hazard(
            "immutable-field",
            "blocks",
            id_,
            path,
            f"{path} cannot be changed: it is {_brief(was)}, wanted is {_brief(wanted)}",
            f"--replace {short(id_)} deletes it and makes it anew; lost: "
            f"{LOST.get(id_.kind, LOST_PODS if pod_template(new) else 'nothing else')}",
        )


def _definition(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    before, after = definition_of(id_, old), definition_of(id_, new)
    stored = (old.get("status") or {}).get("storedVersions") or [before.storage]
    for version in stored:
        if version and version not in after.versions:
            yield Hazard(
                "crd-stored-version",
                "blocks",
                id_,
                "status.storedVersions",
                f"objects are still stored as {version}, which the new definition does not have",
                f"write every {after.kind} anew in {after.storage} (read and replace it), then "
                f"take {version} out of status.storedVersions",
            )
    for version, served in before.versions.items():
        if version in stored and version not in after.versions:
            continue
        if served and not after.versions.get(version):
            yield Hazard(
                "crd-version-removed",
                "dangerous",
                id_,
                "spec.versions",
                f"version {version} is served no longer",
                f"clients that ask for {version} fail; the new storage version is {after.storage}",
            )
    if before.storage and after.storage and before.storage != after.storage:
        yield Hazard(
            "crd-storage-version",
            "notice",
            id_,
            "spec.versions",
            f"the storage version changes from {before.storage} to {after.storage}",
            "objects are converted when they are next written",
        )


_QUANTITY = re.compile(r"^(\d+(?:\.\d+)?)([KMGTPE]i?|m)?$")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def _shrunk(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    path = "spec.resources.requests.storage"
    was, wanted = _size(_at(old, path)), _size(_at(new, path))
    if wanted and was and wanted < was:
        yield Hazard(
            "pvc-shrinks",
            "blocks",
            id_,
            path,
            f"a claim cannot shrink: it asks for {_at(old, path)}, wanted is {_at(new, path)}",
            "keep the larger size in an overlay, or move the data to a new claim",
        )


def _size(value: Any) -> float | None:
    found = _QUANTITY.match(str(value or ""))
    if not found:
        return None
    unit = found[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    return float(found[1]) * float(base ** _POWERS.get(unit.removesuffix("i"), 0))


# image name -> what its data directory is called by people
DATABASES = {"mysql": "MySQL", "mariadb": "MariaDB", "postgres": "PostgreSQL", "mongo": "MongoDB"}


def _databases(id_: ObjectId, old: Manifest, new: Manifest) -> Iterator[Hazard]:
    was, wanted = _images(old), _images(new)
    for container, image in wanted.items():
        name, version = _name_version(image)
        old_name, old_version = _name_version(was.get(container, ""))
        title = DATABASES.get(name)
        if (
            title is None
            or old_name != name
            or _series(name, version) == _series(name, old_version)
        ):
            continue
        yield Hazard(
            "database-major-version",
            "dangerous",
            id_,
            f"spec.template.spec.containers[name={container}].image",
            f"{title} goes from {old_version} to {version}: its data directory is upgraded at the "
            "first start and cannot go back",
            "back the database up (a dump, not a copy of the files) before you go on",
        )


def _images(obj: Manifest) -> dict[str, str]:
    template = pod_template(obj)
    if template is None:
        return {}
    return {c.get("name", ""): str(c.get("image", "")) for c in template.spec["containers"] or ()}


def _name_version(image: str) -> tuple[str, str]:
    plain = image.partition("@")[0]
    name, _, version = plain.rpartition("/")[2].partition(":")
    return name, version


def _series(name: str, version: str) -> tuple[str, ...]:
    """Return the part of a version within which data directories are the same."""
    parts = tuple(version.partition("-")[0].split("."))
    # MySQL 8.0 and 8.4 differ in their data dictionary, PostgreSQL 16.1 and 16.4 do not
    return parts[:2] if name in {"mysql", "mariadb", "mongo"} else parts[:1]


def platform_hazards(
    old: Mapping[ObjectId, Manifest], new: Mapping[ObjectId, Manifest]
) -> Iterator[Hazard]:
    """Yield what needs care when one set of workloads becomes another.

    Args:
        old: workloads (Deployments, StatefulSets) as they are, live or rendered.
        new: workloads as they are going to be.
    """
    gone = {id_: obj for id_, obj in old.items() if id_ not in new}
    stores = [id_ for id_, obj in new.items() if _runs(obj, "seaweedfs")]
    for id_, obj in gone.items():
        if _runs(obj, "minio") and stores:
            yield Hazard(
                "minio-to-seaweedfs",
                "dangerous",
                id_,
                "",
                f"MinIO goes and {stores[0]} takes its place: what is stored in MinIO's buckets "
                "(pipeline artifacts, logs) is not copied",
                "copy the buckets (mc mirror, rclone) while both run, before you prune MinIO",
            )


def _runs(obj: Manifest, product: str) -> bool:
    return any(product in image.rpartition("/")[2] for image in _images(obj).values())


REMOVALS = {
    "CustomResourceDefinition": "every custom resource of the kind is deleted with it",
    "Namespace": "everything in it is deleted with it",
    "PersistentVolumeClaim": "the data on its volume is deleted, unless the volume is retained",
    "Profile": "the user's namespace and all that is in it is deleted with it",
    "StatefulSet": "its pods stop; its claims stay behind",
}


def removal_hazard(id_: ObjectId) -> Hazard | None:
    """Return what needs care when an object goes, None when nothing does."""
    if id_[:2] == ("", "Service"):
        host = f"{id_.name}.{id_.namespace}"
        return Hazard(
            "service-removed",
            "notice",
            id_,
            "",
            f"nothing answers at {host} any more",
            f"look for {host} in what people have stored: workflows, notebooks, model servers",
        )
    lost = REMOVALS.get(id_.kind)
    if lost is None:
        return None
    severity: Severity = "notice" if id_.kind == "StatefulSet" else "dangerous"
    return Hazard("removal", severity, id_, "", f"it goes: {lost}", "keep it unless you are sure")


def short(id_: ObjectId) -> str:
    """Return an object's name as options take it: `KIND/NAME` or `KIND/NAMESPACE/NAME`."""
    return "/".join(part for part in (id_.kind, id_.namespace, id_.name) if part)


def _at(node: Any, path: str) -> Any:
    for step in path.split("."):
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _covers(was: Any, wanted: Any) -> bool:
    """Say whether all that is wanted is there; the server adds defaults to what it stores."""
    if isinstance(wanted, dict) and isinstance(was, dict):
        return all(
            key in was and _covers(was[key], value)
            for key, value in wanted.items()
            if value is not None and key not in {"creationTimestamp", "status"}
        )
    if isinstance(wanted, list) and isinstance(was, list):
        return len(was) == len(wanted) and all(map(_covers, was, wanted))
    if isinstance(wanted, str | int) and isinstance(was, str | int):
        return str(wanted) == str(was) or (_size(was) is not None and _size(was) == _size(wanted))
    return bool(was == wanted)


def _brief(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(v)}" for key, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def worst_first(found: Iterable[Hazard]) -> list[Hazard]:
    """Return hazards with those that stop an apply in front."""
    order = ("blocks", "dangerous", "notice")
    return sorted(found, key=lambda h: (order.index(h.severity), h.id, h.path))
