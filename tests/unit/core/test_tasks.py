"""Work that goes on though who asked is gone."""

from __future__ import annotations

import asyncio

import pytest

from turnback.core.tasks import Tasks


async def test_surely_ends_the_work_of_a_cancelled_caller() -> None:
    tasks, free, done = Tasks(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await free.wait()
        done.set()

    caller = asyncio.create_task(tasks.surely(work()))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    free.set()
    await tasks.settle(5)
    assert done.is_set()


async def test_surely_hands_on_results_and_errors() -> None:
    tasks = Tasks()

    async def work(n: int) -> int:
        return 10 // n

    assert await tasks.surely(work(5)) == 2
    with pytest.raises(ZeroDivisionError):
        await tasks.surely(work(0))


async def test_settle_does_not_wait_longer_than_told() -> None:
    tasks = Tasks()
    stuck = tasks.start(asyncio.Event().wait())
    await tasks.settle(0)
    assert not stuck.done()
    stuck.cancel()
    await tasks.settle(5)
