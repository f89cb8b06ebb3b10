"""Find kustomize and helm, and run one build: text out, or one sentence in.

Engines are found on PATH, then in argosy's cache (`<cache>/bin`); kustomize may also be kubectl's
own. The version is checked: kustomize 5.4, helm 3.14. A run gets an argument list, a folder, and
an environment of its own that holds nothing of the user's engine configuration. Builds are
coroutines, so that several run at a time; a cancelled one kills its process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from argosy.sources.engine_errors import explain, told
from argosy.sources.errors import EngineError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Engine", "Tuning", "build", "find_helm", "find_kustomize", "run_engine", "template"]

KUSTOMIZE_LEAST = (5, 4)
HELM_LEAST = (3, 14)
MEMORY_LIMIT = 4 << 30  # bytes of address space; the largest part of Kubeflow takes 1.3 GiB of it
VERSION_TIMEOUT = 30.0  # seconds; a first start from a cold disk takes one
BUILD_TIMEOUT = 600.0  # seconds; the slowest component of Kubeflow takes three
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


class Engine(NamedTuple):
    """An engine that was found: its kind, how to call it, and its version."""

    name: str
    command: tuple[str, ...]
    version: str


class Tuning(NamedTuple):
    """The Go runtime's settings for a run; None leaves Go's own default.

    A higher `gogc` is faster and takes more memory, within `memory_limit` ("250MiB"), which Go
    tries to keep; `address_space` (bytes) is what the system lets a run have at most.
    """

    gogc: int | None = None
    maxprocs: int | None = None
    memory_limit: str | None = None
    address_space: int = MEMORY_LIMIT

    def environment(self) -> dict[str, str]:
        """Return the settings as Go reads them."""
        values = {
            "GOGC": self.gogc,
            "GOMAXPROCS": self.maxprocs,
            "GOMEMLIMIT": self.memory_limit,
        }
        return {key: str(value) for key, value in values.items() if value is not None}


DEFAULT_TUNING = Tuning()


def find_kustomize(*, env: Mapping[str, str], cache: Path) -> Engine:
    """Return kustomize: the command on PATH, argosy's own build, or kubectl's.

    Raises:
        EngineError: none is there, or all are older than 5.4.
    """
    tried: list[str] = []
    for command in _candidates("kustomize", env, cache):
        engine = _kustomize(command, env)
        if _enough(engine, KUSTOMIZE_LEAST):
            return engine
        tried.append(f"{command} is version {engine.version}")
    kubectl = shutil.which("kubectl", path=env.get("PATH"))
    if kubectl:
        engine = _kubectl(kubectl, env)
        if _enough(engine, KUSTOMIZE_LEAST):
            return engine
        tried.append(f"{kubectl} has kustomize {engine.version}")
    raise EngineError(
        "kustomize 5.4 or newer is needed" + "".join(f"; {one}" for one in tried),
        hint="install it, or let `argosy dev tools` build it",
    )


def find_helm(*, env: Mapping[str, str], cache: Path) -> Engine:
    """Return helm: the command on PATH, or argosy's own build.

    Raises:
        EngineError: none is there, or all are older than 3.14.
    """
    tried: list[str] = []
    for command in _candidates("helm", env, cache):
        output = _ask([command, "version", "--template", "{{.Version}}"], env)
        engine = Engine("helm", (command,), _number(output, command))
        if _enough(engine, HELM_LEAST):
            return engine
        tried.append(f"{command} is version {engine.version}")
    raise EngineError(
        "helm 3.14 or newer is needed" + "".join(f"; {one}" for one in tried),
        hint="install it, or let `argosy dev tools` build it",
    )


def _candidates(name: str, env: Mapping[str, str], cache: Path) -> Iterable[str]:
    found = shutil.which(name, path=env.get("PATH"))
    if found:
        yield found
    own = cache / "bin" / name
    if own.is_file() and os.access(own, os.X_OK):
        yield str(own)


def _kustomize(command: str, env: Mapping[str, str]) -> Engine:
    return Engine("kustomize", (command,), _number(_ask([command, "version"], env), command))


def _kubectl(command: str, env: Mapping[str, str]) -> Engine:
    output = _ask([command, "version", "--client", "-o", "json"], env)
    try:
        version = str(json.loads(output)["kustomizeVersion"])
    except (ValueError, KeyError, TypeError):
        version = "0.0.0"
    return Engine("kubectl", (command, "kustomize"), _number(version, command))


def _ask(command: list[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            env=_environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} does not run: {error}") from error
    return done.stdout


def _number(output: str, command: str) -> str:
    found = _VERSION.search(output)
    if not found:
        raise EngineError(f"{command} does not say its version", hint=f"it said: {output[:80]!r}")
    return ".".join(found.groups())


def _enough(engine: Engine, least: tuple[int, ...]) -> bool:
    return tuple(int(part) for part in engine.version.split(".")) >= least


def _environment(env: Mapping[str, str], tuning: Tuning = DEFAULT_TUNING) -> dict[str, str]:
    """Return what an engine may know: PATH, HOME and temporary folders, no configuration.

    A build fetches nothing, even where a reference escaped the lock: git has no transport, and
    the proxy is a port that nobody listens on.
    """
    kept = {key: env[key] for key in ("PATH", "HOME", "TMPDIR") if key in env}
    return {**kept, **_OFFLINE, "LC_ALL": "C.UTF-8", **tuning.environment()}


_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "none",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
}


async def build(
    engine: Engine,
    folder: Path,
    *,
    env: Mapping[str, str],
    root: Path | None = None,
    app: str = "",
    tuning: Tuning = DEFAULT_TUNING,
    helm: Engine | None = None,
) -> str:
    """Build a kustomization folder and return its manifests.

    Kustomize keeps its own restriction of files to their kustomization's folder.

    Args:
        engine: from `find_kustomize`.
        folder: what to build.
        env: the user's environment, of which little is passed on.
        root: the workspace; messages name files relative to it.
        app: named in messages.
        tuning: Go runtime settings.
        helm: given when the kustomization inflates charts of its own tree.

    Raises:
        EngineError: kustomize failed; the message is its own.
    """
    command = [*engine.command]
    if engine.name == "kustomize":
        command.append("build")
    if helm is not None:
        command += ["--enable-helm", "--helm-command", helm.command[0]]
    # The folder as an argument, not as working directory: kustomize then names files in full.
    command.append(str(folder))
    output = await run_engine(
        command,
        cwd=folder,
        env=_environment(env, tuning),
        app=app,
        root=root or folder,
        address_space=tuning.address_space,
    )
    return output.decode()


async def template(
    engine: Engine,
    chart: Path,
    *,
    release: str,
    namespace: str,
    kube_version: str,
    api_versions: Sequence[str] = (),
    values: Sequence[Path] = (),
    env: Mapping[str, str],
    app: str = "",
    tuning: Tuning = DEFAULT_TUNING,
    twice: bool = False,
) -> str:
    """Render a chart (a folder or a .tgz) without a cluster and return its manifests.

    Args:
        engine: from `find_helm`.
        chart: the locked chart.
        release: the release's name.
        namespace: the release's namespace.
        kube_version: what `.Capabilities.KubeVersion` says.
        api_versions: what `.Capabilities.APIVersions` says besides.
        values: files, later ones win.
        env: the user's environment, of which little is passed on.
        app: named in messages.
        tuning: Go runtime settings.
        twice: render again and refuse a chart whose output differs.

    Raises:
        EngineError: helm failed, or the chart invents something anew on each run.
    """
    command = [*engine.command, "template", release, str(chart), "--namespace", namespace]
    command += ["--kube-version", kube_version, "--include-crds", "--skip-tests"]
    for version in api_versions:
        command += ["--api-versions", version]
    for file in values:
        command += ["--values", str(file)]
    own = {**_environment(env, tuning), **_helm_home(chart)}
    first = await run_engine(command, cwd=chart.parent, env=own, app=app, root=chart.parent)
    if twice and first != await run_engine(
        command, cwd=chart.parent, env=own, app=app, root=chart.parent
    ):
        raise EngineError(
            f"{told(app)}the chart {chart.name} renders differently each time",
            hint="it invents passwords, keys or dates; set those values",
        )
    return first.decode()


def _helm_home(chart: Path) -> dict[str, str]:
    """Keep helm away from the user's repositories, plugins and registry credentials."""
    empty = chart.parent / ".helm"
    return {
        "HELM_CONFIG_HOME": str(empty / "config"),
        "HELM_CACHE_HOME": str(empty / "cache"),
        "HELM_DATA_HOME": str(empty / "data"),
    }


async def run_engine(
    command: list[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    app: str,
    root: Path,
    address_space: int = MEMORY_LIMIT,
) -> bytes:
    """Run a command and return what it prints; a cancelled run kills it and its children.

    Raises:
        EngineError: it does not run, failed, or took longer than `BUILD_TIMEOUT`.
    """
    import asyncio  # here: a render that finds nothing to build has no use for it

    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env=dict(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise EngineError(f"{told(app)}{command[0]} does not run: {error.strerror}") from error
    _limit_memory(process.pid, address_space)
    try:
        async with asyncio.timeout(BUILD_TIMEOUT):
            output, errors = await process.communicate()
    except TimeoutError:
        await _kill(process)
        raise EngineError(
            f"{told(app)}{Path(command[0]).name} did not end within {BUILD_TIMEOUT:.0f} s"
        ) from None
    except BaseException:
        await _kill(process)
        raise
    if process.returncode == 0:
        return output
    raise explain(command[0], process.returncode, errors, root, app)


def _limit_memory(pid: int, most: int) -> None:
    """Keep a build from taking the machine's memory; a few lines of YAML can ask for all of it."""
    prlimit = getattr(resource, "prlimit", None)  # Linux alone can limit another process
    if prlimit is not None:
        with contextlib.suppress(ProcessLookupError):
            prlimit(pid, resource.RLIMIT_AS, (most, most))


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
