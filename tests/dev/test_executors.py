"""Steps of Argo Workflows and Tekton that are run for real report as their controllers expect.

The pods are written as the controllers write them; their executors are upstream's own programs,
built once, which takes minutes.
"""

from __future__ import annotations

import json
import os

import pytest

from argosy.dev import cluster
from devcluster_fixtures import start_cluster

pytestmark = [pytest.mark.apiserver, pytest.mark.integration, pytest.mark.timeout(1500)]

PODS = "/api/v1/namespaces/default/pods"
RESULTS = "/apis/argoproj.io/v1alpha1/namespaces/default/workflowtaskresults"
ANNOTATION = {"argosy.dev/run": "process"}


@pytest.fixture
def executing(request):
    """Return a cluster whose pods find the executor that the test names."""
    found = start_cluster("exec", nodes=1, executors=(request.param,))
    yield found
    cluster.down(found.name, delete=True, env=os.environ)


def _ended(found):
    return found is not None and found["status"].get("phase") in {"Succeeded", "Failed"}


def _step(name, script, **flags):
    arguments = [f"-{key}={value}" for key, value in flags.items()]
    mounts = [
        {"name": name, "mountPath": f"/tekton/{name}"}
        for name in ("bin", "run", "results", "steps", "scripts")
    ]
    return {
        "name": f"step-{name}",
        "image": "none",
        "command": ["/tekton/bin/entrypoint"],
        "args": [
            *arguments,
            "-termination_path=/tekton/termination",
            "-entrypoint=sh",
            "--",
            "-c",
            script,
        ],
        "terminationMessagePath": "/tekton/termination",
        "volumeMounts": mounts,
    }


@pytest.mark.parametrize("executing", ["tekton"], indirect=True)
def test_a_tekton_step_reports_its_results_and_waits_for_its_predecessor(executing):
    source = ["/ko-app/entrypoint", "init", "/ko-app/entrypoint", "/tekton/bin/entrypoint"]
    first = _step("one", "printf 1 > /tekton/steps/made", post_file="/tekton/run/0/out")
    second = _step(
        "two",
        "cat /tekton/steps/made; printf value > /tekton/results/sum",
        wait_file="/tekton/run/0/out",
        post_file="/tekton/run/1/out",
        results="sum",
    )
    prepare = {
        "name": "prepare",
        "image": "none",
        "command": [*source, "step-one", "step-two"],
        "volumeMounts": first["volumeMounts"],
    }
    volumes = [{"name": m["name"], "emptyDir": {}} for m in first["volumeMounts"]]
    spec = {
        "initContainers": [prepare],
        "containers": [second, first],  # in whatever order they are started
        "volumes": volumes,
        "restartPolicy": "Never",
    }
    executing.api.create(
        PODS, {"metadata": {"name": "task", "annotations": ANNOTATION}, "spec": spec}
    )
    found = executing.api.wait(PODS, "task", _ended)
    assert found["status"]["phase"] == "Succeeded", found["status"]
    (message,) = [
        s["state"]["terminated"]["message"]
        for s in found["status"]["containerStatuses"]
        if s["name"] == "step-two"
    ]
    results = {entry["key"]: entry for entry in json.loads(message)}
    assert results["sum"] == {"key": "sum", "value": "value", "type": 1}
    assert "StartedAt" in results


def _install_task_results(api):
    """Install the one kind of Argo's that an executor writes, and the right to write it."""
    group = "argoproj.io"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    names = {"plural": "workflowtaskresults", "kind": "WorkflowTaskResult"}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.create(
        crds,
        {
            "metadata": {"name": f"workflowtaskresults.{group}"},
            "spec": {
                "group": group,
                "names": names,
                "scope": "Namespaced",
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        },
    )

    def established(found):
        conditions = (found or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    api.wait(crds, f"workflowtaskresults.{group}", established)
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rule = {"apiGroups": [group], "resources": ["workflowtaskresults"], "verbs": ["*"]}
    api.create(f"{rbac}/roles", {"metadata": {"name": "executor"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "executor"}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    api.create(
        f"{rbac}/rolebindings",
        {"metadata": {"name": "executor"}, "roleRef": role, "subjects": [account]},
    )


@pytest.mark.parametrize("executing", ["argo"], indirect=True)
def test_an_argo_step_reports_its_output_parameters(executing):
    _install_task_results(executing.api)
    parameter = {"name": "sum", "valueFrom": {"path": "/tmp/sum"}}
    command = ["sh", "-c", "printf 42 > /tmp/sum"]
    template = {
        "name": "add",
        "container": {"name": "", "image": "none", "command": command},
        "outputs": {"parameters": [parameter]},
    }
    variables = {
        "ARGO_POD_NAME": "add",
        "ARGO_POD_UID": "",
        "ARGO_WORKFLOW_NAME": "sums",
        "ARGO_WORKFLOW_UID": "0",
        "ARGO_NODE_ID": "sums-1",
        "ARGO_TEMPLATE": json.dumps(template),
        "ARGO_INCLUDE_SCRIPT_OUTPUT": "false",
        "ARGO_DEADLINE": "0001-01-01T00:00:00Z",
        "ARGO_PROGRESS_FILE": "/var/run/argo/progress",
    }
    mounts = [{"name": "var-run-argo", "mountPath": "/var/run/argo"}]

    def container(name, *command):
        env = [
            {"name": k, "value": v} for k, v in {**variables, "ARGO_CONTAINER_NAME": name}.items()
        ]
        shape = {"name": name, "image": "none", "command": list(command), "env": env}
        return {**shape, "volumeMounts": mounts}

    emissary = ["/var/run/argo/argoexec", "emissary", "--", *command]
    spec = {
        "initContainers": [container("init", "argoexec", "init")],
        "containers": [container("wait", "argoexec", "wait"), container("main", *emissary)],
        "volumes": [{"name": "var-run-argo", "emptyDir": {}}],
        "restartPolicy": "Never",
    }
    executing.api.create(
        PODS, {"metadata": {"name": "add", "annotations": ANNOTATION}, "spec": spec}
    )
    found = executing.api.wait(PODS, "add", _ended)
    assert found["status"]["phase"] == "Succeeded", found["status"]
    result = executing.api.get(f"{RESULTS}/sums-1")
    (reported,) = result["outputs"]["parameters"]
    assert (reported["name"], reported["value"]) == ("sum", "42")
    labels = result["metadata"]["labels"]
    assert labels["workflows.argoproj.io/report-outputs-completed"] == "true"
