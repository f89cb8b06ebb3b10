"""Rehearse an upgrade: the old tree, then the new one, on a fresh simulated cluster.

What a real API server accepts, refuses and cannot patch is found out here instead of in
production, with the order, the hazards and what had to be replaced, as a report for the pull
request. Nobody else's cluster is touched. What is not rehearsed: data, images, and what webhooks
would say, since simulated pods run no code.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import tarfile
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from argosy import yaml
from argosy.dev import cluster
from argosy.errors import ArgosyError, OutsideError, UsageError
from argosy.kube import KubeApi, load_kubeconfig
from argosy.manifests import split
from argosy.platform.apply import Applying, prepare
from argosy.platform.hazards import short
from argosy.platform.model import RenderedApp, RenderedObject, RenderedPlatform
from argosy.platform.plan import Options, Plan
from argosy.platform.tree import RENDERED, load_rendered, read_index
from argosy.platform.withheld import Withheld
from argosy.progress import NO_PROGRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argosy.platform.inspect import Inspected
    from argosy.progress import Progress

__all__ = ["Rehearsal", "RehearsalError", "rehearse", "report_lines"]

TASK = "rehearse"
NO_BUDGET = 1_000_000  # a rehearsal deletes what it must; the report says how much that was
GIT_TIMEOUT = 60.0  # seconds; an archive of a thousand small files takes a fraction of one


class RehearsalError(UsageError):
    """There is nothing to rehearse."""


@dataclass
class Rehearsal:
    """What a rehearsal found.

    Attributes:
        cluster: the name of the cluster that it was played on, and that is gone.
        before: what was applied first, such as `HEAD (3 apps, 120 objects)`; "" for a first
            installation.
        plan: what the new tree changes, in the order of kinds.
        inspected: the fields that change.
        replaced: objects that cannot be patched, by the name that `--replace` takes.
        refusals: what stops the upgrade, replaced objects apart; empty when it goes through.
        failed: why the upgrade did not come to its end although nothing refused it.
        seconds: what each part took.
    """

    cluster: str = ""
    before: str = ""
    plan: Plan = field(default_factory=lambda: Plan([], []))
    inspected: Inspected | None = None
    replaced: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    failed: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Say whether the upgrade came to its end."""
        return not self.refusals and not self.failed


def rehearse(
    root: Path,
    env: str,
    *,
    rev: str,
    cache: Path,
    environ: Mapping[str, str],
    progress: Progress = NO_PROGRESS,
) -> Rehearsal:
    """Apply the tree of a commit, then the one on disk, to a cluster of its own; remove that.

    Args:
        root: the platform's directory.
        env: the environment.
        rev: the commit to start from, by any name that git knows it by.
        cache: the cache's root.
        environ: the process environment.
        progress: told of each part.

    Raises:
        RehearsalError: there is no such commit.
        TreeError: nothing is rendered.
        OutsideError: git failed, or the cluster did not start.
    """
    new = _with_secrets(root, env, load_rendered(root, env))
    old = _old_tree(root, env, rev, environ=environ)
    found = Rehearsal()
    if old is not None:
        count = sum(len(app.objects) for app in old.apps)
        found.before = f"{rev} ({len(old.apps)} apps, {count} objects)"
    name = found.cluster = f"rehearse-{uuid.uuid4().hex[:8]}"
    try:
        with _timed(found, "cluster"):
            up = cluster.up(name, env=environ, cache=cache, progress=progress)
        config = load_kubeconfig(up.kubeconfig, None, environ)
        asyncio.run(_play(found, KubeApi(config), old, new, progress))
    finally:
        cluster.down(name, delete=True, env=environ, cache=cache)
    return found


async def _play(
    found: Rehearsal,
    api: KubeApi,
    old: RenderedPlatform | None,
    new: RenderedPlatform,
    progress: Progress,
) -> None:
    async with api:
        if old is not None:
            progress.start("apply the old tree")
            with _timed(found, "old"):
                try:
                    await Applying(api, await prepare(api, old)).run()
                except ArgosyError as error:
                    found.failed = f"the old tree does not apply: {error}"
                    return
            progress.finish("apply the old tree")
        progress.start("apply the new tree")
        options = Options(prune=True, budget=NO_BUDGET)
        prepared = await prepare(api, new, options=options)
        stuck = sorted({short(h.id) for h in prepared.plan.hazards if h.code == "immutable-field"})
        if stuck:
            options = msgspec.structs.replace(options, replace=frozenset(stuck))
            prepared = await prepare(api, new, options=options)
        found.plan, found.inspected = prepared.plan, prepared.inspected
        found.replaced, found.refusals = tuple(stuck), tuple(prepared.plan.refusals)
        with _timed(found, "new"):
            if not found.refusals:
                try:
                    await Applying(api, prepared).run()
                except ArgosyError as error:
                    found.failed = str(error)
        progress.finish("apply the new tree", "passed" if found.passed else "failed")


def report_lines(found: Rehearsal) -> list[str]:
    """Return the report as Markdown, for a pull request."""
    from argosy.platform.plan_text import plan_lines

    verdict = "passes" if found.passed else "**does not pass**"
    start = f"from {found.before}" if found.before else "as a first installation"
    lines = [f"## Rehearsal: the upgrade {verdict}", "", f"On a fresh cluster, {start}.", ""]
    lines += [f"- **refused**: {text}" for text in found.refusals]
    lines += [f"- **failed**: {found.failed}"] if found.failed else []
    lines += [
        f"- must be replaced (deleted and made anew): `--replace {name}`" for name in found.replaced
    ]
    lines += [
        f"- {hazard.severity}: {hazard.id} {hazard.path}: {hazard.message}; {hazard.advice}"
        for hazard in found.plan.hazards
        if hazard.severity != "blocks"
    ]
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found.seconds.items())
    lines += ["", f"{found.plan.summary()}. {times}.", "", "```"]
    if found.inspected is not None:
        lines += plan_lines(found.plan, found.inspected)
    return [*lines, "```"]


class _timed:  # noqa: N801  # used as a statement
    def __init__(self, found: Rehearsal, name: str) -> None:
        self._found = found
        self._name = name

    def __enter__(self) -> None:
        self._started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._found.seconds[self._name] = time.monotonic() - self._started


def _old_tree(
    root: Path, env: str, rev: str, *, environ: Mapping[str, str]
) -> RenderedPlatform | None:
    """Return the rendered tree of a commit, or None when the commit has none."""
    _git(root, ["rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}"], environ, missing=rev)
    folder = f"{RENDERED}/{env}"
    listed = _git(root, ["ls-tree", "--name-only", rev, f"./{folder}/"], environ)
    if not listed.strip():
        return None
    archive = _git(root, ["archive", "--format=tar", rev, folder], environ)
    with tempfile.TemporaryDirectory(prefix="argosy-rehearse-") as place:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(place, filter="data")
        old = load_rendered(Path(place), env)
        return _with_secrets(Path(place), env, old, store=root)


def _git(
    root: Path, arguments: list[str], environ: Mapping[str, str], *, missing: str = ""
) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            env={**environ, "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutsideError(f"git does not run: {error}") from error
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if missing and not said:
        raise RehearsalError(f"there is no commit {missing!r}", hint="name one with --from")
    raise RehearsalError(f"git: {said[-1].removeprefix('fatal: ') if said else 'failed'}")


def _with_secrets(
    tree: Path, env: str, platform: RenderedPlatform, *, store: Path | None = None
) -> RenderedPlatform:
    """Add the Secrets that the tree leaves out; one that is not on this machine gets no values.

    Simulated pods read no values, so the rehearsal needs nobody's passwords.
    """
    index = read_index(tree, env)
    withheld = Withheld(store or tree, env)
    apps = []
    for app in platform.apps:
        names = index.apps[app.name].secrets if index else ()
        secrets = [_secret(name, app.name, withheld) for name in names if not _has(app, name)]
        apps.append(RenderedApp(app.name, app.needs, (*app.objects, *secrets)))
    return RenderedPlatform(
        platform.name, platform.env, platform.kubernetes, tuple(apps), platform.release
    )


def _has(app: RenderedApp, name: str) -> bool:
    return any(
        o.id.kind == "Secret" and f"{o.id.namespace}/{o.id.name}" == name for o in app.objects
    )


def _secret(full: str, app: str, withheld: Withheld) -> RenderedObject:
    namespace, _, name = full.partition("/")
    file = withheld.store.folder / f"{namespace}_{name}.yaml"
    if file.is_file():
        text = file.read_text(encoding="utf-8")
    else:
        metadata = {"name": name, "namespace": namespace}
        text = yaml.dump({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    document = split(text, file=str(file))[0]
    return RenderedObject(document.id, str(file), text, document.digest, app)
