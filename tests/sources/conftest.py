"""Git repositories, mirrors and small servers made on the spot."""

from __future__ import annotations

import functools
import os
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from argosy.sources.blobs import BlobStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git as a committer of its own, whoever runs the tests."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "a@b.c"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


class Upstream:
    """A git repository to fetch from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")
        git(folder, "config", "uploadpack.allowFilter", "true")
        self.url = f"file://{folder}"

    def commit(self, files: Mapping[str, bytes | str], *, tag: str = "") -> str:
        """Commit files (text that starts with "-> " is a link), tag them, return the commit."""
        for path, content in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str) and content.startswith("-> "):
                place.symlink_to(content[3:])
            else:
                place.write_bytes(content.encode() if isinstance(content, str) else content)
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "-m", "change")
        if tag:
            git(self.folder, "tag", "-a", "-m", tag, tag)
        return git(self.folder, "rev-parse", "HEAD")

    def add_submodule(self, other: Upstream, path: str, *, tag: str) -> None:
        """Make another repository a submodule at a path."""
        git(self.folder, "submodule", "--quiet", "add", other.url, path)
        git(self.folder, "commit", "--quiet", "-m", "submodule")
        git(self.folder, "tag", tag)

    def git(self, *arguments: str) -> str:
        """Run git in the repository."""
        return git(self.folder, *arguments)


@pytest.fixture
def new_upstream(tmp_path: Path) -> Callable[[str], Upstream]:
    return lambda name: Upstream(tmp_path / "upstreams" / name)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def blobs(cache: Path) -> BlobStore:
    return BlobStore(cache)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Mapping[str, bytes | str]], Path]:
    """Write files below a folder of the test's own."""

    def at(name: str, files: Mapping[str, bytes | str]) -> Path:
        for path, content in files.items():
            place = tmp_path / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return at


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a folder on the loopback; return its URL and the folder."""
    folder = tmp_path / "web"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def redirecting() -> Iterator[Callable[[str], str]]:
    """Start servers that answer everything with a redirect; return a function that gives a URL."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(target: str) -> str:
        class Handler(_Quiet):
            def do_GET(self) -> None:
                self.send_response(302)
                self.send_header("Location", target)
                self.end_headers()

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()
