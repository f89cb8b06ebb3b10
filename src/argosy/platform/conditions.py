"""Which conditions of which custom resources say that they are well, failed or under way.

Pure data with a look-up. A group may stand for all its kinds with "*".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Conditions", "condition_rule", "named"]


class Conditions(NamedTuple):
    """How to read one kind's conditions.

    Attributes:
        ready: the condition that is True when all is well and False when it is not.
        waiting: conditions that mean "under way" while they are True, whatever `ready` says.
        failed: conditions that mean "failed" while they are True.
        absent: what it means that there is no `ready` condition yet.
        waiting_for: the reason given then.
    """

    ready: str = "Ready"
    waiting: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    absent: Literal["progressing", "healthy"] = "progressing"
    waiting_for: str = "its controller has not reported yet"


_CONTROLLED = Conditions()
_RULES: dict[tuple[str, str], Conditions] = {
    ("cert-manager.io", "Certificate"): Conditions(
        waiting=("Issuing",), waiting_for="waiting for the certificate"
    ),
    ("cert-manager.io", "Issuer"): Conditions(waiting_for="the issuer is being initialised"),
    ("cert-manager.io", "ClusterIssuer"): Conditions(waiting_for="the issuer is being initialised"),
    ("serving.knative.dev", "*"): _CONTROLLED,
    ("eventing.knative.dev", "*"): _CONTROLLED,
    ("messaging.knative.dev", "*"): _CONTROLLED,
    ("serving.kserve.io", "InferenceService"): _CONTROLLED,
    ("serving.kserve.io", "InferenceGraph"): _CONTROLLED,
    ("serving.kserve.io", "LLMInferenceService"): _CONTROLLED,
    ("serving.kserve.io", "TrainedModel"): _CONTROLLED,
    # the Profile controller reports trouble and is silent when all is well
    ("kubeflow.org", "Profile"): Conditions(
        ready="Successful", failed=("Failed",), absent="healthy"
    ),
    ("kubeflow.org", "PVCViewer"): Conditions(absent="healthy"),
    ("kubeflow.org", "Notebook"): Conditions(absent="healthy"),
    ("kubeflow.org", "Experiment"): Conditions(ready="Succeeded", failed=("Failed",)),
    ("trainer.kubeflow.org", "TrainJob"): Conditions(ready="Complete", failed=("Failed",)),
    ("jobset.x-k8s.io", "JobSet"): Conditions(ready="Completed", failed=("Failed",)),
    ("external-secrets.io", "ExternalSecret"): Conditions(
        waiting_for="the secret store has not been read"
    ),
    ("external-secrets.io", "SecretStore"): _CONTROLLED,
    ("external-secrets.io", "ClusterSecretStore"): _CONTROLLED,
    ("bitnami.com", "SealedSecret"): Conditions(ready="Synced"),
    ("gateway.networking.k8s.io", "Gateway"): Conditions(ready="Programmed"),
}


def condition_rule(group: str, kind: str) -> Conditions | None:
    """Return how to read the conditions of a kind; None when they say nothing about health."""
    return _RULES.get((group, kind)) or _RULES.get((group, "*"))


def named(conditions: Iterable[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Return the condition of the type `kind`; None when it is not there."""
    return next((c for c in conditions if c.get("type") == kind), None)
