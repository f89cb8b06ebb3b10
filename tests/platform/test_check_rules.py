"""What each check finds in a small platform, and what it leaves alone."""

from __future__ import annotations

import pytest

from argosy.platform.check import SPECS
from rendered_texts import NAMESPACE, codes, findings
from wrong_platforms import (
    CERTIFICATE,
    CRD,
    MESH,
    POD,
    ROUTE,
    SERVICE,
    THING,
    WEBHOOK,
    WRONG,
    document,
    policy,
    with_env,
)


def test_a_sound_platform_has_no_findings() -> None:
    assert codes(NAMESPACE + document(POD, SERVICE, CRD, THING)) == set()


@pytest.mark.parametrize("code", WRONG)
def test_each_check_finds_what_it_is_for(code: str) -> None:
    found = findings(WRONG[code], code=code)
    assert len(found) >= 1
    assert all(finding.message.endswith(".") and finding.file for finding in found)


def test_every_check_has_an_example() -> None:
    elsewhere = {"ARG010", "ARG011", "ARG020", "ARG021", "ARG071", "ARG090"}
    assert {spec.code for spec in SPECS} == set(WRONG) | elsewhere


def test_values_of_secrets_are_never_shown() -> None:
    shown = repr(findings(WRONG["ARG070"]))
    assert "password" in shown
    assert "hunter2" not in shown


def test_an_object_that_two_apps_render_is_reported_with_the_other_file() -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    (found,) = findings(text, text)
    assert (found.code, found.app) == ("ARG010", "app1")
    assert "rendered/default/app0/a.yaml" in found.message


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("example.com/v1\n", "example.org/v1\n"), "No CustomResourceDefinition"),
        (("kind: Thing", "kind: Thign"), "did you mean 'Thing'?"),
        (("example.com/v1\n", "example.com/v1alpha1\n"), "write example.com/v1"),
        (("example.com/v1\n", "example.com/v2\n"), "write example.com/v1"),
    ],
)
def test_a_kind_that_nobody_defines_is_reported_with_what_is_meant(
    change: tuple[str, str], part: str
) -> None:
    (found,) = findings(NAMESPACE + document(CRD, THING.replace(*change)), code="ARG011")
    assert part in found.message


@pytest.mark.parametrize(
    ("spec", "code", "path"),
    [
        ("{size: 0}", "ARG020", "spec.size"),
        ("{size: many}", "ARG020", "spec.size"),
        ("{}", "ARG020", "spec"),
        ("{size: 1, port: 1.5}", "ARG020", "spec.port"),
        ("{size: 1, colour: red}", "ARG021", "spec.colour"),
        ("{size: 1, port: http}", "", ""),
        ("{size: 1, extra: {anything: goes}}", "", ""),
        ("{size: 1, maybe: null}", "", ""),
    ],
)
def test_custom_resources_are_held_against_their_definition(
    spec: str, code: str, path: str
) -> None:
    found = findings(NAMESPACE + document(CRD, THING.replace("{size: 1}", spec)))
    assert [(one.code, one.path) for one in found] == ([(code, path)] if code else [])


def test_a_definition_whose_schema_is_none_is_reported_and_its_objects_are_not_held_to_it() -> None:
    (found,) = findings(NAMESPACE + document(CRD.replace("type: integer", "type: whole"), THING))
    assert (found.code, found.path) == ("ARG020", "spec.versions")
    assert found.object.name == "things.example.com"


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        (("containerPort: 8080", "containerPort: web"), "ARG020", "containerPort"),
        (("image: example", "imgae: example"), "ARG021", "imgae"),
        (("image: example", "resources: {limits: {cpu: 1}}\n        image: example"), "", ""),
    ],
)
def test_built_in_kinds_are_held_against_the_target_version(
    change: tuple[str, str], code: str, path: str
) -> None:
    found = findings(NAMESPACE + POD.replace(*change))
    assert [one.code for one in found] == ([code] if code else [])
    assert all(one.path.endswith(path) for one in found)


def test_an_optional_reference_may_lead_nowhere() -> None:
    text = POD + "        envFrom: [{secretRef: {name: gone, optional: true}}]\n"
    assert codes(NAMESPACE + text) == set()


def test_what_kubernetes_and_certificates_make_need_not_be_in_the_tree() -> None:
    volumes = """\
      serviceAccountName: default
      priorityClassName: system-cluster-critical
      volumes:
      - {name: a, configMap: {name: kube-root-ca.crt}}
      - {name: b, secret: {secretName: cert}}
"""
    text = document(POD + volumes, CERTIFICATE.replace("DNS", "web.team.svc"))
    assert not findings(NAMESPACE + text, code="ARG030")


def test_a_containers_own_variables_are_replaced_by_kubernetes() -> None:
    text = (
        POD + "        env: [{name: A, value: x}, {name: B, value: $(A)}]\n        args: [$(B)]\n"
    )
    assert codes(NAMESPACE + text) == set()


@pytest.mark.parametrize(
    "opening",
    [
        'annotations: {traffic.sidecar.istio.io/excludeInboundPorts: "8080"}',
        "annotations: {sidecar.istio.io/inject: 'false'}",
    ],
)
def test_a_webhook_outside_the_mesh_is_open(opening: str) -> None:
    pod = POD.replace(
        "metadata: {labels: {app: web}}", f"metadata: {{labels: {{app: web}}, {opening}}}"
    )
    assert "annotations" in pod
    text = document(pod, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "web.team.svc"))
    assert not findings(MESH + text, code="ARG051")


def test_an_allow_policy_for_the_gateway_makes_a_route_live() -> None:
    allow = policy(
        "AuthorizationPolicy",
        "{rules: [{from: [{source: {principals: [cluster.local/ns/istio-system/sa/gateway]}}]}]}",
    )
    text = document(POD, SERVICE, ROUTE, allow)
    assert not findings(MESH + text, code="ARG053")
    other = text.replace("sa/gateway", "sa/default")
    assert len(findings(MESH + other, code="ARG053")) == 1


def test_a_network_policy_counts_only_when_it_selects_the_pods_and_the_caller_is_left_out() -> None:
    closed = policy("NetworkPolicy", "{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}")
    open_ = closed.replace("name: p", "name: q").replace(
        "ingress: [{from: [{podSelector: {}}]}]", "ingress: [{ports: [{port: 8080}]}]"
    )
    text = document(POD, SERVICE, WEBHOOK, CERTIFICATE.replace("DNS", "web.team.svc"), closed)
    assert len(findings(NAMESPACE + text, code="ARG051")) == 1
    assert not findings(NAMESPACE + document(text, open_), code="ARG051")


def test_addresses_elsewhere_say_nothing() -> None:
    for url in ("http://web.elsewhere.svc:80", "https://example.com", "web.team.svc.example"):
        assert not findings(with_env("URL", url) + "---\n" + SERVICE, code="ARG040")
