"""Build a tool of ours from its Go module, once, into the cache.

`ensure("kustomize" | "helm" | "cluster")` returns the path of the binary. It is built when the
module's files have changed since the last build; what they were is remembered by size and time of
change, so that the usual answer costs a few `stat` calls. Two builds of one tool wait for each
other; an interrupted one leaves nothing that would be taken for a binary.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from argosy.dev.errors import BuildFailed
from argosy.dev.golang import get_go, required_version
from argosy.dev.places import cache_root, module_folder
from argosy.errors import UsageError
from argosy.progress import NO_PROGRESS, Progress
from argosy.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TOOLS", "Tool", "ensure", "ensure_tool"]


class Missing(NamedTuple):
    """A file that a published module lacks, because its own build copies it from another."""

    module: str
    file: str
    like: str


class Tool(NamedTuple):
    """What a tool is built from."""

    binary: str
    module: str  # folder of its Go module
    package: str  # what `go build` is asked for
    packages: int  # how many a cold build compiles, for the progress bar
    ldflags: str = "-s -w"
    missing: Missing | None = None


VERSION = "k8s.io/component-base/version"
TOOLS = {
    "cluster": Tool(
        "argosy-devcluster",
        "devcluster",
        ".",
        2300,
        # without a version kubectl prints a parse error at every call
        f"-s -w -X {VERSION}.gitVersion=v1.35.4 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=35"
        f" -X {VERSION}.gitTreeState=clean -X {VERSION}.gitCommit=argosy-devcluster",
    ),
    "kustomize": Tool(
        "kustomize",
        "tools/kustomize",
        "sigs.k8s.io/kustomize/kustomize/v5",
        420,
        "-s -w -X sigs.k8s.io/kustomize/api/provenance.version=v5.8.2",
    ),
    "helm": Tool(
        "helm",
        "tools/helm",
        "helm.sh/helm/v3/cmd/helm",
        1300,
        "-s -w -X helm.sh/helm/v3/internal/version.version=v3.21.4",
    ),
    "argoexec": Tool(
        "argoexec",
        "tools/argoexec",
        "github.com/argoproj/argo-workflows/v3/cmd/argoexec",
        2100,
        missing=Missing(
            "github.com/argoproj/argo-workflows/v3",
            "workflow/executor/osspecific/signal_linux.go",
            "workflow/executor/osspecific/signal_darwin.go",
        ),
    ),
    "tekton-entrypoint": Tool(
        "tekton-entrypoint",
        "tools/tekton-entrypoint",
        "github.com/tektoncd/pipeline/cmd/entrypoint",
        900,
    ),
}


def ensure(
    name: str,
    *,
    cache: Path | None = None,
    env: Mapping[str, str],
    progress: Progress = NO_PROGRESS,
) -> Path:
    """Return the binary of the tool `name`, building it when it is not there or out of date.

    Raises:
        UsageError: there is no such tool.
        NoGo: there is no Go, and none could be installed.
        BuildFailed: Go refused.
    """
    if name not in TOOLS:
        raise UsageError(f"there is no tool {name!r}", hint=did_you_mean(name, TOOLS) or None)
    return ensure_tool(TOOLS[name], cache=cache, env=env, progress=progress)


def ensure_tool(
    tool: Tool,
    *,
    cache: Path | None = None,
    env: Mapping[str, str],
    progress: Progress = NO_PROGRESS,
) -> Path:
    """Return the binary of `tool`, as `ensure` does for those that have a name.

    Raises:
        NoGo: there is no Go, and none could be installed.
        BuildFailed: Go refused.
    """
    module = module_folder(tool.module)
    place = (cache or cache_root(env)) / "bin"
    link, stamp = place / tool.binary, place / f".{tool.binary}.stamp"
    state = _state(module, tool)
    if _current(stamp, state) and link.exists():
        return link
    place.mkdir(parents=True, exist_ok=True)
    with _alone(place / f".{tool.binary}.lock", tool, progress):
        if _current(stamp, state) and link.exists():
            return link
        binary = place / f"{tool.binary}-{_digest(module, tool)}"
        if not binary.exists():
            _build(tool, module, binary, env=env, progress=progress)
        _point(link, binary)
        _write(stamp, state)
        _forget_old(place, tool, binary)
    return link


def _sources(module: Path) -> list[Path]:
    return sorted(p for p in module.rglob("*") if p.is_file() and not p.name.startswith("."))


def _state(module: Path, tool: Tool) -> str:
    """Return what has to be the same for a build to be taken as done."""
    files = [
        (str(p.relative_to(module)), (s := p.stat()).st_size, s.st_mtime_ns)
        for p in _sources(module)
    ]
    return json.dumps([str(module), tool.package, tool.ldflags, files])


def _digest(module: Path, tool: Tool) -> str:
    digest = hashlib.sha256(f"{tool.package}\0{tool.ldflags}".encode())
    for path in _sources(module):
        digest.update(f"\0{path.relative_to(module)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _current(stamp: Path, state: str) -> bool:
    try:
        return stamp.read_text() == state
    except FileNotFoundError:
        return False


@contextmanager
def _alone(lock: Path, tool: Tool, progress: Progress) -> Iterator[None]:
    """Hold the tool's lock; say so when another process builds it already."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            task = f"wait for another build of {tool.binary}"
            progress.start(task)
            fcntl.flock(file, fcntl.LOCK_EX)
            progress.finish(task)
        yield


def _build(
    tool: Tool, module: Path, binary: Path, *, env: Mapping[str, str], progress: Progress
) -> None:
    cache = binary.parent.parent
    go = get_go(required_version(module), cache=cache, env=env, progress=progress)
    with tempfile.TemporaryDirectory(dir=binary.parent, prefix=".build-") as scratch:
        copy, made = Path(scratch) / "module", Path(scratch) / tool.binary
        shutil.copytree(module, copy)  # the packaged modules may be read-only
        command = [str(go.command), "build", "-v", "-trimpath", "-mod=readonly", "-buildvcs=false"]
        variables = {**env, **go.env, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}
        if tool.missing:
            _complete(tool.missing, go.command, copy, variables)
        command += ["-ldflags", tool.ldflags, "-o", str(made), tool.package]
        _run(command, copy, variables, tool, progress)
        made.replace(binary)


def _complete(missing: Missing, go: Path, folder: Path, env: Mapping[str, str]) -> None:
    """Build from a copy of the module that has the file: go.mod in `folder` is made to say so."""
    answer = subprocess.run(
        [str(go), "mod", "download", "-json", missing.module],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise BuildFailed(f"{missing.module} could not be had: {answer.stderr.strip()}")
    copy = folder.parent / "completed"
    shutil.copytree(json.loads(answer.stdout)["Dir"], copy)
    target = copy / missing.file
    target.parent.chmod(0o755)  # Go's module cache is read-only
    shutil.copyfile(copy / missing.like, target)
    with (folder / "go.mod").open("a") as file:
        file.write(f"\nreplace {missing.module} => {copy}\n")


def _run(
    command: list[str], folder: Path, env: Mapping[str, str], tool: Tool, progress: Progress
) -> None:
    task = f"build {tool.binary}"
    progress.start(task, total=tool.packages)
    said: list[str] = []
    with subprocess.Popen(
        command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True, process_group=0
    ) as go:
        try:
            for line in go.stderr or ():
                text = line.rstrip()
                if " " in text or text.startswith("#"):
                    said.append(text)  # a download, or what the compiler says
                    progress.message(task, text)
                else:
                    progress.advance(task)
                    progress.message(task, text)
        except BaseException:
            os.killpg(go.pid, 9)
            raise
    if go.returncode:
        progress.finish(task, "failed")
        reasons = [line for line in said if not line.startswith("go: downloading")]
        raise BuildFailed(f"{tool.binary} could not be built: " + "; ".join(reasons[-5:]))
    progress.finish(task)


def _point(link: Path, binary: Path) -> None:
    with tempfile.TemporaryDirectory(dir=link.parent, prefix=".link-") as scratch:
        fresh = Path(scratch) / link.name
        fresh.symlink_to(binary.name)
        fresh.replace(link)


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".new-", delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _forget_old(place: Path, tool: Tool, keep: Path) -> None:
    """Delete all but the newest three builds: other checkouts may share the cache."""
    builds = sorted(place.glob(f"{tool.binary}-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in builds[3:]:
        if old != keep:
            old.unlink(missing_ok=True)
