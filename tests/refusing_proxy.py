"""A proxy in front of a real API server that refuses what a webhook would have to be asked about.

Simulated pods serve nothing, so webhooks are not called in tests. This proxy stands for them: a
write that a `Fail` webhook of the tree matches is refused until the Deployment behind the webhook
is Available, as a real API server would do. It decides by code of its own, not by argosy's.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

import yaml

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from devcluster_fixtures import TestCluster

__all__ = ["RefusingProxy", "refusing_proxy"]

HOP = {"transfer-encoding", "content-length", "connection", "content-encoding", "host"}


class RefusingProxy:
    """Forwards everything, and refuses what cannot be admitted yet.

    Attributes:
        refused: what was refused, as `METHOD path`.
        answers: how many answers had which status.
    """

    def __init__(self, cluster: TestCluster, manifests: Iterable[dict[str, Any]]) -> None:
        self._server = cluster.server
        pki = cluster.dir / "pki"
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        found = list(manifests)
        self._hooks = [
            hook
            for obj in found
            if obj["kind"].endswith("WebhookConfiguration")
            for hook in obj.get("webhooks") or ()
            if hook.get("failurePolicy", "Fail") == "Fail" and hook["clientConfig"].get("service")
        ]
        self._namespaces = {
            o["metadata"]["name"]: o["metadata"].get("labels") or {}
            for o in found
            if o["kind"] == "Namespace"
        }
        self._services = {
            (o["metadata"]["namespace"], o["metadata"]["name"]): o["spec"].get("selector") or {}
            for o in found
            if o["kind"] == "Service"
        }
        self._deployments = [o for o in found if o["kind"] == "Deployment"]
        self._available: set[tuple[str, str]] = set()
        self.refused: list[str] = []
        self.answers: dict[int, int] = {}
        self._session: aiohttp.ClientSession

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        body = await request.read()
        if request.method in {"POST", "PUT", "PATCH"} and "dryRun" not in request.query:
            hook = await self._refusal(request.path, body)
            if hook:
                self.refused.append(f"{request.method} {request.path}: {hook}")
                status = {
                    "kind": "Status",
                    "code": 500,
                    "reason": "InternalError",
                    "message": f'failed calling webhook "{hook}": no endpoints available',
                }
                return web.json_response(status, status=500)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP}
        async with self._session.request(
            request.method, self._server + request.raw_path, data=body or None, headers=headers
        ) as answer:
            self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    async def _refusal(self, path: str, body: bytes) -> str:
        parts = path.strip("/").split("/")
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        if len(rest) > 2:  # a subresource
            return ""
        obj = yaml.load(body, Loader=yaml.CSafeLoader)
        for hook in self._hooks:
            if self._asked(hook, group, rest[0], namespace, obj) and not await self._is_up(hook):
                return str(hook["name"])
        return ""

    def _asked(
        self, hook: dict[str, Any], group: str, resource: str, namespace: str, obj: dict[str, Any]
    ) -> bool:
        rules = hook.get("rules") or []
        if fnmatchcase(hook["name"], "config.webhook.*.knative.dev"):
            # knative.dev/pkg writes these at run time
            rules = [{"apiGroups": [""], "resources": ["configmaps/*"]}]
        wanted = any(
            (group in rule["apiGroups"] or "*" in rule["apiGroups"])
            and any(r.split("/")[0] in {"*", resource} for r in rule["resources"])
            for rule in rules
        )
        if not wanted or group == "admissionregistration.k8s.io":
            return False
        labels = obj.get("metadata", {}).get("labels") or {}
        spaces = {"kubernetes.io/metadata.name": namespace, **self._namespaces.get(namespace, {})}
        if namespace and not _matches(hook.get("namespaceSelector"), spaces):
            return False
        return _matches(hook.get("objectSelector"), labels)

    async def _is_up(self, hook: dict[str, Any]) -> bool:
        service = hook["clientConfig"]["service"]
        key = (service["namespace"], service["name"])
        if key in self._available:
            return True
        selector = self._services.get(key)
        for found in self._deployments if selector else ():
            metadata, template = found["metadata"], found["spec"]["template"]["metadata"]
            if (
                metadata["namespace"] != key[0]
                or not selector.items() <= template["labels"].items()
            ):
                continue
            path = f"/apis/apps/v1/namespaces/{key[0]}/deployments/{metadata['name']}"
            async with self._session.get(self._server + path) as answer:
                live = await answer.json() if answer.status == 200 else {}
            conditions = (live.get("status") or {}).get("conditions") or ()
            if any(c["type"] == "Available" and c["status"] == "True" for c in conditions):
                self._available.add(key)
                return True
        return False

    @contextlib.asynccontextmanager
    async def serve(self, kubeconfig: Path) -> AsyncIterator[RefusingProxy]:
        """Serve on a free port and write a kubeconfig that leads here."""
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        async with aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(), auto_decompress=False
        ) as self._session:
            app = web.Application(client_max_size=8 << 20)
            app.router.add_route("*", "/{path:.*}", self.handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            _lead(kubeconfig, port)
            try:
                yield self
            finally:
                await runner.cleanup()
                await asyncio.sleep(0)


def _lead(kubeconfig: Path, port: int) -> None:
    """Write a kubeconfig that leads to the proxy."""
    cluster = {"name": "proxy", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [cluster],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
    }
    kubeconfig.write_text(yaml.safe_dump(content))


def _matches(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    selector = selector or {}
    if not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    for term in selector.get("matchExpressions") or ():
        key, values = term["key"], term.get("values") or ()
        holds = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not holds[term["operator"]]:
            return False
    return True


def refusing_proxy(cluster: TestCluster, text: str) -> RefusingProxy:
    """Return a proxy for the webhooks among some objects."""
    loader = yaml.CSafeLoader
    return RefusingProxy(cluster, [d for d in yaml.load_all(text, Loader=loader) if d])
