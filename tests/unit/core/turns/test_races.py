"""A restore and a message at the same moment: one wins, and the other sees it whole."""

from __future__ import annotations

import asyncio

import pytest
from support.turning import ANN, THREAD, House

from turnback.core.errors import TurnRunning
from turnback.core.models import BEGINNING, Action, AuditEntry
from turnback.core.threads.store import Move


async def restore_to_the_beginning(house: House, begun: asyncio.Event, free: asyncio.Event) -> None:
    """What the rewind service does, halted between its decision and its end."""
    async with house.locks.hold(THREAD):
        begun.set()
        await free.wait()
        entry = AuditEntry(
            at=house.time(), account=ANN.account, actor=ANN.name, surface=ANN.surface, action=Action.RESTORE
        )
        move = Move(to=BEGINNING, returns=(), content=None, audit=entry)
        await house.threads.move_head(THREAD, (await house.thread()).version, move)
        house.turns.return_waiting(THREAD)


async def test_message_that_comes_during_a_restore_runs_on_the_new_head(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "old")
    begun, free = asyncio.Event(), asyncio.Event()
    restoring = asyncio.create_task(restore_to_the_beginning(house, begun, free))
    await begun.wait()
    asking = asyncio.create_task(house.turns.ask(ANN, THREAD, "new"))
    await house.others_had_time()
    assert not house.turns.running(THREAD)
    free.set()

    await restoring
    result = await asking
    assert (result.status, result.turn_index) == ("done", 1)
    assert house.agent.seen[-1] == {}
    assert await house.rows() == [("user", "new"), ("assistant", "said new")]


async def test_restore_that_comes_after_a_message_is_refused(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "old")
    begun, free = asyncio.Event(), asyncio.Event()
    free.set()
    sending = asyncio.create_task(house.turns.send(ANN, THREAD, "slow"))
    await asyncio.sleep(0)
    sent = await sending
    with pytest.raises(TurnRunning):
        await restore_to_the_beginning(house, begun, free)

    house.agent.go("start")
    house.agent.go("middle")
    assert (await house.turns.wait(sent)).turn_index == 2
    assert (await house.rows())[0] == ("user", "old")


async def test_message_that_waited_when_a_restore_began_is_returned(house: House) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    waiting = await house.turns.send(ANN, THREAD, "two")
    begun, free = asyncio.Event(), asyncio.Event()
    restoring = asyncio.create_task(restore_to_the_beginning(house, begun, free))
    await begun.wait()
    await house.turns.stop(ANN, THREAD)
    await house.others_had_time()
    free.set()

    await restoring
    assert (await house.turns.wait(first)).status == "stopped"
    assert (await house.turns.wait(waiting)).status == "returned"
    assert await house.rows() == []
    assert [e.data["message"]["text"] for e in house.told("message")] == ["slow", "Stopped."]
    assert list(await house.threads.waiting()) == [], "nor after a restart"
    assert (await house.turns.ask(ANN, THREAD, "three")).turn_index == 1
