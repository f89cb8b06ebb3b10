"""Read the two rendered trees that a diff compares: the one in git, and the one on disk.

A tree in git is listed by its blobs' names, which are digests of their content; the files on disk
are given the same names, so that only what differs is ever read from git. Refuses a directory
that is not in a git repository, and revisions that do not exist.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from argosy.errors import OutsideError, UsageError
from argosy.platform.tree import RENDERED, Index, TreeError, read_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["DiffError", "Side", "folder_side", "git_side", "read_blobs"]

GIT_TIMEOUT = 120.0  # seconds; a partial clone may have to fetch the blobs
INDEX = "index.json"


class DiffError(UsageError):
    """What a diff was asked to compare with is not there."""


@dataclass(frozen=True)
class Side:
    """One of the two trees.

    Attributes:
        title: what it is, for people: `HEAD (3d39331)`, `rendered/default`.
        commit: the commit that it was read from, "" for the disk.
        index: what was rendered from what; None when there was no readable index.
        files: (app, file name) to the name that git gives the content.
    """

    title: str
    commit: str
    index: Index | None
    files: Mapping[tuple[str, str], str]


def git_side(root: Path, env: str, rev: str, *, environ: Mapping[str, str]) -> Side:
    """Return the rendered tree of an environment in a commit.

    Args:
        root: the platform's directory.
        env: the environment.
        rev: any name that git knows a commit by.
        environ: the process environment, for git.

    Raises:
        DiffError: the directory is not in a repository, or there is no such commit.
        OutsideError: git is not there or failed.
    """
    commit = _commit(root, rev, environ)
    folder = f"{RENDERED}/{env}/"
    listed = _git(root, ["ls-tree", "-r", "-z", commit, "--", folder], environ)
    files: dict[tuple[str, str], str] = {}
    index_blob = ""
    for line in listed.decode().split("\0"):
        meta, _, path = line.partition("\t")
        app, slash, name = path.removeprefix(folder).partition("/")
        if slash and meta.startswith("100"):
            files[app, name] = meta.split(" ")[2]
        elif app == INDEX:
            index_blob = meta.split(" ")[2]
    index = None
    if index_blob:
        index = _decode(read_blobs(root, [index_blob], environ=environ)[index_blob])
    named = rev if commit.startswith(rev) else f"{rev} ({commit[:10]})"
    return Side(named, commit, index, files)


def folder_side(root: Path, env: str, *, like: str = "") -> Side:
    """Return the rendered tree on disk.

    Args:
        root: the platform's directory.
        env: the environment.
        like: a name that git gave some content: the files get names of the same kind.

    Raises:
        TreeError: there is no tree, or a file of it is missing.
    """
    index = read_index(root, env)
    if index is None:
        asked = f" --env {env}" if env != "default" else ""
        raise TreeError(
            f"there is no rendered tree in {RENDERED}/{env}", hint=f"run `argosy render{asked}`"
        )
    algorithm = "sha256" if len(like) == 64 else "sha1"
    files: dict[tuple[str, str], str] = {}
    for app, entry in index.apps.items():
        for name in entry.files:
            path = root / RENDERED / env / app / name
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                missing = path.relative_to(root)
                raise TreeError(f"{missing} is missing", hint="run `argosy render`") from None
            files[app, name] = _blob_name(content, algorithm)
    return Side(f"{RENDERED}/{env}", "", index, files)


def read_blobs(root: Path, names: Iterable[str], *, environ: Mapping[str, str]) -> dict[str, bytes]:
    """Return the contents of blobs by name, with one run of git.

    Raises:
        OutsideError: git failed, or does not have one of them.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    output = _git(root, ["cat-file", "--batch"], environ, stdin="\n".join(wanted) + "\n")
    found: dict[str, bytes] = {}
    at = 0
    for name in wanted:
        end = output.index(b"\n", at)
        head = output[at:end].split(b" ")
        if len(head) != 3 or head[1] != b"blob":
            raise OutsideError(f"git does not have the content {name}")
        size = int(head[2])
        found[name] = output[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found


def _commit(root: Path, rev: str, environ: Mapping[str, str]) -> str:
    command = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
    done = _run(root, command, environ)
    if done.returncode == 0:
        # old versions of git print `--end-of-options` as well
        return done.stdout.decode().split()[-1]
    if _run(root, ["rev-parse", "--git-dir"], environ).returncode != 0:
        raise DiffError(
            f"{root.resolve()} is not in a git repository, so there is nothing to compare with",
            hint="`git init` and commit the rendered tree, or compare with a cluster: --live",
        )
    if rev == "HEAD":
        raise DiffError("the repository has no commit yet", hint="commit the rendered tree first")
    raise DiffError(f"git knows no commit {rev!r}", hint="`git log --oneline` lists them")


def _git(root: Path, command: list[str], environ: Mapping[str, str], stdin: str = "") -> bytes:
    done = _run(root, command, environ, stdin)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise OutsideError(f"git {command[0]} failed: {said[-1] if said else done.returncode}")
    return done.stdout


def _run(
    root: Path, command: list[str], environ: Mapping[str, str], stdin: str = ""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", *command],
            cwd=root,
            env={**environ, "LC_ALL": "C"},
            input=stdin.encode(),
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
        )
    except OSError as error:
        raise OutsideError(f"git does not run: {error.strerror}", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise OutsideError(f"git did not answer within {GIT_TIMEOUT:.0f} s") from error


def _decode(content: bytes) -> Index | None:
    try:
        return msgspec.json.decode(content, type=Index)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _blob_name(content: bytes, algorithm: str) -> str:
    digest = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()
