"""One git repository, fetched as little as possible into a bare repository in the cache.

`git ls-remote` says what a ref is; `git fetch --depth=1 --filter=blob:none` brings the commit and
its trees, and the blobs follow folder by folder when files are read. Names of files, links and
submodules come from `git ls-tree`; nothing is ever checked out. A copy that is damaged, or that a
killed git left locked, is thrown away and fetched anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from argosy.progress import NO_PROGRESS
from argosy.sources.errors import DiskError, FetchError, PathError, writing
from argosy.sources.fetch import COMMIT, Resolved
from argosy.sources.remote import GitRef, remote_name
from argosy.sources.trees import IndexTree, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from argosy.errors import Location
    from argosy.progress import Progress

__all__ = ["Git", "GitTree"]

TIMEOUT = 600.0  # seconds; a large repository over a slow line
QUIET = (
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-gc",
)
KINDS: dict[str, Kind] = {
    "100644": "file",
    "100755": "file",
    "100664": "file",
    "120000": "link",
    "160000": "submodule",
}
# Git's messages that mean: this server does not give an object by its digest.
_ONLY_NAMED = ("not our ref", "unadvertised object")
# Git's messages that mean: no such repository, or no permission to see it.
_NO_REPOSITORY = ("not found", "does not appear to be", "does not exist", "could not read Username")
# Git's messages that mean: the copy in the cache is damaged, when they do not name it anyway.
_DAMAGED = ("corrupt", "bad object", "unable to read", "git has no object", "inflate", "packfile")
_FULL = b"No space left on device"

T = TypeVar("T")


class Git:
    """A remote repository and its copy in the cache.

    Args:
        url: what git is given.
        cache: argosy's cache folder.
        env: the user's environment: git's own configuration and credentials are honoured.
        progress: told while git fetches.
    """

    def __init__(
        self, url: str, cache: Path, *, env: Mapping[str, str], progress: Progress = NO_PROGRESS
    ) -> None:
        self.url = url
        self.folder = (
            cache / "git" / (remote_name(GitRef(url, "", "x")).removesuffix("/x") + ".git")
        )
        self._progress = progress
        local = url.startswith("file://")
        self._env = {
            **{key: value for key, value in env.items() if not key.startswith("GIT_TRACE")},
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "file" if local else "https:ssh",
            "GIT_DIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
        }
        self._heads: dict[str, str] | None = None

    def resolve(self, ref: str | None, *, where: Location | None = None) -> Resolved:
        """Return the commit of a ref and whether it moves; tags win over branches.

        Raises:
            FetchError: the repository cannot be reached, or has no such ref.
        """
        if ref and COMMIT.match(ref):
            return Resolved(ref, "commit")
        refs = self._refs(where)
        if not ref or ref == "HEAD":
            return Resolved(refs.get("HEAD"), "branch")
        for name, kind in self._meanings(ref):
            commit = refs.get(f"{name}^{{}}") or refs.get(name)
            if commit:
                return Resolved(commit, "branch" if kind == "branch" else "tag")
        close = _like(ref, refs)
        raise FetchError(
            f"{self.url} has no ref {ref}",
            where=where,
            hint=f"did you mean {close}?" if close else "name a tag or all 40 digits of a commit",
        )

    @staticmethod
    def _meanings(ref: str) -> list[tuple[str, str]]:
        if ref.startswith("refs/"):
            return [(ref, "branch" if ref.startswith("refs/heads/") else "tag")]
        return [(f"refs/tags/{ref}", "tag"), (f"refs/heads/{ref}", "branch")]

    def _refs(self, where: Location | None) -> dict[str, str]:
        if self._heads is None:
            output = self.healed(lambda: self._list(where))
            pairs = (line.split("\t", 1) for line in output.decode().splitlines() if "\t" in line)
            self._heads = {name: commit for commit, name in pairs}
        return self._heads

    def tree(
        self, ref: str | None, commit: str | None, *, label: str, where: Location | None = None
    ) -> GitTree:
        """Return the files of a commit, fetching it when the cache does not have it.

        Raises:
            FetchError: it cannot be fetched.
        """
        wanted = commit or self.resolve(ref, where=where).commit
        if not wanted:
            raise FetchError(f"{self.url} is empty", where=where)

        def take() -> GitTree:
            self.ensure(ref, wanted, where)
            return GitTree(self, wanted, label, ref=ref)

        return self.healed(take)

    def ensure(self, ref: str | None, commit: str, where: Location | None = None) -> bool:
        """Fetch a commit unless the cache has it; say whether it was fetched.

        Raises:
            FetchError: it cannot be fetched.
        """
        self._init()
        if self._has(commit):
            return False
        self._fetch(ref, commit, where)
        return True

    def healed(self, act: Callable[[], T]) -> T:
        """Do something with the copy in the cache; once more with a new copy when it is damaged.

        Raises:
            FetchError: it failed for another reason, or again.
        """
        try:
            return act()
        except FetchError as error:
            told = (str(self.folder), *_DAMAGED)
            if not any(text in error.message for text in told):
                raise
        with self._locked():
            shutil.rmtree(self.folder, ignore_errors=True)
        return act()

    def _list(self, where: Location | None) -> bytes:
        self._init()
        return self._remote(["ls-remote", "--", self.url], where)

    def _fetch(self, ref: str | None, commit: str, where: Location | None) -> None:
        self._progress.message("lock", f"git fetch {self.url} {ref or commit[:12]}")
        with self._locked():
            try:
                self._shallow(commit, where)
            except FetchError as error:
                # A server that speaks protocol 0 gives only what it names itself.
                if not ref or not any(text in error.message for text in _ONLY_NAMED):
                    raise
                self._shallow(f"refs/tags/{ref}", where)
            try:
                self.run(["update-ref", f"refs/argosy/{commit}", commit])
            except FetchError as error:
                raise FetchError(
                    f"{self.url} does not give commit {commit} for {ref}: {error.message}",
                    where=where,
                    hint="it may have been removed or replaced upstream; run `argosy lock`",
                ) from error

    def _shallow(self, wanted: str, where: Location | None) -> None:
        options = ["fetch", "--depth=1", "--filter=blob:none", *QUIET]
        self._remote([*options, "--", self.url, wanted], where)

    def missing(self, commit: str) -> set[str]:
        """Return the blobs of a commit that a partial fetch left out."""
        command = ["rev-list", "--objects", "--no-object-names", "--missing=print", "-n1", commit]
        lines = self.run(command).decode().splitlines()
        return {line[1:] for line in lines if line.startswith("?")}

    def bring(self, blobs: list[str]) -> None:
        """Fetch blobs that a partial fetch left out, all at once.

        Raises:
            FetchError: they cannot be fetched.
        """
        options = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--filter=blob:none"]
        with self._locked():
            feed = "\n".join(blobs).encode() + b"\n"
            self._remote([*options, *QUIET, "--stdin", "--", self.url], None, feed=feed)

    def _has(self, commit: str) -> bool:
        """Say whether a fetch of the commit was completed: only then it has a ref of ours."""
        try:
            self.run(["show-ref", "--verify", "--quiet", f"refs/argosy/{commit}"])
        except FetchError:
            return False
        return True

    def _init(self) -> None:
        if (self.folder / "HEAD").is_file():
            return
        with writing(self.folder), self._locked():
            if not (self.folder / "HEAD").is_file():
                self.run(["init", "--bare", "--quiet", "--template=", str(self.folder)])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one run at a time write to the repository: shallow fetches exclude each other."""
        place = self.folder.parent / f"{self.folder.name}.lock"
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _remote(self, command: list[str], where: Location | None, feed: bytes = b"") -> bytes:
        try:
            return self.run(command, feed=feed)
        except FetchError as error:
            if any(text in error.message for text in _NO_REPOSITORY):
                hint = "check the URL, and that git itself can fetch it"
            else:
                hint = "check the connection, or use a mirror with --mirror DIR"
            raise FetchError(
                f"{self.url} cannot be fetched: {error.message}", where=where, hint=hint
            ) from error

    def run(self, command: list[str], *, feed: bytes = b"") -> bytes:
        """Run git and return what it prints.

        Raises:
            FetchError: git is missing, failed, or took too long; the message is git's last line.
            DiskError: the disk is full.
        """
        settings = ["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=0"]
        try:
            done = subprocess.run(
                ["git", *settings, *command],
                input=feed,
                env=self._env,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except FileNotFoundError as error:
            raise FetchError("the command git is not there", hint="install git") from error
        except subprocess.TimeoutExpired as error:
            raise FetchError(f"git did not answer within {TIMEOUT:.0f} s") from error
        if done.returncode:
            if _FULL in done.stderr:
                raise DiskError(
                    f"cannot write {self.folder}: no space is left on the disk",
                    hint="free some space and run the command again",
                )
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            told = next((one for one in lines if one.startswith(("fatal:", "error:"))), "")
            last = told or (lines[-1] if lines else f"exit code {done.returncode}")
            raise FetchError(last.removeprefix("fatal: ").removeprefix("error: "))
        return done.stdout


def _like(ref: str, refs: Mapping[str, str]) -> str | None:
    import difflib

    tags = [name.removeprefix("refs/tags/") for name in refs if name.startswith("refs/tags/")]
    plain = [tag for tag in tags if not tag.endswith("^{}")]
    if f"v{ref}" in plain:
        return f"v{ref}"
    found = difflib.get_close_matches(ref, plain, n=1, cutoff=0.7)
    return found[0] if found else None


class GitTree(IndexTree):
    """The files of one commit."""

    def __init__(self, git: Git, commit: str, label: str, *, ref: str | None = None) -> None:
        listing = git.run(["ls-tree", "-r", "-z", commit]).decode(errors="surrogateescape")
        entries: dict[str, Kind] = {}
        self._objects: dict[str, str] = {}
        for line in listing.split("\0"):
            if not line:
                continue
            head, _, path = line.partition("\t")
            mode, _, name = head.split(" ")
            entries[path] = KINDS.get(mode, "special")
            self._objects[path] = name
        super().__init__(label, entries)
        self.commit = commit
        self._ref = ref
        self._git = git
        self._missing = git.missing(commit)
        self._brought: set[str] = set()
        self._read: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        """Return a file's bytes, fetching those of its whole top folder the first time.

        Raises:
            PathError: the commit has no such file.
            FetchError: it cannot be fetched.
        """
        if path not in self._objects:
            raise PathError(f"there is no {path} in {self.label}")
        top = "/".join(path.split("/")[:2])
        if top not in self._brought:
            self._git.healed(lambda: self._bring(top))
        return self._read[path]

    def _bring(self, top: str) -> None:
        """Read every file below a folder with one fetch and one `git cat-file`."""
        if self._git.ensure(self._ref, self.commit):
            self._missing = self._git.missing(self.commit)
        paths = [
            path
            for path in self._objects
            if (path == top or path.startswith(f"{top}/")) and self._entries[path] != "submodule"
        ]
        names = list(dict.fromkeys(self._objects[path] for path in paths))
        missing = [name for name in names if name in self._missing]
        if missing:
            self._git.bring(missing)
            self._missing.difference_update(missing)
        contents = self._contents(names)
        self._read.update((path, contents[self._objects[path]]) for path in paths)
        self._brought.add(top)

    def _contents(self, names: list[str]) -> dict[str, bytes]:
        output = self._git.run(["cat-file", "--batch"], feed="\n".join(names).encode() + b"\n")
        contents: dict[str, bytes] = {}
        position = 0
        for name in names:
            end = output.index(b"\n", position)
            parts = output[position:end].split(b" ")
            if len(parts) != 3:
                raise FetchError(f"git has no object {name} of {self.label}")
            size = int(parts[2])
            contents[name] = output[end + 1 : end + 1 + size]
            position = end + 2 + size
        return contents

    def target(self, path: str) -> str:
        """Return where a link points."""
        return self.read(path).decode(errors="surrogateescape")

    def sha256(self, path: str) -> str:
        """Return the digest of a file's bytes, in hex."""
        return hashlib.sha256(self.read(path)).hexdigest()
