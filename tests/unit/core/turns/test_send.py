"""Messages: they begin turns, one at a time, in order."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from typing import Any

import pytest
from support.turning import ANN, BOB, THREAD, House, talked, until

from turnback.core.errors import Forbidden, InvalidRequest, NotFound, StoreUnavailable
from turnback.core.models import Spent, Surface, ThreadId, Turn
from turnback.core.threads.store import NewTurn


async def test_ask_answers_and_writes_both_rows(house: House) -> None:
    result = await house.turns.ask(ANN, THREAD, "hello")

    assert (result.turn_index, result.status, result.reply, result.notes) == (1, "done", "said hello", ())
    assert await house.rows() == [("user", "hello"), ("assistant", "said hello")]
    assert (await house.state())["messages"][-1] == {"role": "assistant", "content": "said hello"}


async def test_next_turn_begins_from_the_last_state(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "one")
    result = await house.turns.ask(ANN, THREAD, "two")

    assert result.turn_index == 2
    assert [m["content"] for m in house.agent.seen[1]["messages"]] == ["one", "said one"]


@pytest.mark.parametrize("text", ["", "  \n\t", "\u00a0"])
async def test_send_blank_is_refused(house: House, text: str) -> None:
    with pytest.raises(InvalidRequest):
        await house.turns.send(ANN, THREAD, text)
    assert await house.rows() == []


async def test_send_by_a_stranger_is_refused(house: House) -> None:
    with pytest.raises(Forbidden):
        await house.turns.send(BOB, THREAD, "hello")
    with pytest.raises(NotFound):
        await house.turns.send(ANN, ThreadId("e" * 32), "hello")


async def test_send_tells_when_it_runs_and_when_it_waits(house: House) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    second = await house.turns.send(ANN, THREAD, "two")

    assert (first.turn_index, first.status) == (1, "running")
    assert (second.turn_index, second.status) == (None, "queued")
    assert house.turns.running(THREAD)
    assert await house.rows() == [("user", "slow")]
    house.agent.go("start")
    house.agent.go("middle")
    assert (await house.turns.wait(second)).turn_index == 2


async def test_messages_that_wait_run_in_order(house: House) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    sent = [await house.turns.send(ANN, THREAD, f"m{n}") for n in range(3)]
    house.agent.go("start")
    house.agent.go("middle")

    results = [await house.turns.wait(s) for s in (first, *sent)]
    assert [r.reply for r in results] == ["slept", "said m0", "said m1", "said m2"]
    assert [r.turn_index for r in results] == [1, 2, 3, 4]


async def test_concurrent_sends_keep_their_order(house: House) -> None:
    sent = await asyncio.gather(*(house.turns.send(ANN, THREAD, f"m{n}") for n in range(8)))
    results = [await house.turns.wait(s) for s in sent]

    assert [r.turn_index for r in results] == list(range(1, 9))
    assert [text for role, text in await house.rows() if role == "user"] == [f"m{n}" for n in range(8)]
    assert house.locks.__len__() == 0


async def test_sender_who_hangs_up_does_not_leave_the_thread_busy(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free, begin_turn = asyncio.Event(), asyncio.Event(), house.threads.begin_turn

    async def halting(thread_id: ThreadId, turn: NewTurn) -> Turn:
        started = await begin_turn(thread_id, turn)
        begun.set()
        await free.wait()
        return started

    monkeypatch.setattr(house.threads, "begin_turn", halting)
    asking = asyncio.create_task(house.turns.ask(ANN, THREAD, "hello"))
    await begun.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    free.set()

    result = await house.turns.ask(ANN, THREAD, "again")
    assert result.status == "done"
    assert not house.turns.running(THREAD)


async def test_cancelling_done_does_not_stop_the_turn(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    sent.done.cancel()
    house.agent.go("start")
    house.agent.go("middle")

    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", "slept")


async def test_turn_tells_its_readers_what_happens(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "hello")

    told = house.told("message", "turn_started", "delta", "turn_finished", "threads")
    assert [e.name for e in told] == [
        "message", "turn_started", "threads", "delta", "message", "turn_finished", "threads",
    ]  # fmt: skip
    assert all(e.readers == {ANN.account} for e in told)
    user, started, _, delta, reply, finished, _ = (e.data for e in told)
    assert (user["message"]["role"], user["message"]["text"]) == ("user", "hello")
    assert started == {"thread_id": THREAD, "turn_index": 1, "status": "running"}
    assert delta == {"thread_id": THREAD, "text": "said hello"}
    assert set(reply["message"]) == {"id", "turn_index", "role", "text", "created_at"}
    assert finished == {"thread_id": THREAD, "turn_index": 1, "status": "done"}


async def test_first_message_names_the_thread(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "plan a trip\nto the sea " + "and the hills " * 10)
    assert (await house.thread()).title == "plan a trip to the sea and the hills and the hills and the"
    await house.turns.ask(ANN, THREAD, "something else")
    assert (await house.thread()).title.startswith("plan a trip")


async def test_title_that_a_person_gave_stays(house: House) -> None:
    await house.threads.rename_thread(THREAD, "Mine", house.time())
    await house.turns.ask(ANN, THREAD, "hello")
    assert (await house.thread()).title == "Mine"


async def test_who_takes_part_in_a_group_is_told_of_its_turns(house: House) -> None:
    group = ThreadId("9" * 32)
    await house.threads.create_thread(group, "Us", Surface.TELEGRAM, ANN.account, house.time(), group=True)
    await house.threads.create_account(BOB.account, BOB.name, house.time())
    await house.threads.add_participant(group, BOB.account, Surface.TELEGRAM, "-1")

    assert (await house.turns.ask(BOB, group, "hello")).status == "done"
    assert house.told("turn_finished")[0].readers == {ANN.account, BOB.account}


async def test_nobody_gets_into_a_group_by_writing_into_its_thread(house: House) -> None:
    group = ThreadId("9" * 32)
    await house.threads.create_thread(group, "Us", Surface.TELEGRAM, ANN.account, house.time(), group=True)
    with pytest.raises(Forbidden):
        await house.turns.send(replace(BOB, surface=Surface.TELEGRAM, identity="telegram:7"), group, "hello")
    assert BOB.account not in await house.threads.participants(group)


async def test_lone_surrogate_in_a_message_is_replaced(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "a\ud800b")
    assert (await house.rows())[0] == ("user", "a\ufffdb")


async def test_return_waiting_gives_messages_back(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    waiting = await house.turns.send(ANN, THREAD, "two")

    assert house.turns.return_waiting(THREAD) == 1
    assert (await house.turns.wait(waiting)).status == "returned"
    await house.turns.stop(ANN, THREAD)
    await until(lambda: not house.turns.running(THREAD))
    assert ("user", "two") not in await house.rows()
    assert house.turns.return_waiting(THREAD) == 0


async def test_note_is_told_to_the_agent_once(house: House) -> None:
    heard: list[Any] = []

    async def listening(stage: Any, state: Any, text: str, context: Any) -> Any:
        heard.append(tuple(context.notes))
        yield {"type": "done", "state": talked(state, "user", text), "text": "ok"}

    house.agent.scripts["listen"] = listening
    house.turns.tell(THREAD, "mind the gap")
    await house.turns.ask(ANN, THREAD, "listen")
    await house.turns.ask(ANN, THREAD, "listen")
    assert heard == [("mind the gap",), ()]


async def test_spent_follows_the_states_own_cost_and_never_falls(house: House) -> None:
    costs: list[dict[str, Any]] = [
        {"tokens": 10, "usd": 0.5},
        {"input_tokens": 9, "output_tokens": 6},
        {"tokens": 2},
        {"in_tok": 3, "out_tok": 1},
        {"tokens": True, "usd": float("nan")},
    ]

    async def paying(stage: Any, state: Any, text: str, context: Any) -> Any:
        for cost in costs:
            state = {**talked(state, "assistant", "x"), "cost": cost}
            yield {"type": "step", "state": state}
        yield {"type": "done", "state": {**state, "cost": {"tokens": 7}}, "text": "paid"}

    house.agent.scripts["pay"] = paying
    await house.turns.ask(ANN, THREAD, "pay")
    assert (await house.thread()).spent == Spent(tokens=10 + 5 + 2 + 7, usd=0.5)


async def test_send_while_closing_is_refused(house: House) -> None:
    await house.turns.close()
    with pytest.raises(StoreUnavailable):
        await house.turns.send(ANN, THREAD, "hello")


async def test_turns_running_counts_what_runs(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    await house.agent.reached("start")
    assert house.gauge.value == 1
    await house.turns.stop(ANN, THREAD)
    await house.turns.wait(sent)
    await until(lambda: house.gauge.value == 0)


async def test_turn_whose_beginning_could_not_be_announced_runs(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(house.threads, "rename_thread", full)
    assert (await house.turns.ask(ANN, THREAD, "one")).status == "done"
    assert (await house.turns.ask(ANN, THREAD, "two")).status == "done"


async def test_note_told_twice_reaches_the_agent_once(house: House) -> None:
    notes: list[str] = []

    async def listen(stage: Any, state: Any, text: str, context: Any) -> Any:
        notes.extend(context.notes)
        yield {"type": "done", "state": state, "text": "heard"}

    house.agent.scripts["listen"] = listen
    for _ in range(2):
        house.turns.tell(THREAD, "the mail failed")
    await house.turns.ask(ANN, THREAD, "listen")
    assert notes == ["the mail failed"]
