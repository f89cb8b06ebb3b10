"""Fetch from the network: git by the git command, files by https, charts by helm's layout.

Schemes: https and ssh; http only to this machine; file only when the URL itself says so. A server
cannot lead elsewhere: redirects stay on https. Git never asks on the terminal, runs no hooks, and
takes no submodules.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import tarfile
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from argosy import yaml
from argosy.progress import NO_PROGRESS
from argosy.sources.errors import FetchError, PathError
from argosy.sources.fetch import HERE, Resolved, label_of
from argosy.sources.git import Git
from argosy.sources.paths import clean
from argosy.sources.remote import FileRef, GitRef, remote_name
from argosy.sources.trees import MemoryTree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPMessage
    from pathlib import Path

    from argosy.errors import Location
    from argosy.progress import Progress
    from argosy.sources.remote import ChartRef, Remote
    from argosy.sources.trees import Tree

__all__ = ["Network", "check_chart", "download"]

FILE_LIMIT = 64 << 20  # bytes; the largest release manifest of Kubeflow's world has 4 MB
INDEX_LIMIT = 64 << 20  # bytes; the largest public index.yaml has about 20 MB
TIMEOUT = 60.0  # seconds without a byte


class Network:
    """Fetches from where the references point.

    Args:
        cache: argosy's cache folder; git repositories are kept in `git/` under it.
        env: the user's environment, for git's credentials and proxies.
        progress: told what is being fetched.
    """

    def __init__(
        self, cache: Path, *, env: Mapping[str, str], progress: Progress = NO_PROGRESS
    ) -> None:
        self._cache = cache
        self._env = env
        self._progress = progress
        self._repositories: dict[str, Git] = {}

    def resolve(self, ref: Remote, *, where: Location | None = None) -> Resolved:
        """Return the commit that a reference stands for now.

        Raises:
            FetchError: the source cannot be reached, or has no such ref.
        """
        if isinstance(ref, GitRef):
            return self._git(ref.repo).resolve(ref.ref, where=where)
        return Resolved(None, "fixed")

    def tree(
        self, ref: Remote, *, commit: str | None = None, where: Location | None = None
    ) -> Tree:
        """Return the files of a reference.

        Raises:
            FetchError: the source cannot be reached, or does not have it.
        """
        label = label_of(ref)
        if isinstance(ref, GitRef):
            return self._git(ref.repo).tree(ref.ref, commit, label=label, where=where)
        if isinstance(ref, FileRef):
            data = download(ref.url, limit=FILE_LIMIT, where=where)
        else:
            data = self._chart(ref, where)
            check_chart(data, label)
        return MemoryTree({remote_name(ref).rpartition("/")[2]: data}, label=label)

    def _git(self, repo: str) -> Git:
        if repo not in self._repositories:
            self._repositories[repo] = Git(
                repo, self._cache, env=self._env, progress=self._progress
            )
        return self._repositories[repo]

    def _chart(self, ref: ChartRef, where: Location | None) -> bytes:
        if ref.repo.startswith("oci://"):
            from argosy.sources.oci import pull

            return pull(ref, cache=self._cache, env=self._env, where=where)
        base = ref.repo.rstrip("/") + "/"
        index = yaml.load(download(base + "index.yaml", limit=INDEX_LIMIT, where=where))
        entry = _entry(index, ref, where)
        urls = entry.get("urls")
        if not isinstance(urls, list) or not urls:
            raise FetchError(f"{base}index.yaml has no URL for {ref.chart}", where=where)
        data = download(urljoin(base, str(urls[0])), limit=FILE_LIMIT, where=where)
        told = entry.get("digest")
        digest = hashlib.sha256(data).hexdigest()
        if told and str(told).removeprefix("sha256:") != digest:
            raise FetchError(
                f"the chart {label_of(ref)} is not what its repository's index says: "
                f"sha256 {digest[:12]}…, the index says {str(told)[:19]}…",
                where=where,
            )
        return data


def _entry(index: Any, ref: ChartRef, where: Location | None) -> dict[str, Any]:
    entries = index.get("entries") if isinstance(index, dict) else None
    versions = entries.get(ref.chart) if isinstance(entries, dict) else None
    if not isinstance(versions, list):
        raise FetchError(f"{ref.repo} has no chart {ref.chart}", where=where)
    for entry in versions:
        if isinstance(entry, dict) and str(entry.get("version")) == ref.version:
            return entry
    newest = ", ".join(str(one.get("version")) for one in versions[:3] if isinstance(one, dict))
    raise FetchError(
        f"{ref.repo} has no version {ref.version} of {ref.chart}",
        where=where,
        hint=f"it has {newest}" if newest else None,
    )


def check_chart(data: bytes, label: str) -> None:
    """Refuse a chart archive that is none, or holds what does not belong into one.

    Raises:
        PathError: a member leaves the archive's folder, is a link, or no plain file.
        FetchError: it is no gzipped tar archive.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                try:
                    clean(member.name)
                except PathError as error:
                    raise PathError(f"{label}: {error.message}") from None
                if not (member.isfile() or member.isdir()):
                    raise PathError(f"{label}: {member.name} is not a plain file")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FetchError(f"{label} is not a chart archive: {error}") from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects to where a request may go at all."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        _allow(newurl, None, secure=urlsplit(req.full_url).scheme == "https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _allow(url: str, where: Location | None, *, secure: bool = False) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https":
        return
    if parts.scheme == "http" and parts.hostname in HERE and not secure:
        return
    raise FetchError(f"{url} is not fetched: only https is", where=where, hint="use the https URL")


def download(url: str, *, limit: int, where: Location | None = None) -> bytes:
    """Return the bytes behind an https URL.

    Raises:
        FetchError: the URL has another scheme, cannot be reached, or has more than `limit` bytes.
    """
    _allow(url, where)
    opener = urllib.request.build_opener(_Redirects())
    request = urllib.request.Request(url, headers={"User-Agent": "argosy"})  # noqa: S310 (allowed above)
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            data: bytes = answer.read(limit + 1)
            length = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(f"{url} answers {error.code} {error.reason}", where=where) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise FetchError(f"{url} cannot be reached: {reason}", where=where) from error
    if len(data) > limit:
        raise FetchError(f"{url} has more than {limit >> 20} MiB", where=where)
    if length and length.isdigit() and int(length) != len(data):
        raise FetchError(f"{url} ended after {len(data)} of {length} bytes", where=where)
    return data
