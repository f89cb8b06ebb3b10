"""Run calls side by side and fail as one of them would have failed alone.

A TaskGroup wraps what its tasks raise; people get the first error that argosy knows, and the
others are cancelled with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

__all__ = ["first_error", "together"]

T = TypeVar("T")


async def together(calls: Iterable[Coroutine[Any, Any, T]], *, name: str) -> list[T]:
    """Return the results of calls that run at the same time, in their order.

    Args:
        calls: the calls; how many are in flight is the API client's business.
        name: what the tasks are called.

    Raises:
        Exception: the first that a call raised; the other calls are cancelled.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call, name=name) for call in calls]
    except BaseExceptionGroup as failures:
        raise first_error(failures) from None
    return [task.result() for task in tasks]


def first_error(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error in a group of groups."""
    first = failures.exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first
