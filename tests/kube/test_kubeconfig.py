"""Which server, and as whom: what kubectl reads out of kubeconfig files, argosy reads too."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from argosy.kube import ClusterConfig, KubeconfigError, load_in_cluster, load_kubeconfig
from argosy.yaml import dump

if TYPE_CHECKING:
    from pathlib import Path


def config(**changes: Any) -> dict[str, Any]:
    """A kubeconfig with one of each; `changes` replace its top-level keys."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://one.example:6443"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "current-context": "x",
        **changes,
    }


def write(file: Path, **changes: Any) -> Path:
    file.write_text(dump(config(**changes)))
    return file


def with_user(tmp_path: Path, **user: Any) -> ClusterConfig:
    return load_kubeconfig(write(tmp_path / "k", users=[{"name": "u", "user": user}]))


def with_cluster(tmp_path: Path, **cluster: Any) -> ClusterConfig:
    cluster = {"server": "https://one.example:6443", **cluster}
    return load_kubeconfig(write(tmp_path / "k", clusters=[{"name": "c", "cluster": cluster}]))


def test_the_current_context_names_server_user_and_namespace(tmp_path: Path) -> None:
    found = load_kubeconfig(write(tmp_path / "k"))
    assert found.server == "https://one.example:6443"
    assert found.credentials.token == "secret"
    assert (found.context, found.namespace) == ("x", "team")


def test_a_context_can_be_named(tmp_path: Path) -> None:
    contexts = [
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "y", "context": {"cluster": "c", "user": "u", "namespace": "other"}},
    ]
    found = load_kubeconfig(write(tmp_path / "k", contexts=contexts), "y")
    assert found.namespace == "other"


def test_secrets_do_not_show_when_a_configuration_is_printed(tmp_path: Path) -> None:
    assert "pass-1" not in repr(with_user(tmp_path, token="pass-1"))
    assert "pass-1" not in repr(with_user(tmp_path, username="n", password="pass-1"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"current-context": ""}, "sets no current-context"),
        ({"current-context": "z"}, 'current-context names no context: "z"'),
        ({"clusters": []}, 'context "x" names cluster "c", which is not there'),
        ({"users": []}, 'context "x" names user "u", which is not there'),
        ({"users": 3}, "Expected `array`, got `int` - at `$.users`"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence_with_the_file(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    file = write(tmp_path / "k", **changes)
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_context_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r'there is no context "prod"; there are: x$'):
        load_kubeconfig(write(tmp_path / "k"), "prod")


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="there is no such kubeconfig"):
        load_kubeconfig(tmp_path / "absent")


def test_broken_yaml_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "k"
    file.write_text("clusters:\n- name: [\n")
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(file)
    assert f"{file}:" in str(caught.value)


def test_nulls_are_read_as_absent(tmp_path: Path) -> None:
    found = with_user(tmp_path, token="t", exec=None, username=None)
    assert found.credentials.token == "t"


# -- several files -------------------------------------------------------------------------------


def test_of_several_files_the_first_wins_and_absent_ones_are_skipped(tmp_path: Path) -> None:
    one = write(tmp_path / "one", users=[], **{"current-context": "x"})
    two = write(
        tmp_path / "two",
        clusters=[{"name": "c", "cluster": {"server": "https://two.example"}}],
        **{"current-context": "other"},
    )
    env = {"KUBECONFIG": f"{tmp_path}/absent:{one}:{two}:{one}"}
    found = load_kubeconfig(env=env)
    assert found.server == "https://one.example:6443"  # the first file's cluster, whole
    assert found.credentials.token == "secret"  # the second file's user


def test_without_kubeconfig_the_home_directory_is_asked(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config")
    assert load_kubeconfig(env={"HOME": str(tmp_path)}).context == "x"


def test_nothing_anywhere_is_said_with_the_places_asked(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(env={"HOME": str(tmp_path)})
    assert f"{tmp_path}/.kube/config" in str(caught.value)


def test_paths_in_a_file_start_at_that_file(tmp_path: Path) -> None:
    there = tmp_path / "deep"
    there.mkdir()
    (there / "ca.pem").write_bytes(b"PEM")
    file = write(
        there / "k",
        clusters=[
            {"name": "c", "cluster": {"server": "https://a", "certificate-authority": "ca.pem"}}
        ],
        users=[{"name": "u", "user": {"tokenFile": "token"}}],
    )
    found = load_kubeconfig(file)
    assert found.ca == b"PEM"
    assert found.credentials.token_file == there / "token"


# -- forms of a user -----------------------------------------------------------------------------


def test_certificates_come_as_data_or_as_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"KEY")
    data = base64.b64encode(b"CERT").decode()
    found = with_user(tmp_path, **{"client-certificate-data": data, "client-key": "key"})
    assert (found.credentials.certificate, found.credentials.key) == (b"CERT", b"KEY")


def test_impersonation_is_read(tmp_path: Path) -> None:
    extra = {"as": "jane", "as-groups": ["dev"], "as-user-extra": {"reason": ["drill"]}}
    who = with_user(tmp_path, token="t", **extra).credentials.impersonate
    assert who is not None
    assert (who.user, who.groups, who.extra) == ("jane", ("dev",), (("reason", ("drill",)),))


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"token": "t", "username": "n"}, "has a token and a password"),
        ({"client-key-data": "a2V5"}, "has a client key and no client certificate"),
        ({"client-certificate-data": "a2V5"}, "has a client certificate and no client key"),
        ({"client-certificate-data": "%%%", "client-key-data": "a"}, "is not base64"),
        ({"client-certificate": "gone", "client-key-data": "a2V5"}, "cannot be read"),
        (
            {"client-certificate": "a", "client-certificate-data": "a2V5"},
            "has both client-certificate and client-certificate-data",
        ),
        ({"auth-provider": {"name": "gcp"}}, 'auth-provider "gcp", which Kubernetes removed'),
        ({"as-groups": ["g"]}, "impersonates groups without a user"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "has no command"),
        (
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            'has apiVersion "client.authentication.k8s.io/v1alpha1"',
        ),
        (
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}},
            'has interactiveMode ""',
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_user_that_kubectl_refuses_is_refused_by_name(
    tmp_path: Path, user: dict[str, Any], said: str
) -> None:
    with pytest.raises(KubeconfigError) as caught:
        with_user(tmp_path, **user)
    assert said in str(caught.value)
    assert 'user "u"' in str(caught.value)


def test_a_plugin_beside_the_kubeconfig_is_found_from_there(tmp_path: Path) -> None:
    spec = {"command": "./login", "apiVersion": "client.authentication.k8s.io/v1beta1"}
    plugin = with_user(tmp_path, exec=spec).credentials.exec
    assert plugin is not None
    assert plugin.command == str(tmp_path / "login")
    assert plugin.interactive_mode == "IfAvailable"


def test_a_plugin_is_told_about_the_cluster_when_it_asks(tmp_path: Path) -> None:
    file = write(
        tmp_path / "k",
        clusters=[
            {
                "name": "c",
                "cluster": {
                    "server": "https://a",
                    "certificate-authority-data": base64.b64encode(b"CA").decode(),
                    "extensions": [
                        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": 1}}
                    ],
                },
            }
        ],
        users=[
            {
                "name": "u",
                "user": {
                    "exec": {
                        "command": "x",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "interactiveMode": "Never",
                        "provideClusterInfo": True,
                    }
                },
            }
        ],
    )
    plugin = load_kubeconfig(file).credentials.exec
    assert plugin is not None
    assert plugin.cluster_info == {
        "server": "https://a",
        "certificate-authority-data": "Q0E=",
        "config": {"audience": 1},
    }


# -- forms of a cluster --------------------------------------------------------------------------


def test_a_ca_and_no_verification_contradict_each_other(tmp_path: Path) -> None:
    extra = {"insecure-skip-tls-verify": True, "certificate-authority-data": "Q0E="}
    with pytest.raises(KubeconfigError, match="has a certificate authority and insecure-skip"):
        with_cluster(tmp_path, **extra)


def test_server_name_compression_and_proxy_are_read(tmp_path: Path) -> None:
    found = with_cluster(
        tmp_path,
        **{
            "tls-server-name": "kubernetes",
            "disable-compression": True,
            "proxy-url": "http://proxy:3128",
        },
    )
    assert found.tls_server_name == "kubernetes"
    assert found.compress is False
    assert found.proxy == "http://proxy:3128"


def test_a_socks_proxy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="is not an HTTP proxy"):
        with_cluster(tmp_path, **{"proxy-url": "socks5://proxy:1080"})


# -- in a pod ------------------------------------------------------------------------------------


def test_a_pod_finds_its_service_account(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = load_in_cluster(env, directory=tmp_path)
    assert found.server == "https://[fd00::1]:443"
    assert (found.ca, found.namespace) == (b"CA", "team")
    assert found.credentials.token_file == tmp_path / "token"


def test_a_pod_without_a_token_is_told_what_to_set(tmp_path: Path) -> None:
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeconfigError, match="automountServiceAccountToken"):
        load_in_cluster(env, directory=tmp_path)
