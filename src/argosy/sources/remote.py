"""Decide what a remote reference points at, by kustomize 5.8's own rules, without a network.

`parse_remote` splits what kustomize accepts as a resource (https, ssh, scp-like, `git::`,
`github.com/…`, `file://`) into repository, path and ref; or sees a plain file behind an http(s)
URL. Kustomize finds out by trying a download first; here the form of the URL decides: a path
that ends in .yaml, .yml or .json, without `?ref=`, `//` or `.git`, is a file.

Each remote has one name, `host/org/repo/ref`, which is its key in the lock and its folder in a
mirror and in a workspace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from argosy.sources.errors import LockError
from argosy.sources.paths import clean

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.errors import Location

__all__ = [
    "ChartRef",
    "FileRef",
    "GitRef",
    "LocalRef",
    "Remote",
    "is_remote",
    "parse_remote",
    "remote_name",
]


class GitRef(NamedTuple):
    """A folder in a git repository at a ref; `ref` is None when none was asked for."""

    repo: str
    path: str
    ref: str | None


class FileRef(NamedTuple):
    """One file behind an http(s) URL, such as a release asset."""

    url: str


class ChartRef(NamedTuple):
    """A Helm chart of a repository (`https://…`) or a registry (`oci://…`)."""

    repo: str
    chart: str
    version: str


class LocalRef(NamedTuple):
    """The user's own folder: never locked itself, but the remotes met in it are."""

    dir: Path


Remote = GitRef | FileRef | ChartRef

_SCHEME = re.compile(r"(?i)(ssh|https|http|file)://")
_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*@")
_GITHUB = re.compile(r"(?i)github\.com[/:]")
_FILE = re.compile(r"(?i)\.(ya?ml|json)$")
# git check-ref-format's rules, and no leading "-", which git would read as an option.
_BAD_REF = re.compile(r"^-|\.\.|[\x00-\x20\x7f~^:?*\[\\]|@\{|//|^/|/$|\.lock(/|$)|(^|/)\.|\.$")


def is_remote(text: str) -> bool:
    """Say whether kustomize would take `text` for something to fetch, not for a local path."""
    bare = _without_force(text)
    return bool(_SCHEME.match(bare) or _USER.match(bare) or _GITHUB.match(bare))


def parse_remote(text: str, *, where: Location | None = None) -> GitRef | FileRef:
    """Return what `text` points at.

    Raises:
        LockError: `text` is no remote reference, or one without host, repository or valid ref.
        PathError: its path leaves the repository.
    """
    bare = _without_force(text)
    if _is_file(bare):
        return FileRef(bare)
    address, _, query = bare.partition("?")
    values = parse_qs(query)
    asked = values.get("ref") or values.get("version")
    ref = asked[0] if asked else None
    if ref is not None and _BAD_REF.search(ref):
        raise LockError(f"{text}: {ref!r} is not a valid git ref", where=where)
    host, rest = _host(address, text, where)
    repo, path = _split(rest, whole=host.startswith("file://"))
    if not repo:
        raise LockError(f"{text} names no repository", where=where)
    return GitRef(host + _tidy(host, repo), clean(path.lstrip("/"), where=where), ref)


def remote_name(ref: Remote) -> str:
    """Return the remote's name: its key in the lock, its folder in mirror and workspace.

    Raises:
        PathError: the URL's path would leave a mirror's folder.
    """
    match ref:
        case GitRef():
            return clean("/".join([_place(ref.repo.removesuffix(".git")), ref.ref or "HEAD"]))
        case FileRef():
            return clean(_place(ref.url))
        case ChartRef():
            name = f"{ref.chart}-{ref.version}.tgz"
            return clean("/".join([_place(ref.repo), name]))


def _without_force(text: str) -> str:
    return text[5:] if text[:5].lower() == "git::" else text


def _is_file(text: str) -> bool:
    if not re.match(r"(?i)https?://", text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:  # brackets that hold no IPv6 address
        return False
    query = parse_qs(parts.query)
    if "ref" in query or "version" in query or "//" in parts.path or ".git/" in parts.path:
        return False
    return bool(_FILE.search(parts.path))


def _host(address: str, text: str, where: Location | None) -> tuple[str, str]:
    """Split an address into what stands before the repository's path, and the rest."""
    found = _SCHEME.match(address)
    scheme = found.group(0).lower() if found else ""
    rest = address[len(scheme) :]
    if scheme == "file://":
        return scheme, rest
    user_found = _USER.match(rest)
    user = user_found.group(0) if user_found else ""
    rest = rest[len(user) :]
    github = bool(_GITHUB.match(rest))
    scp = not scheme and bool(user or github)
    if not scheme and not scp:
        raise LockError(
            f"{text} is not a remote reference", where=where, hint="write https://host/org/repo"
        )
    cut = rest.find("/")
    colon = rest.find(":")
    if scp and colon > 0 and (cut < 0 or colon < cut):
        cut = colon
    if cut <= 0:
        raise LockError(f"{text} names no host", where=where)
    host, rest = rest[: cut + 1], rest[cut + 1 :]
    if github:
        secure = scheme == "ssh://" or bool(user)
        return (f"{user or 'git@'}github.com:" if secure else "https://github.com/"), rest
    return scheme + user + host.lower(), rest


def _split(rest: str, *, whole: bool) -> tuple[str, str]:
    """Split into repository and path inside it: `_git/`, `//`, `.git`, else two segments."""
    marker = rest.find("_git/")
    if marker >= 0:
        end = rest.find("/", marker + 5)
        return (rest, "") if end < 0 else (rest[:end], rest[end + 1 :])
    double = rest.find("//")
    if double >= 0:
        return rest[:double], rest[double + 2 :]
    suffix = rest.find(".git")
    if suffix >= 0:
        return rest[: suffix + 4], rest[suffix + 4 :]
    if whole:
        return rest, ""
    parts = rest.split("/")
    return ("/".join(parts[:2]), "/".join(parts[2:])) if len(parts) >= 2 else ("", "")


def _tidy(host: str, repo: str) -> str:
    """Drop what makes two names of one GitHub repository differ."""
    repo = repo.rstrip("/")
    return repo.removesuffix(".git") if "github.com" in host else repo


def _place(url: str) -> str:
    """Return `host/path` of a URL or scp-like address, as a mirror lays it out."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        rest = scheme.replace(":", "/", 1)
    elif scheme == "file":
        return "file/" + rest.strip("/")
    else:
        rest = rest.partition("?")[0].partition("#")[0]
    host, _, path = rest.partition("/")
    host = host.rpartition("@")[2].replace(":", "_").lower()
    return "/".join([host, *(part for part in unquote(path).split("/") if part)])
