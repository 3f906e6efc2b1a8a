"""Stopping a turn, wherever it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.turning import ANN, BOB, THREAD, House, talked, until

from turnback.core.errors import Forbidden, NotFound
from turnback.core.models import TurnStatus


async def status_of_last_turn(house: House) -> TurnStatus:
    view = await house.threads.view(THREAD)
    assert view is not None
    return view.turns[-1].status


async def test_stop_before_the_first_step_leaves_the_state_before(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "hello")
    before = await house.state()
    sent = await house.turns.send(ANN, THREAD, "slow")
    await house.agent.reached("start")

    assert await house.turns.stop(ANN, THREAD)
    result = await house.turns.wait(sent)
    assert (result.status, result.reply, result.turn_index) == ("stopped", "Stopped.", 2)
    assert await house.state() == before
    assert (await house.rows())[2:] == [("user", "slow"), ("note", "Stopped.")]
    assert await status_of_last_turn(house) is TurnStatus.STOPPED


async def test_stop_right_after_send_still_counts_as_a_turn(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    await house.turns.stop(ANN, THREAD)
    assert (await house.turns.wait(sent)).status == "stopped"
    assert await house.rows() == [("user", "slow"), ("note", "Stopped.")]
    assert (await house.turns.ask(ANN, THREAD, "next")).turn_index == 2


async def test_stop_between_steps_keeps_the_finished_ones(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    house.agent.go("start")
    await house.agent.reached("middle")

    await house.turns.stop(ANN, THREAD)
    assert (await house.turns.wait(sent)).status == "stopped"
    assert (await house.state())["messages"][-1]["role"] == "tool"
    assert len(house.captured.drafts) == 1
    assert (await house.rows())[-1] == ("note", "Stopped.")


async def test_stop_while_a_step_is_saved_saves_it_whole(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    saving, free = asyncio.Event(), asyncio.Event()
    capture = house.captured.capture

    async def halting(draft: Any, content: Any) -> Any:
        saving.set()
        await free.wait()
        return await capture(draft, content)

    house.captured.capture = halting  # type: ignore[method-assign]
    house.agent.go("start")
    await saving.wait()
    stopping = asyncio.create_task(house.turns.stop(ANN, THREAD))
    await house.others_had_time()
    assert not stopping.done()
    free.set()

    assert await stopping
    assert (await house.turns.wait(sent)).status == "stopped"
    assert len(house.captured.drafts) == 1
    assert house.captured.drafts[0].at == (await house.thread()).head


async def test_stop_at_a_gate_kills_the_gate(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.stop(ANN, THREAD)

    with pytest.raises(NotFound, match="no longer waiting"):
        await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    assert (await house.rows())[-1] == ("note", "Stopped.")
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"


async def test_stop_lets_messages_that_wait_run(house: House) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    second = await house.turns.send(ANN, THREAD, "two")
    await house.turns.stop(ANN, THREAD)

    assert (await house.turns.wait(first)).status == "stopped"
    assert (await house.turns.wait(second)).reply == "said two"


async def test_stop_when_nothing_runs_says_so(house: House) -> None:
    assert not await house.turns.stop(ANN, THREAD)
    await house.turns.ask(ANN, THREAD, "hello")
    await until(lambda: not house.turns.running(THREAD))
    assert not await house.turns.stop(ANN, THREAD)


async def test_stop_by_a_stranger_is_refused(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    with pytest.raises(Forbidden):
        await house.turns.stop(BOB, THREAD)
    assert house.turns.running(THREAD)


async def test_stop_twice_at_once_writes_one_note(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    await house.agent.reached("start")
    await asyncio.gather(house.turns.stop(ANN, THREAD), house.turns.stop(ANN, THREAD))
    assert (await house.rows()).count(("note", "Stopped.")) == 1


async def test_stop_closes_the_agents_generator(house: House) -> None:
    closed: list[str] = []

    async def tidy(stage: Any, state: Any, text: str, context: Any) -> Any:
        try:
            yield {"type": "delta", "text": "a"}
            await stage.halt("tidy")
        finally:
            closed.append(text)

    house.agent.scripts["tidy"] = tidy
    await house.turns.send(ANN, THREAD, "tidy")
    await house.agent.reached("tidy")
    await house.turns.stop(ANN, THREAD)
    assert closed == ["tidy"]


async def test_agent_that_swallows_the_stop_is_given_up(house: House) -> None:
    late: list[Any] = []
    free = asyncio.Event()

    async def stubborn(stage: Any, state: Any, text: str, context: Any) -> Any:
        while not free.is_set():
            try:
                await stage.halt("stubborn")
                await free.wait()
            except asyncio.CancelledError:
                stage.go("stubborn")
        late.append(await context.remember("too late"))
        yield {"type": "step", "state": talked(state, "assistant", "too late")}
        late.append("went on")

    house.agent.scripts["stubborn"] = stubborn
    sent = await house.turns.send(ANN, THREAD, "stubborn")
    await house.agent.reached("stubborn")
    await house.turns.stop(ANN, THREAD)

    assert (await house.turns.wait(sent)).status == "stopped"
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"
    free.set()
    await until(lambda: bool(late))
    await asyncio.sleep(0)
    assert late == [None]
    assert [d.turn_no for d in house.captured.drafts] == [2]
    assert await house.threads.facts(THREAD) == []


async def test_agent_that_goes_on_after_the_stop_ends_as_stopped(house: House) -> None:
    async def chatty(stage: Any, state: Any, text: str, context: Any) -> Any:
        try:
            await stage.halt("chatty")
        except asyncio.CancelledError:
            yield {"type": "step", "state": talked(state, "assistant", "still here")}
        yield {"type": "done", "state": state, "text": "still here"}

    house.agent.scripts["chatty"] = chatty
    sent = await house.turns.send(ANN, THREAD, "chatty")
    await house.agent.reached("chatty")
    await house.turns.stop(ANN, THREAD)
    assert (await house.turns.wait(sent)).status == "stopped"
    assert house.captured.drafts == []


async def test_halt_stops_and_returns_what_waits(house: House) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    second = await house.turns.send(ANN, THREAD, "two")
    await house.turns.halt(THREAD)
    assert (await house.turns.wait(first)).status == "stopped"
    assert (await house.turns.wait(second)).status == "returned"
    assert list(await house.threads.waiting()) == []
    await house.turns.halt(THREAD)
