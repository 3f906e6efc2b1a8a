"""One lock per thread."""

from __future__ import annotations

import asyncio

import pytest

from turnback.core.locks import ThreadLocks
from turnback.core.models import ThreadId

A, B = ThreadId("a" * 32), ThreadId("b" * 32)


async def test_lock_is_given_in_the_order_of_asking() -> None:
    locks, order = ThreadLocks(), []

    async def hold(n: int) -> None:
        async with locks.hold(A):
            order.append(n)
            await asyncio.sleep(0)

    await asyncio.gather(*(hold(n) for n in range(5)))
    assert order == [0, 1, 2, 3, 4]


async def test_other_threads_do_not_wait() -> None:
    locks = ThreadLocks()
    async with locks.hold(A), locks.hold(B):
        assert len(locks) == 2
    assert len(locks) == 0


async def test_lock_that_nobody_wants_is_dropped_even_after_an_error() -> None:
    locks = ThreadLocks()
    with pytest.raises(RuntimeError):
        async with locks.hold(A):
            raise RuntimeError
    assert len(locks) == 0


async def test_waiter_that_is_cancelled_lets_the_next_in() -> None:
    locks, entered = ThreadLocks(), asyncio.Event()

    async def hold() -> None:
        async with locks.hold(A):
            entered.set()

    async with locks.hold(A):
        waiting, following = asyncio.create_task(hold()), asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiting.cancel()
    await following
    assert entered.is_set()
    assert len(locks) == 0
