"""ARG072: a setting that must be written because the program's own default is wrong here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from argosy.graph import containers
from argosy.graph.shape import entries, string
from argosy.manifests import identity
from argosy.platform.check.finding import Finding, Severity, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.platform.check.context import Context

__all__ = ["NEEDED", "SPEC", "Needed", "findings"]

SPEC = Spec(
    "ARG072",
    Severity.WARNING,
    "setting whose default is wrong here",
    "A program that is known to argosy runs without an environment variable whose compiled-in "
    "default does not fit a Kubeflow platform. The table of programs, variables and reasons is "
    "`NEEDED` in this module.",
)


class Needed(NamedTuple):
    """A variable that containers with a certain image must set.

    Attributes:
        image: a regular expression on the image.
        variable: the environment variable.
        value: what to set it to.
        reason: what happens without it.
    """

    image: re.Pattern[str]
    variable: str
    value: str
    reason: str


NEEDED = (
    Needed(
        re.compile(r"kubeflow/katib/katib-ui[:@]"),
        "USERID_PREFIX",
        '""',
        "its default is a colon, the first of which is cut out of the user's name, so identities "
        "of the form system:serviceaccount:… are denied",
    ),
    Needed(
        re.compile(r"/pvcviewer-controller[:@]"),
        "ISTIO_GATEWAY",
        "the gateway's <namespace>/<name>",
        "its default is kubeflow/kubeflow-gateway, and viewers cannot be reached through any other",
    ),
)


def findings(context: Context) -> Iterable[Finding]:
    """Yield a finding for each container without a variable that it needs."""
    default_gateway = any(
        identity(obj).name == "kubeflow-gateway"
        for obj in context.index.of("Gateway", group="networking.istio.io", namespace="kubeflow")
    )
    for pods in context.index.pods.values():
        for pod in pods:
            for at, container in containers(pod.spec):
                for needed in NEEDED:
                    if needed.variable == "ISTIO_GATEWAY" and default_gateway:
                        continue
                    if _misses(container, needed):
                        path = f"{pod.path}.{at}.env"
                        message = (
                            f"{needed.variable} is not set: {needed.reason}; set it to "
                            f"{needed.value}."
                        )
                        yield context.finding(SPEC, pod.owner, path, message)


def _misses(container: dict[str, Any], needed: Needed) -> bool:
    if not needed.image.search(string(container, "image")):
        return False
    names = {string(env, "name") for env in entries(container, "env")}
    return needed.variable not in names and not container.get("envFrom")
