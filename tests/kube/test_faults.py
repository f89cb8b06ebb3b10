"""When answers get lost, are late, or say no, nothing is done twice and nothing is missed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from argosy.kube import (
    Conflict,
    Expired,
    KubeApi,
    NotFound,
    Resource,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from argosy.kube.config import ClusterConfig

from .conftest import LOST, answer, refusal, stream

if TYPE_CHECKING:
    from .conftest import Script

MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}


def obj(name: str, version: int, uid: str = "") -> dict[str, Any]:
    return {
        **MAP,
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
        },
    }


def page(version: int, *items: dict[str, Any], more: str = "") -> bytes:
    return answer(
        200, {"metadata": {"resourceVersion": str(version), "continue": more}, "items": items}
    )


async def test_an_apply_whose_answer_is_lost_is_sent_again(scripted: Script) -> None:
    scripted.answers = [answer(200, {}), LOST, answer(200, MAP)]
    async with scripted.api() as api:
        await api.version()
        assert await api.apply(MAP, resource=MAPS) == MAP
    assert [r.split()[0] for r in scripted.requests] == ["GET", "PATCH", "PATCH"]
    assert api.stats.retries == {"apply": 1}
    assert api.stats.requests["apply", 0] == 1


async def test_a_create_whose_answer_is_lost_is_not_sent_again(scripted: Script) -> None:
    scripted.answers = [LOST]
    async with scripted.api() as api:
        with pytest.raises(Unreachable, match=r"create ConfigMap n/a: the connection .* was lost"):
            await api.create(MAPS, MAP)
    assert len(scripted.requests) == 1


async def test_an_answer_that_breaks_off_is_as_good_as_lost(scripted: Script) -> None:
    scripted.answers = [answer(200, MAP)[:-5], answer(200, MAP)]
    async with scripted.api() as api:
        assert await api.get(MAPS, "a", "n") == MAP


async def test_a_delete_that_was_done_though_its_answer_was_lost_is_a_success(
    scripted: Script,
) -> None:
    scripted.answers = [LOST, refusal(404, "NotFound")]
    async with scripted.api() as api:
        assert await api.delete(MAPS, "a", "n") == {}


async def test_a_delete_of_what_is_not_there_says_so(scripted: Script) -> None:
    scripted.answers = [refusal(404, "NotFound")]
    async with scripted.api() as api:
        with pytest.raises(NotFound):
            await api.delete(MAPS, "a", "n")


async def test_a_delete_that_was_only_told_to_wait_does_not_count_as_done(
    scripted: Script,
) -> None:
    scripted.answers = [refusal(429, "TooManyRequests"), refusal(404, "NotFound")]
    async with scripted.api() as api:
        with pytest.raises(NotFound):
            await api.delete(MAPS, "a", "n")


async def test_retry_after_is_honoured_and_fewer_requests_fly(scripted: Script) -> None:
    scripted.answers = [refusal(429, "TooManyRequests", Retry_After="3"), answer(200, MAP)]
    async with scripted.api() as api:
        await api.create(MAPS, MAP)
        assert api.in_flight_limit == 32
    assert scripted.waits == [3.05]


async def test_a_server_that_goes_on_saying_429_is_given_up(scripted: Script) -> None:
    scripted.answers = [refusal(429, "TooManyRequests")] * 6
    async with scripted.api() as api:
        with pytest.raises(TooManyRequests):
            await api.get(MAPS, "a", "n")
    assert len(scripted.requests) == 6
    assert scripted.waits == [0.05, 0.1, 0.2, 0.4, 0.8]


async def test_a_failing_webhook_is_reported_at_once_by_name(scripted: Script) -> None:
    said = 'Internal error occurred: failed calling webhook "check.example.com": refused'
    scripted.answers = [refusal(500, "InternalError", said)]
    async with scripted.api() as api:
        with pytest.raises(ServerError) as caught:
            await api.apply(MAP, resource=MAPS)
    assert caught.value.webhook == "check.example.com"


async def test_an_address_where_nobody_listens_fails_soon(scripted: Script) -> None:
    config = ClusterConfig(server="http://127.0.0.1:1")
    async with scripted.api(config) as api:
        with pytest.raises(Unreachable) as caught:
            await api.version()
    assert len(scripted.waits) == 1
    assert "http://127.0.0.1:1 cannot be reached: connection refused" in str(caught.value)
    assert str(caught.value).endswith("is the cluster up?")


async def test_a_client_that_is_not_entered_says_how_it_is_used() -> None:
    with pytest.raises(RuntimeError, match="async with KubeApi"):
        await KubeApi(ClusterConfig(server="http://127.0.0.1:1")).version()


async def test_a_cancelled_request_gives_its_turn_back(scripted: Script) -> None:
    async with scripted.api() as api:
        task = asyncio.create_task(api.version())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        scripted.answers = [answer(200, {"gitVersion": "v1"})]
        assert (await api.version())["gitVersion"] == "v1"
        assert api._transport.limit.in_flight == 0


async def test_a_replace_that_names_a_version_is_not_sent_twice(scripted: Script) -> None:
    scripted.answers = [LOST]
    async with scripted.api() as api:
        with pytest.raises(Unreachable):
            await api.replace(MAPS, obj("a", 7))


# -- lists ---------------------------------------------------------------------------------------

GONE = answer(
    410,
    {
        "kind": "Status",
        "reason": "Expired",
        "message": "too old",
        "metadata": {"continue": "newer"},
    },
)


async def test_a_list_whose_token_expires_goes_on_and_says_so(scripted: Script) -> None:
    scripted.answers = [page(5, obj("a", 1), more="t"), GONE, page(9, obj("b", 8))]
    async with scripted.api() as api:
        listing = api.list(MAPS)
        assert [o["metadata"]["name"] async for o in listing] == ["a", "b"]
    assert not listing.consistent
    assert "continue=newer" in scripted.requests[-1]


async def test_a_snapshot_whose_token_expires_starts_over(scripted: Script) -> None:
    scripted.answers = [page(5, obj("a", 1), more="t"), GONE, page(9, obj("a", 1), obj("b", 8))]
    async with scripted.api() as api:
        found = await api.snapshot(MAPS)
    assert [o["metadata"]["name"] for o in found.items] == ["a", "b"]
    assert found.resource_version == "9"
    assert "limit" not in scripted.requests[-1]


# -- watches -------------------------------------------------------------------------------------

BOOKMARK = ("BOOKMARK", {"metadata": {"resourceVersion": "8"}})
TOO_OLD = ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


async def seen(events: Any, count: int) -> list[tuple[str, str]]:
    found = []
    async for event in events:
        found.append((event.type, event.object["metadata"].get("name", "")))
        if len(found) == count:
            break
    return found


async def test_a_watch_that_the_server_ends_goes_on_behind_the_last_bookmark(
    scripted: Script,
) -> None:
    scripted.answers = [
        stream(("ADDED", obj("a", 6)), BOOKMARK),
        stream(("MODIFIED", obj("a", 9))),
    ]
    async with scripted.api() as api:
        watch = api.watch(MAPS, resource_version="5")
        assert await seen(watch, 2) == [("ADDED", "a"), ("MODIFIED", "a")]
        assert watch.resource_version == "9"
    assert "resourceVersion=5" in scripted.requests[0]
    assert "resourceVersion=8" in scripted.requests[1]
    assert all("allowWatchBookmarks=true" in r for r in scripted.requests)


async def test_a_watch_whose_connection_breaks_inside_a_line_repeats_nothing(
    scripted: Script,
) -> None:
    whole = stream(("ADDED", obj("a", 6)), ("ADDED", obj("b", 7)))
    cut = whole.index(b'"name":"b"')
    scripted.answers = [whole[:cut], stream(("ADDED", obj("b", 7)))]
    async with scripted.api() as api:
        assert await seen(api.watch(MAPS, resource_version="5"), 2) == [
            ("ADDED", "a"),
            ("ADDED", "b"),
        ]
    assert "resourceVersion=6" in scripted.requests[1]


async def test_a_version_that_is_too_old_is_raised_to_who_watches(scripted: Script) -> None:
    scripted.answers = [stream(("ADDED", obj("a", 6)), TOO_OLD)]
    async with scripted.api() as api:
        with pytest.raises(Expired, match="watch ConfigMap n: too old"):
            await seen(api.watch(MAPS, "n", resource_version="5"), 2)


async def test_an_impatient_watch_gives_up_a_server_that_stays_away(scripted: Script) -> None:
    scripted.answers = [LOST] * 6
    async with scripted.api() as api:
        with pytest.raises(Unreachable):
            await seen(api.watch(MAPS, resource_version="5"), 1)
    assert len(scripted.requests) == 6


# -- follow --------------------------------------------------------------------------------------


async def test_after_a_relist_deletions_are_not_lost_and_what_stayed_is_not_repeated(
    scripted: Script,
) -> None:
    scripted.answers = [
        page(5, obj("gone", 1), obj("changed", 2), obj("anew", 3), obj("same", 4)),
        stream(TOO_OLD),
        page(9, obj("changed", 7), obj("anew", 8, uid="second"), obj("same", 4), obj("new", 9)),
        stream(("DELETED", obj("same", 10))),
    ]
    async with scripted.api() as api:
        events = await seen(api.follow(MAPS, streaming=False), 12)
    assert events == [
        ("ADDED", "gone"),
        ("ADDED", "changed"),
        ("ADDED", "anew"),
        ("ADDED", "same"),
        ("SYNCED", ""),
        ("MODIFIED", "changed"),
        ("DELETED", "anew"),
        ("ADDED", "anew"),
        ("ADDED", "new"),
        ("DELETED", "gone"),
        ("SYNCED", ""),
        ("DELETED", "same"),
    ]


INITIAL_END = (
    "BOOKMARK",
    {"metadata": {"resourceVersion": "6", "annotations": {"k8s.io/initial-events-end": "true"}}},
)


async def test_state_over_the_watch_is_compared_as_a_list_is(scripted: Script) -> None:
    scripted.answers = [
        stream(("ADDED", obj("gone", 1)), ("ADDED", obj("same", 4)), INITIAL_END, TOO_OLD),
        stream(("ADDED", obj("same", 4)), ("ADDED", obj("new", 9)), INITIAL_END),
    ]
    async with scripted.api() as api:
        events = await seen(api.follow(MAPS), 6)
    assert events == [
        ("ADDED", "gone"),
        ("ADDED", "same"),
        ("SYNCED", ""),
        ("ADDED", "new"),
        ("DELETED", "gone"),
        ("SYNCED", ""),
    ]
    assert all("sendInitialEvents=true" in r for r in scripted.requests)


async def test_a_server_without_watch_lists_is_listed(scripted: Script) -> None:
    scripted.answers = [refusal(422, "Invalid"), page(5, obj("a", 1)), stream(BOOKMARK)]
    async with scripted.api() as api:
        assert await seen(api.follow(MAPS), 2) == [("ADDED", "a"), ("SYNCED", "")]


async def test_a_refused_list_is_raised(scripted: Script) -> None:
    scripted.answers = [refusal(409, "Conflict")]
    async with scripted.api() as api:
        with pytest.raises(Conflict):
            await seen(api.follow(MAPS), 1)


async def test_a_patient_follower_waits_while_the_server_is_away(scripted: Script) -> None:
    scripted.answers = [*[LOST] * 20, page(5, obj("a", 1)), stream(BOOKMARK)]
    async with scripted.api() as api:
        assert await seen(api.follow(MAPS), 2) == [("ADDED", "a"), ("SYNCED", "")]
    assert max(scripted.waits) <= 10
