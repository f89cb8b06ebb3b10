"""How many requests are in flight follows what the server can take; users go first."""

from __future__ import annotations

import asyncio

import pytest

from argosy.kube.limit import AdaptiveLimit, Priority


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_are_in_flight() -> None:
    limit = AdaptiveLimit(3)
    tasks = [asyncio.create_task(limit.acquire()) for _ in range(5)]
    await settle()
    assert sum(t.done() for t in tasks) == 3
    limit.release()
    await settle()
    assert sum(t.done() for t in tasks) == 4
    limit.release()
    await asyncio.gather(*tasks)


async def test_a_users_change_overtakes_bulk_work() -> None:
    limit = AdaptiveLimit(1)
    await limit.acquire()
    order: list[str] = []

    async def work(name: str, priority: Priority) -> None:
        await limit.acquire(priority)
        order.append(name)
        limit.release()

    async with asyncio.TaskGroup() as group:
        for name, priority in (
            ("bulk-1", Priority.BULK),
            ("bulk-2", Priority.BULK),
            ("normal", Priority.NORMAL),
            ("user", Priority.USER),
        ):
            group.create_task(work(name, priority))
            await settle()
        limit.release()
    assert order == ["user", "normal", "bulk-1", "bulk-2"]


async def test_many_429s_of_one_moment_halve_the_limit_once() -> None:
    limit = AdaptiveLimit(64)
    epochs = [await limit.acquire() for _ in range(10)]
    for epoch in epochs:
        limit.slow_down(epoch)
    assert limit.size == 32
    limit.slow_down(await limit.acquire())
    assert limit.size == 16


async def test_the_limit_grows_by_one_for_each_window_of_successes() -> None:
    limit = AdaptiveLimit(64)
    limit.slow_down(await limit.acquire())
    for _ in range(33):
        limit.speed_up()
    assert limit.size == 33
    for _ in range(64 * 64):
        limit.speed_up()
    assert limit.size == 64


async def test_the_limit_never_falls_to_nothing() -> None:
    limit = AdaptiveLimit(64)
    for _ in range(20):
        limit.slow_down(await limit.acquire())
        limit.release()
    assert limit.size == 2


async def test_a_cancelled_waiter_does_not_keep_a_turn() -> None:
    limit = AdaptiveLimit(1)
    await limit.acquire()
    first, second = (asyncio.create_task(limit.acquire()) for _ in range(2))
    await settle()
    limit.release()  # the first waiter's turn comes …
    first.cancel()  # … in the very moment that it is cancelled
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.wait_for(second, 1)
    assert limit.in_flight == 1
