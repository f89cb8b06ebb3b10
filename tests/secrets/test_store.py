"""The folder of secrets is private, ignored by git, written whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from argosy.secrets import (
    Credential,
    SecretError,
    SecretName,
    SecretStore,
    StoreError,
    Values,
    store_for,
)

if TYPE_CHECKING:
    from pathlib import Path

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "ns"}}
NAME = SecretName("ns", "a")
CREDENTIAL = Credential("first", "ada", "pass-word", "Log in.")


@pytest.fixture
def store(tmp_path: Path) -> SecretStore:
    return store_for(tmp_path, "default")


def test_what_is_written_is_read_again(store: SecretStore) -> None:
    values = Values(password=b"x", binary=b"\x00\xff", empty=b"")
    store.write({**SECRET, "type": "Opaque"}, values)
    store.write_credentials({"first": CREDENTIAL})
    assert store.values() == {NAME: values}
    assert store.credentials() == {"first": CREDENTIAL}
    assert store.objects()[0]["type"] == "Opaque"


def test_plain_text_that_a_person_writes_is_taken_and_applied_as_data(store: SecretStore) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    file.write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\nstringData: {a: mine}\n"
    )
    assert store.values() == {NAME: Values(a=b"mine")}
    assert store.objects()[0]["data"] == {"a": "bWluZQ=="}
    assert "stringData" not in store.objects()[0]


def test_an_empty_store_is_empty_and_is_not_made_by_reading(store: SecretStore) -> None:
    assert (store.objects(), store.credentials(), store.holds([])) == ([], {}, True)
    assert not store.holds(["ns/a"])
    assert not store.folder.exists()


def test_only_the_owner_may_look(store: SecretStore) -> None:
    old = os.umask(0)
    try:
        file = store.write(SECRET, Values(a=b"1"))
        store.write_credentials({"first": CREDENTIAL})
    finally:
        os.umask(old)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert store.folder.parent.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert store.credentials_path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_became_readable_is_closed_again(store: SecretStore) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    file.chmod(0o644)
    store.values()
    assert file.stat().st_mode & 0o777 == 0o600


def test_git_does_not_see_the_folder(store: SecretStore, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    store.write(SECRET, Values(a=b"1"))
    seen = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain", "-uall"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert seen.stdout == ""


def test_an_equal_file_is_not_written_again(store: SecretStore) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    before = file.stat()
    store.write(SECRET, Values(a=b"1"))
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(
    store: SecretStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store.write(SECRET, Values(a=b"1"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        store.write(SECRET, Values(a=b"2"))
    assert store.values() == {NAME: Values(a=b"1")}
    assert [entry.name for entry in store.folder.iterdir()] == [file.name]


def test_a_link_in_place_of_the_folder_is_refused(store: SecretStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store.folder.parent.mkdir(parents=True)
    store.folder.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="not a folder"):
        store.write(SECRET, Values(a=b"1"))
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_place_of_a_file_is_not_followed(store: SecretStore, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kind: Secret")
    store.write(SECRET, Values(a=b"1")).unlink()
    store.path(NAME).symlink_to(target)
    with pytest.raises(StoreError, match="cannot read"):
        store.write(SECRET, Values(a=b"2"))
    assert target.read_text() == "kind: Secret"


@pytest.mark.parametrize("name", ["../../x", "a/b", "A", "a_b", ".a"])
def test_a_name_that_is_not_kubernetes_never_becomes_a_file(store: SecretStore, name: str) -> None:
    with pytest.raises(SecretError, match="DNS name"):
        store.write({**SECRET, "metadata": {"name": name, "namespace": "ns"}}, Values(a=b"1"))
    assert not store.folder.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Secret\n  s3cret: [", "is not YAML"),
        ("s3cret", "is not a Secret"),
        ("{kind: Secret, metadata: {name: b, namespace: ns}, stringData: {a: s3cret}}", "ns/b"),
    ],
)
def test_a_damaged_file_is_named_and_not_quoted(
    store: SecretStore, text: str, message: str
) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    file.write_text(text)
    with pytest.raises(StoreError, match=message) as caught:
        store.values()
    assert file.name in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("metadata", ["{name: n, namespace: ns}", "{namespace: ns}", "{name: 7}"])
def test_a_name_that_yaml_reads_as_no_text_is_refused(store: SecretStore, metadata: str) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    file.write_text(f"{{kind: Secret, metadata: {metadata}, stringData: {{a: x}}}}")
    with pytest.raises(SecretError, match="no name, or one that is not text"):
        store.values()


def test_a_value_that_is_not_base64_is_named_by_its_key_and_not_quoted(store: SecretStore) -> None:
    file = store.write(SECRET, Values(a=b"1"))
    file.write_text("{kind: Secret, metadata: {name: a, namespace: ns}, data: {a: s3cret}}")
    with pytest.raises(SecretError, match=r"data\.a is not base64.*stringData") as caught:
        store.values()
    assert "s3cret" not in str(caught.value)


def test_damaged_credentials_are_named_and_not_quoted(store: SecretStore) -> None:
    store.write_credentials({"first": CREDENTIAL})
    store.credentials_path.write_text("- {name: first, password: [s3cret]}")
    with pytest.raises(StoreError, match="credentials") as caught:
        store.credentials()
    assert "s3cret" not in str(caught.value)


def _hold(folder: Path, inside: multiprocessing.Queue[str]) -> None:
    with SecretStore(folder).locked():
        inside.put("in")
        inside.put("out")


def test_two_processes_take_turns(store: SecretStore) -> None:
    context = multiprocessing.get_context("fork")
    events: multiprocessing.Queue[str] = context.Queue()
    with store.locked():
        other = context.Process(target=_hold, args=(store.folder, events))
        other.start()
        assert events.empty()
    other.join(timeout=30)
    assert [events.get(timeout=10), events.get(timeout=10)] == ["in", "out"]
