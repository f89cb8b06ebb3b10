"""The API server: authentication, discovery, requests, errors, watches, server-side apply.

    config, kubeconfig, proxy   which server, and as whom: kubeconfig files, or a pod's own
    auth, execplugin, tls       saying so on each request
    transport                   one aiohttp session: retries, priorities, counters
    limit, backoff, lines       what the transport decides by; pure
    errors                      what can go wrong, as types that carry data
    resources, discovery        what the server serves
    api                         KubeApi: get, list, apply, patch, delete, watch
    listing, watch, follow      collections: pages, events, and both without a gap
    fields                      managedFields: who owns what, and taking over from kubectl

Importing this package loads no HTTP library: names come when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argosy.kube.api import KubeApi
    from argosy.kube.backoff import NO_RETRIES, Backoff
    from argosy.kube.config import (
        ClusterConfig,
        Credentials,
        ExecPlugin,
        load_in_cluster,
        load_kubeconfig,
    )
    from argosy.kube.errors import (
        AlreadyExists,
        ApiError,
        Cause,
        Conflict,
        CredentialsError,
        Expired,
        FieldOwner,
        Forbidden,
        Invalid,
        KubeconfigError,
        NoSuchKind,
        NotFound,
        ServerError,
        TooManyRequests,
        Unauthorized,
        Unreachable,
    )
    from argosy.kube.limit import Priority
    from argosy.kube.resources import Resource, ResourceIndex
    from argosy.kube.watch import Event

__all__ = [
    "NO_RETRIES",
    "AlreadyExists",
    "ApiError",
    "Backoff",
    "Cause",
    "ClusterConfig",
    "Conflict",
    "Credentials",
    "CredentialsError",
    "Event",
    "ExecPlugin",
    "Expired",
    "FieldOwner",
    "Forbidden",
    "Invalid",
    "KubeApi",
    "KubeconfigError",
    "NoSuchKind",
    "NotFound",
    "Priority",
    "Resource",
    "ResourceIndex",
    "ServerError",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "load_in_cluster",
    "load_kubeconfig",
]

_HOME = {
    "KubeApi": "api",
    "NO_RETRIES": "backoff",
    "Backoff": "backoff",
    "ClusterConfig": "config",
    "Credentials": "config",
    "ExecPlugin": "config",
    "load_in_cluster": "config",
    "load_kubeconfig": "config",
    "Priority": "limit",
    "Resource": "resources",
    "ResourceIndex": "resources",
    "Event": "watch",
}


def __getattr__(name: str) -> Any:
    """Load the module that a public name lives in."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
    globals()[name] = value
    return value
