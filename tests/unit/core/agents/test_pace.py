"""Many turns share the event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest

from turnback.core.agents import pace
from turnback.core.agents.pace import Pace


async def go(queue: Pace, note: Callable[[], None]) -> None:
    await queue.turn()
    note()


async def test_one_goes_on_in_each_round() -> None:
    queue, gone, rounds = Pace(), [], []
    tasks = [asyncio.create_task(go(queue, lambda i=i: gone.append(i))) for i in range(5)]  # type: ignore[misc]

    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        rounds.append(len(gone))

    assert gone == [0, 1, 2, 3, 4]
    assert all(after - before <= 1 for before, after in itertools.pairwise(rounds))


async def test_waiter_that_gave_up_holds_nobody() -> None:
    queue, gone = Pace(), []
    tasks = [asyncio.create_task(go(queue, lambda i=i: gone.append(i))) for i in range(3)]  # type: ignore[misc]
    await asyncio.sleep(0)

    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert gone == [1, 2]


async def test_long_rounds_delay_but_do_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LONG_ROUND", -1.0)

    await asyncio.wait_for(go(Pace(), lambda: None), 10)


def test_queue_moves_faster_than_people_write_even_on_a_busy_machine() -> None:
    queue, rounds = Pace(), [1000 + number * 0.02 for number in range(1, 501)]

    assert sum(queue._may_go_on(now) for now in rounds) > 200  # in 10 s


def test_long_round_is_given_to_the_work_in_hand() -> None:
    queue, rounds = Pace(), [1000 + number * 0.009 for number in range(1, 101)]

    assert sum(queue._may_go_on(now) for now in rounds) < 50


def test_queue_serves_one_loop_after_another() -> None:
    queue, gone = Pace(), []

    for i in range(2):
        asyncio.run(go(queue, lambda i=i: gone.append(i)))  # type: ignore[misc]

    assert gone == [0, 1]
