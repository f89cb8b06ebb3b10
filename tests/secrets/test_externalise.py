"""Secrets leave what is rendered; what stays behind never depends on a value."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any

import pytest

from argosy.platform.catalogue import load_catalogue, releases
from argosy.secrets import (
    SecretError,
    SecretName,
    SecretStore,
    StoreError,
    Values,
    Workload,
    adopt,
    externalise,
    mask,
    review,
    rotate,
    store_for,
    workloads,
)

if TYPE_CHECKING:
    from pathlib import Path

RULES = [rule for app in load_catalogue("26.03").apps.values() for rule in app.secrets]
MYSQL = Workload("apps", "Deployment", "kubeflow", "mysql")


def secret(namespace: str, name: str, **values: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}


def upstream_secrets() -> list[dict[str, Any]]:
    public = "pUBnBOY80SnXgjibTYM9ZWNzY2xreNGQok"
    return [
        secret("auth", "dex-oidc-client", OIDC_CLIENT_ID="kubeflow", OIDC_CLIENT_SECRET=public),
        secret("auth", "dex-passwords", DEX_USER_PASSWORD="$2y$12$x"),
        secret(
            "oauth2-proxy",
            "oauth2-proxy-h675gf55ht",
            **{"client-id": "kubeflow", "client-secret": public, "cookie-secret": "7d16"},
        ),
        secret("kubeflow", "mlpipeline-minio-artifact", accesskey="minio", secretkey="minio123"),
        secret("kubeflow", "mysql-secret", username="root", password=""),
        secret("kubeflow", "katib-mysql-secrets", MYSQL_ROOT_PASSWORD="test"),
    ]


def mysql() -> dict[str, Any]:
    env = [{"name": "MYSQL_ALLOW_EMPTY_PASSWORD", "value": "true"}]
    containers = [{"name": "mysql", "env": env}, {"name": "istio-proxy"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "mysql", "namespace": "kubeflow"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


FILLED_BY_A_CONTROLLER = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "webhook-certs", "namespace": "knative-serving"},
}


@pytest.fixture
def store(tmp_path: Path) -> SecretStore:
    return store_for(tmp_path, "default")


def run(store: SecretStore, objects: list[dict[str, Any]], seed: int = 1) -> Any:
    return externalise(objects, RULES, store, rng=random.Random(seed))


def test_no_secret_with_a_value_stays_and_those_of_controllers_do(store: SecretStore) -> None:
    done = run(store, [*upstream_secrets(), FILLED_BY_A_CONTROLLER, mysql()])
    assert [obj["metadata"]["name"] for obj in done.kept] == ["webhook-certs", "mysql"]
    assert len(done.secrets) == 6
    assert done.left == []
    assert review(RULES, store.values()) == []


def test_what_stays_is_the_same_for_everybody(store: SecretStore, tmp_path: Path) -> None:
    objects = [*upstream_secrets(), mysql()]
    mine = run(store, objects)
    yours = run(store_for(tmp_path / "other", "default"), objects, seed=2)
    assert mine.kept == yours.kept
    assert mine.secrets != yours.secrets


def test_the_database_learns_the_password_that_its_clients_use(store: SecretStore) -> None:
    assert workloads(RULES) == {MYSQL}
    (kept,) = run(store, [*upstream_secrets(), mysql()]).kept
    server, sidecar = kept["spec"]["template"]["spec"]["containers"]
    reference = {"secretKeyRef": {"name": "mysql-secret", "key": "password"}}
    assert server["env"][1] == {"name": "MYSQL_ROOT_PASSWORD", "valueFrom": reference}
    assert sidecar == {"name": "istio-proxy"}
    assert len(store.values()[SecretName("kubeflow", "mysql-secret")]["password"]) == 32


def test_the_given_objects_are_not_changed(store: SecretStore) -> None:
    given = mysql()
    run(store, [*upstream_secrets(), given])
    assert given == mysql()


def test_without_the_database_its_password_stays_upstreams(store: SecretStore) -> None:
    done = run(store, upstream_secrets())
    assert [left.secret.name for left in done.left] == ["mysql-secret"]
    assert store.values()[SecretName("kubeflow", "mysql-secret")]["password"] == b""


def test_the_login_is_told_once_and_kept(store: SecretStore) -> None:
    objects = [*upstream_secrets(), mysql()]
    (first,) = run(store, objects).credentials
    assert first.user == "user@example.com"
    assert store.credentials()["first-user"] == first
    again = run(store, objects, seed=2)
    assert (again.credentials, again.made) == ([], [])


def test_apps_may_come_one_by_one(store: SecretStore) -> None:
    dex, proxy = upstream_secrets()[:2], upstream_secrets()[2:3]
    run(store, dex)
    done = run(store, proxy, seed=2)
    assert done.left == []
    values = store.values()
    assert (
        values[SecretName("oauth2-proxy", "oauth2-proxy-h675gf55ht")]["client-secret"]
        == values[SecretName("auth", "dex-oidc-client")]["OIDC_CLIENT_SECRET"]
    )


def test_an_app_without_secrets_touches_no_disk(store: SecretStore) -> None:
    done = run(store, [FILLED_BY_A_CONTROLLER])
    assert done.kept == [FILLED_BY_A_CONTROLLER]
    assert not store.folder.exists()


def test_a_run_that_was_stopped_between_two_files_is_healed_by_the_next(
    store: SecretStore,
) -> None:
    objects = [*upstream_secrets(), mysql()]
    run(store, objects)
    proxy = SecretName("oauth2-proxy", "oauth2-proxy-h675gf55ht")
    login = SecretName("auth", "dex-passwords")
    store.path(proxy).unlink()
    store.path(login).unlink()
    before = store.credentials()
    run(store, objects, seed=2)
    values = store.values()
    dex = values[SecretName("auth", "dex-oidc-client")]
    assert values[proxy]["client-secret"] == dex["OIDC_CLIENT_SECRET"]
    assert store.credentials() == before


def test_rotation_works_from_the_store_alone(store: SecretStore) -> None:
    run(store, [*upstream_secrets(), mysql()])
    before = store.values()
    done = rotate(["auth/dex-oidc-client"], RULES, store, rng=random.Random(2))
    after = store.values()
    changed = {name for name in before if before[name] != after[name]}
    assert {name.namespace for name in changed} == {"auth", "oauth2-proxy"}
    assert {made.secret for made in done.made} == changed
    with pytest.raises(SecretError, match="MySQL takes its root password"):
        rotate(["kubeflow/katib-mysql-secrets"], RULES, store)


def test_a_running_installations_values_are_taken_over_before_new_ones_are_made(
    store: SecretStore,
) -> None:
    live = secret("kubeflow", "katib-mysql-secrets")
    live["data"] = {"MYSQL_ROOT_PASSWORD": base64.b64encode(b"test").decode()}
    live["metadata"]["uid"] = "1"
    assert adopt([live], RULES, store) == [SecretName("kubeflow", "katib-mysql-secrets")]
    done = run(store, [*upstream_secrets(), mysql()])
    values = store.values()[SecretName("kubeflow", "katib-mysql-secrets")]
    assert values == Values(MYSQL_ROOT_PASSWORD=b"test")
    assert [left.secret.name for left in done.left] == ["katib-mysql-secrets"]
    assert adopt([live], RULES, store) == []


def test_a_secret_of_the_users_own_is_kept_out_as_well_and_reported(store: SecretStore) -> None:
    done = run(store, [secret("mine", "token", token="abc")])
    assert done.kept == []
    assert [(str(left.secret), left.key) for left in done.left] == [("mine/token", "token")]


def test_a_store_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / ".argosy").write_text("a file")
    with pytest.raises(StoreError, match="not a folder"):
        run(store_for(tmp_path, "default"), upstream_secrets())


def test_masking_is_at_hand_for_every_display() -> None:
    shown = str(mask(secret("auth", "x", password="hunter2")))
    assert "hunter2" not in shown


@pytest.mark.parametrize("release", releases())
def test_every_copy_in_the_catalogue_has_its_source(release: str) -> None:
    rules = [rule for app in load_catalogue(release).apps.values() for rule in app.secrets]
    keys = {(rule.namespace, rule.name, key) for rule in rules for key in rule.keys}
    copies = [how.of for rule in rules for how in rule.keys.values() if hasattr(how, "of")]
    assert copies
    assert {(of.namespace, of.name, of.key) for of in copies} <= keys
