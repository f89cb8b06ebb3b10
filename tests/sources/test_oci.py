"""Charts come from OCI registries by helm's own hand."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from argosy.sources.engines import find_helm
from argosy.sources.errors import EngineError, FetchError
from argosy.sources.network import Network
from argosy.sources.remote import ChartRef
from argosy.sources.resolve import Request, resolve

META = b'{"name": "web", "version": "1.0.0", "apiVersion": "v2"}'


def chart() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("web/Chart.yaml")
        text = b"apiVersion: v2\nname: web\nversion: 1.0.0\n"
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return buffer.getvalue()


@pytest.fixture
def registry():
    """Serve one chart as an OCI registry does; return its address."""
    blobs = {f"sha256:{hashlib.sha256(data).hexdigest()}": data for data in (META, chart())}
    config, layer = blobs
    kind = "application/vnd.oci.image.manifest.v1+json"
    prefix = "application/vnd.cncf.helm"
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": kind,
            "config": {
                "mediaType": f"{prefix}.config.v1+json",
                "digest": config,
                "size": len(META),
            },
            "layers": [
                {
                    "mediaType": f"{prefix}.chart.content.v1.tar+gzip",
                    "digest": layer,
                    "size": len(blobs[layer]),
                }
            ],
        }
    ).encode()
    digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    answers = {f"/v2/charts/web/blobs/{name}": data for name, data in blobs.items()}
    answers |= {f"/v2/charts/web/manifests/{tag}": manifest for tag in ("1.0.0", digest)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = answers.get(self.path)
            self.send_response(200 if data is not None or self.path == "/v2/" else 404)
            data = data or b""
            self.send_header("Content-Length", str(len(data)))
            if "/manifests/" in self.path:
                self.send_header("Content-Type", kind)
                self.send_header("Docker-Content-Digest", digest)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"oci://127.0.0.1:{server.server_port}/charts"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tools() -> Path:
    """Return the cache folder that has helm, unless it is on PATH."""
    cache = Path(os.environ.get("ARGOSY_CACHE", Path.home() / ".cache/argosy"))
    try:
        find_helm(env=os.environ, cache=cache)
    except EngineError as error:
        pytest.skip(str(error))
    return cache


def test_a_chart_of_a_registry_is_locked(registry, tools, env, blobs):
    network = Network(tools, env=env)
    ref = ChartRef(registry, "web", "1.0.0")
    asked = [Request("web", ref, ("web-1.0.0.tgz",))]
    source = resolve(asked, fetcher=network, blobs=blobs).sources["web"]
    assert (source.kind, source.remote) == ("oci", ref)
    (digest,) = source.files.values()
    assert blobs.get(digest) is not None


def test_a_chart_that_a_registry_does_not_have_is_one_sentence(registry, tools, env):
    with pytest.raises(FetchError, match="cannot be pulled") as caught:
        Network(tools, env=env).tree(ChartRef(registry, "web", "2.0.0"))
    assert "\n" not in str(caught.value)
