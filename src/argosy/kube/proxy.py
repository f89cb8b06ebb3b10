"""Decide whether a request goes through a proxy, by the environment, as kubectl (Go) decides.

Pure. HTTPS_PROXY for https, HTTP_PROXY for http, the lower-case names as well; NO_PROXY lists
hosts (with their subdomains), `.domain` (subdomains alone), addresses, networks and `*`, each
with or without a port. Loopback never goes through a proxy.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["from_environment"]


def from_environment(server: str, env: Mapping[str, str]) -> str:
    """Return the proxy's URL for `server`, "" for none."""
    url = urlsplit(server)
    host = (url.hostname or "").rstrip(".")
    name = f"{url.scheme}_proxy"
    proxy = env.get(name.upper()) or env.get(name) or ""
    if not proxy or _is_loopback(host):
        return ""
    port = url.port or (443 if url.scheme == "https" else 80)
    excluded = env.get("NO_PROXY") or env.get("no_proxy") or ""
    if any(_matches(rule.strip().lower(), host, port) for rule in excluded.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _matches(rule: str, host: str, port: int) -> bool:
    if not rule:
        return False
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    if rule.startswith("["):
        rule, _, tail = rule[1:].partition("]")
        wanted = tail.removeprefix(":")
    elif rule.count(":") == 1:
        rule, _, wanted = rule.partition(":")
    else:
        wanted = ""
    if wanted and wanted != str(port):
        return False
    if rule.startswith(("*.", ".")):
        return host.endswith(rule.removeprefix("*"))
    return host == rule or (bool(rule) and host.endswith(f".{rule}"))
