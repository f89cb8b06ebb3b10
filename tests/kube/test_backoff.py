"""What is tried again, and after how long."""

from __future__ import annotations

import pytest

from argosy.kube.backoff import Backoff, Sent, retry_after
from argosy.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    ServerError,
    TooManyRequests,
    Unreachable,
)

BACKOFF = Backoff(attempts=4, base=0.1, cap=1.0)
WEBHOOK = 'Internal error occurred: failed calling webhook "check.example.com": no endpoints'


@pytest.mark.parametrize(
    ("error", "idempotent", "sent", "again"),
    [
        (Unreachable("lost"), True, Sent.MAYBE, True),
        (Unreachable("lost"), False, Sent.MAYBE, False),
        (Unreachable("refused"), False, Sent.NOTHING, True),
        (TooManyRequests("slow down"), False, Sent.ANSWERED, True),
        (ServerError("oops"), True, Sent.ANSWERED, True),
        (ServerError("oops"), False, Sent.ANSWERED, False),
        (ServerError("later", retry_after=1.0), False, Sent.ANSWERED, True),
        (ServerError(WEBHOOK), True, Sent.ANSWERED, False),
        (TooManyRequests("much later", retry_after=3600.0), True, Sent.ANSWERED, False),
        (Conflict("no"), True, Sent.ANSWERED, False),
        (Forbidden("no"), True, Sent.ANSWERED, False),
    ],
)
def test_what_is_tried_again(error: ApiError, idempotent: bool, sent: Sent, again: bool) -> None:
    assert BACKOFF.worth_it(1, error, idempotent=idempotent, sent=sent) is again


def test_patience_ends() -> None:
    error = Unreachable("lost")
    assert BACKOFF.worth_it(3, error, idempotent=True, sent=Sent.MAYBE)
    assert not BACKOFF.worth_it(4, error, idempotent=True, sent=Sent.MAYBE)


def test_delays_are_jittered_under_a_ceiling_that_doubles_up_to_the_cap() -> None:
    error = Unreachable("lost")
    ceilings = [BACKOFF.delay(n, error, lambda: 1.0) for n in range(1, 7)]
    assert ceilings == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert BACKOFF.delay(3, error, lambda: 0.0) == 0.0


def test_what_the_server_asks_for_is_the_least() -> None:
    assert BACKOFF.delay(1, TooManyRequests("x", retry_after=7.0), lambda: 0.5) == 7.05


def test_retry_after_is_read_as_seconds_and_a_date_as_one() -> None:
    assert retry_after("3") == 3.0
    assert retry_after("Wed, 21 Oct 2026 07:28:00 GMT") == 1.0
    assert retry_after(None) is None
    assert retry_after("") is None


def test_a_webhook_that_cannot_be_called_is_named() -> None:
    assert ServerError(WEBHOOK).webhook == "check.example.com"
    assert ServerError("etcdserver: request timed out").webhook == ""
