"""ARG050: a webhook that is given the CA of somebody else's certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argosy.graph.references.admission import CA_FROM
from argosy.graph.shape import string, strings
from argosy.manifests import ObjectId
from argosy.platform.check.called_services import called
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.manifests import Manifest
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG050",
    Severity.ERROR,
    "CA of another certificate",
    "An object asks cert-manager to inject the CA of a Certificate that is not for the Service "
    "which the object makes the API server call (none of its dnsNames is <service>.<namespace>"
    ".svc): the API server trusts the wrong CA and refuses the connection. This is what "
    "kustomize `vars` do that leak from one component into another.",
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each object and Service."""
    seen = set()
    for reference in called(context):
        obj = context.index.objects[reference.source]
        certificate = _certificate(context, obj)
        if certificate is None or (reference.source, reference.target) in seen:
            continue
        seen.add((reference.source, reference.target))
        host = f"{reference.target.name}.{reference.target.namespace}.svc"
        names = strings(certificate, "spec", "dnsNames")
        if not any(name == host or name.startswith(f"{host}.") for name in names):
            said = string(obj, "metadata", "annotations", CA_FROM)
            message = (
                f"The CA is taken from Certificate {said}, which is for {', '.join(names)} and "
                f"not for {host}; name the Certificate of that Service, or none when its "
                "controller brings its own CA."
            )
            path = f'metadata.annotations["{CA_FROM}"]'
            yield context.finding(SPEC, reference.source, path, message)


def _certificate(context: Context, obj: Manifest) -> Manifest | None:
    said = string(obj, "metadata", "annotations", CA_FROM)
    namespace, _, name = said.partition("/")
    return context.index.objects.get(ObjectId("cert-manager.io", "Certificate", namespace, name))
