"""Values are made by rule, once, and never so that the platform would break."""

from __future__ import annotations

import base64
import hashlib
import random
from typing import Any

import bcrypt
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.secrets import Credential, Left, Plan, SecretError, SecretName, Values, plan, review
from argosy.secrets.rules import SecretRule

CLIENT = SecretName("auth", "client")
PROXY = SecretName("proxy", "proxy-h675gf55ht")
LOGIN = SecretName("auth", "login")
DATABASE = SecretName("data", "database")

RULES = msgspec.convert(
    [
        {
            "namespace": "auth",
            "name": "client",
            "constants": {"secret": hashlib.sha256(b"public").hexdigest()},
            "keys": {
                "id": {"make": "keep", "why": "A name."},
                "secret": {"make": "random", "length": 40, "why": "Shared."},
            },
        },
        {
            "namespace": "proxy",
            "name": "proxy",
            "hashed": True,
            "constants": {"secret": hashlib.sha256(b"public").hexdigest()},
            "keys": {
                "secret": {
                    "make": "copy",
                    "of": {"namespace": "auth", "name": "client", "key": "secret"},
                    "why": "Both ends.",
                },
                "cookie": {"make": "bytes", "length": 32, "why": "AES."},
            },
        },
        {
            "namespace": "auth",
            "name": "login",
            "keys": {
                "hash": {
                    "make": "bcrypt",
                    "credential": "first",
                    "user": "ada",
                    "use": "Log in.",
                    "length": 20,
                    "why": "Hashes.",
                }
            },
        },
        {
            "namespace": "data",
            "name": "database",
            "constants": {"password": hashlib.sha256(b"").hexdigest()},
            "keys": {"password": {"make": "random", "at_first_start": "It is fixed.", "why": "."}},
        },
    ],
    list[SecretRule],
)

RENDERED = {
    # the copy stands before its source on purpose
    PROXY: Values(secret=b"public", cookie=b"public too"),
    CLIENT: Values(id=b"kubeflow", secret=b"public"),
    LOGIN: Values(hash=b"$2y$12$public"),
    DATABASE: Values(password=b""),
}


def make(seed: int = 1, **kwargs: Any) -> Plan:
    rendered = kwargs.pop("rendered", RENDERED)
    existing = kwargs.pop("existing", {})
    return plan(RULES, rendered, existing, rng=random.Random(seed), **kwargs)


def test_nothing_that_is_public_survives_the_first_plan() -> None:
    done = make()
    public = {value for values in RENDERED.values() for value in values.values()} - {b"kubeflow"}
    assert not public & {value for values in done.values.values() for value in values.values()}
    assert done.left == []
    assert review(RULES, done.values) == []


def test_a_name_is_kept_and_both_ends_hold_the_same_secret() -> None:
    done = make()
    assert done.values[CLIENT]["id"] == b"kubeflow"
    assert done.values[PROXY]["secret"] == done.values[CLIENT]["secret"]
    assert len(done.values[CLIENT]["secret"]) == 40
    assert done.values[CLIENT]["secret"].isalnum()


def test_a_cookie_secret_is_32_bytes_once_its_reader_has_decoded_it() -> None:
    cookie = make().values[PROXY]["cookie"].decode()
    assert len(base64.urlsafe_b64decode(cookie)) == 32


def test_the_hash_fits_the_password_that_a_person_will_type() -> None:
    done = make()
    credential = done.credentials["first"]
    assert (credential.user, credential.use, len(credential.password)) == ("ada", "Log in.", 20)
    assert bcrypt.checkpw(credential.password.encode(), done.values[LOGIN]["hash"])


@given(st.integers(), st.integers())
def test_planning_again_makes_nothing_anew(first: int, second: int) -> None:
    # the login is left out: a hash takes 60 ms, and its own test says the same of it
    rendered = {name: values for name, values in RENDERED.items() if name != LOGIN}
    before = make(first, rendered=rendered)
    again = make(second, rendered=rendered, existing=before.values)
    assert again.values == before.values
    assert again.made == []


def test_a_hash_is_not_made_again_while_it_stands() -> None:
    before = make()
    again = make(2, existing=before.values, credentials=before.credentials)
    assert again.values == before.values
    assert again.credentials == before.credentials


def test_a_lost_hash_is_made_from_the_password_that_was_kept() -> None:
    kept = {"first": Credential("first", "ada", "correct horse battery", "Log in.")}
    done = make(credentials=kept)
    assert done.credentials == kept
    assert bcrypt.checkpw(b"correct horse battery", done.values[LOGIN]["hash"])


def test_a_new_hash_behind_kustomizes_name_does_not_end_sessions() -> None:
    before = make()
    renamed = SecretName("proxy", "proxy-bbbbbbbbbb")
    rendered = {**RENDERED, renamed: RENDERED[PROXY]}
    del rendered[PROXY]
    after = make(2, rendered=rendered, existing=before.values, credentials=before.credentials)
    assert after.values[renamed] == before.values[PROXY]


def test_rotation_makes_one_secret_anew_and_what_is_copied_from_it() -> None:
    before = make()
    after = make(
        2, existing=before.values, credentials=before.credentials, rotate=["auth/client:secret"]
    )
    assert after.values[CLIENT]["secret"] != before.values[CLIENT]["secret"]
    assert after.values[PROXY]["secret"] == after.values[CLIENT]["secret"]
    assert after.values[PROXY]["cookie"] == before.values[PROXY]["cookie"]
    assert after.values[LOGIN] == before.values[LOGIN]
    assert {made.secret for made in after.made} == {CLIENT, PROXY}


def test_rotating_a_login_makes_a_new_password() -> None:
    before = make()
    after = make(2, existing=before.values, credentials=before.credentials, rotate=["auth/login"])
    assert after.credentials["first"].password != before.credentials["first"].password
    assert bcrypt.checkpw(after.credentials["first"].password.encode(), after.values[LOGIN]["hash"])


def test_what_a_server_would_not_learn_of_is_not_rotated() -> None:
    with pytest.raises(SecretError, match="cannot be rotated: It is fixed"):
        make(rotate=["data/database"])


def test_rotating_something_unknown_names_the_nearest() -> None:
    with pytest.raises(SecretError, match="did you mean 'auth/client'"):
        make(rotate=["auth/clients"])


def test_a_value_whose_server_is_elsewhere_stays_and_is_reported() -> None:
    done = make(untold=[(DATABASE, "password")])
    assert done.values[DATABASE]["password"] == b""
    assert [(left.secret, left.key) for left in done.left] == [(DATABASE, "password")]
    again = make(existing=done.values, untold=[(DATABASE, "password")])
    assert [(left.secret, left.key) for left in again.left] == [(DATABASE, "password")]


def test_the_users_own_value_for_a_server_elsewhere_is_kept_in_peace() -> None:
    mine = {DATABASE: Values(password=b"what the server in the cloud knows")}
    done = make(existing=mine, untold=[(DATABASE, "password")])
    assert done.values[DATABASE] == mine[DATABASE]
    assert done.left == []


def test_an_adopted_database_keeps_its_password_and_that_is_reported() -> None:
    done = make(existing={DATABASE: Values(password=b"")})
    assert done.values[DATABASE]["password"] == b""
    assert [left.secret for left in done.left] == [DATABASE]


def test_a_copy_without_its_source_stays_and_is_reported() -> None:
    done = make(rendered={PROXY: RENDERED[PROXY]})
    assert done.values[PROXY]["secret"] == b"public"
    assert [(left.secret, left.key) for left in done.left] == [(PROXY, "secret")]
    mine = {PROXY: Values(secret=b"from my identity provider", cookie=b"x")}
    assert make(rendered={PROXY: RENDERED[PROXY]}, existing=mine).left == []


def test_a_copy_finds_its_source_among_what_was_made_before() -> None:
    before = make()
    done = make(rendered={PROXY: RENDERED[PROXY]}, existing=before.values)
    assert done.values[PROXY]["secret"] == before.values[CLIENT]["secret"]


def test_a_secret_without_a_rule_keeps_its_value_and_is_reported() -> None:
    mine = SecretName("mine", "token")
    done = make(rendered={mine: Values(token=b"abc")})
    assert done.values[mine] == Values(token=b"abc")
    assert [(left.secret, left.key) for left in done.left] == [(mine, "token")]


def test_public_values_are_recognised_wherever_they_turn_up() -> None:
    found = review(RULES, {CLIENT: Values(id=b"kubeflow", secret=b"public")})
    assert found == [Left(CLIENT, "secret", "it still has upstream's value, which is public")]


def test_no_repr_shows_a_value() -> None:
    done = make()
    text = repr(done)
    for values in done.values.values():
        assert not [v for v in values.values() if v != b"kubeflow" and v.decode() in text]
    assert done.credentials["first"].password not in text


@pytest.mark.parametrize(
    "how",
    [
        {"make": "random", "length": 8, "why": "."},
        {"make": "guess", "why": "."},
        {"make": "random"},
        {"make": "bytes", "length": 8, "why": "."},
    ],
)
def test_a_rule_that_makes_weak_or_unexplained_values_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"namespace": "n", "name": "s", "keys": {"k": how}}, SecretRule)


def test_a_rule_covers_the_name_with_kustomizes_hash_and_no_other() -> None:
    rule = RULES[1]
    assert rule.covers("proxy", "proxy-h675gf55ht")
    assert not rule.covers("proxy", "proxy")
    assert not rule.covers("proxy", "proxy-theme-h675gf55ht")
    assert not rule.covers("other", "proxy-h675gf55ht")
