"""ARG054: two routes on one gateway for the same requests."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.graph.references.network import gateway_id
from argosy.graph.shape import entries, mapping, strings
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from argosy.manifests import Manifest, ObjectId
    from argosy.platform.check.context import Context

__all__ = ["SPEC", "findings"]

SPEC = Spec(
    "ARG054",
    Severity.ERROR,
    "two routes for one prefix",
    "Two VirtualServices on one gateway match the same host and the same path, and nothing else "
    "tells their requests apart. The mesh takes the older one, which after a re-installation may "
    "be the other.",
)


class _Claim(NamedTuple):
    gateway: ObjectId
    host: str
    form: str  # prefix, exact or regex
    uri: str


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each VirtualService that claims what another one has."""
    claims: dict[_Claim, list[tuple[ObjectId, str]]] = defaultdict(list)
    for obj in context.index.of("VirtualService", group="networking.istio.io"):
        for claim, path in _claims(obj):
            claims[claim].append((identity(obj), path))
    for claim, places in claims.items():
        first = places[0][0]
        for where, path in places[1:]:
            if where != first:
                message = (
                    f"{first} claims {claim.form} {claim.uri} of host {claim.host} on "
                    f"{claim.gateway} too; remove one of the routes."
                )
                yield context.finding(SPEC, where, path, message)


def _claims(obj: Manifest) -> Iterator[tuple[_Claim, str]]:
    spec = mapping(obj, "spec")
    gateways = [gateway_id(name, identity(obj).namespace) for name in strings(spec, "gateways")]
    for gateway in (gateway for gateway in gateways if gateway):
        for host in strings(spec, "hosts"):
            for number, rule in enumerate(entries(spec, "http")):
                for form, uri in _uris(rule):
                    yield _Claim(gateway, host, form, uri), f"spec.http[{number}].match"


def _uris(rule: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a rule matches by its path alone; other conditions may tell requests apart."""
    matches = entries(rule, "match")
    if not matches:
        yield "prefix", "/"
    for match in matches:
        if set(match) <= {"uri", "name"}:
            for form, value in mapping(match, "uri").items():
                yield str(form), str(value)
