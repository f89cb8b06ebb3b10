"""Make TLS contexts from key material in memory.

OpenSSL loads a client certificate from files alone. On Linux the file is an anonymous one in
memory; elsewhere it lies in a private directory for the moment of loading. Nothing is left.
"""

from __future__ import annotations

import os
import shutil
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.kube.errors import KubeconfigError

if TYPE_CHECKING:
    from argosy.kube.config import ClusterConfig

__all__ = ["client_context"]


def client_context(
    config: ClusterConfig, *, certificate: bytes = b"", key: bytes = b""
) -> ssl.SSLContext:
    """Return a context that trusts the cluster's CA and shows our certificate.

    Args:
        config: the cluster; its own client certificate wins over the one given.
        certificate: a plugin's client certificate, PEM.
        key: its key, PEM.

    Raises:
        KubeconfigError: the CA, the certificate or the key is not what it should be.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif config.ca:
        try:
            context.load_verify_locations(cadata=config.ca.decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError) as e:
            raise KubeconfigError(
                "the certificate authority is no PEM certificate", where=config.origin
            ) from e
    else:
        context.load_default_certs()
    own = config.credentials
    certificate, key = (own.certificate, own.key) if own.certificate else (certificate, key)
    if certificate:
        try:
            _load(context, certificate.rstrip() + b"\n" + key)
        except ssl.SSLError as e:
            raise KubeconfigError(
                f"the client certificate and key cannot be used: {e.reason or e}",
                where=config.origin,
            ) from e
    return context


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        handle = os.memfd_create("argosy-client-certificate", os.MFD_CLOEXEC)
        try:
            os.write(handle, pem)
            context.load_cert_chain(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)
        return
    directory = tempfile.mkdtemp(prefix="argosy-")  # mode 0700
    try:
        file = Path(directory, "client.pem")
        file.write_bytes(pem)
        context.load_cert_chain(file)
    finally:
        shutil.rmtree(directory)
