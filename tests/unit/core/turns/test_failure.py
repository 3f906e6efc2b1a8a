"""Agents that fail, and stores that do."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
import structlog
from support.turning import ANN, THREAD, House, talked, until

from turnback.core.errors import NotFound
from turnback.core.models import CaptureResult, TurnStatus
from turnback.core.threads.store import Stale

UNSAVED = "This step could not be saved, so you cannot go back to it."


async def boom(stage: Any, state: Any, text: str, context: Any) -> Any:
    yield {"type": "step", "state": talked(state, "assistant", "one")}
    raise ValueError("secret detail")


async def test_failure_is_one_plain_line_and_the_log_has_the_rest(house: House) -> None:
    house.agent.scripts["boom"] = boom
    with structlog.testing.capture_logs() as logs:
        result = await house.turns.ask(ANN, THREAD, "boom")

    assert result.status == "failed"
    assert result.reply.startswith("That did not work: the agent failed.")
    assert "\n" not in result.reply
    assert "secret" not in result.reply
    (entry,) = logs
    assert entry["reference"] in result.reply
    assert isinstance(entry["exc_info"], ValueError)
    assert (await house.rows())[-1] == ("note", result.reply)


async def test_failure_keeps_finished_steps_and_a_usable_thread(house: House) -> None:
    house.agent.scripts["boom"] = boom
    await house.turns.ask(ANN, THREAD, "boom")

    assert (await house.state())["messages"][-1]["content"] == "one"
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"


async def test_failure_in_the_first_line_of_run(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(*args: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(house.agent, "run", at_once)
    assert (await house.turns.ask(ANN, THREAD, "hello")).status == "failed"
    assert not house.turns.running(THREAD)
    assert (await house.thread()).running_turn is None


async def test_failure_that_explains_itself_is_told_in_its_words(house: House) -> None:
    class Overloaded(Exception):
        user_message = "The model did not answer (it is overloaded)."

    async def tired(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "delta", "text": "hm"}
        raise Overloaded

    house.agent.scripts["tired"] = tired
    reply = (await house.turns.ask(ANN, THREAD, "tired")).reply
    assert reply.startswith("That did not work: the model did not answer (it is overloaded). ")


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "delta", "text": "x"}],
        [{"no": "type"}],
        [{"type": "step"}],
        [{"type": "step", "state": 5}],
        [{"type": "done", "state": {}}],
        ["not a mapping"],
    ],
)
async def test_agent_that_breaks_the_protocol_fails(house: House, events: list[Any]) -> None:
    async def odd(stage: Any, state: Any, text: str, context: Any) -> Any:
        for event in events:
            yield event

    house.agent.scripts["odd"] = odd
    assert (await house.turns.ask(ANN, THREAD, "odd")).status == "failed"
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"


async def test_agent_that_cancels_itself_fails(house: House) -> None:
    async def odd(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "delta", "text": "hm"}
        raise asyncio.CancelledError

    house.agent.scripts["odd"] = odd
    assert (await house.turns.ask(ANN, THREAD, "odd")).status == "failed"


async def test_unknown_events_are_passed_over(house: House) -> None:
    async def newer(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "thought", "text": "hm"}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["newer"] = newer
    assert (await house.turns.ask(ANN, THREAD, "newer")).reply == "ok"


async def test_agent_need_not_be_a_generator(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    class Events:
        def __init__(self, state: Any) -> None:
            self.left = [{"type": "done", "state": state, "text": "ok"}]

        def __aiter__(self) -> Events:
            return self

        async def __anext__(self) -> Any:
            return self.left.pop()

    monkeypatch.setattr(house.agent, "run", lambda state, text, context: Events(state))
    assert (await house.turns.ask(ANN, THREAD, "x")).reply == "ok"


async def test_cleaning_up_after_the_answer_may_fail(house: House) -> None:
    async def untidy(stage: Any, state: Any, text: str, context: Any) -> Any:
        try:
            yield {"type": "done", "state": state, "text": "ok"}
        finally:
            raise RuntimeError

    house.agent.scripts["untidy"] = untidy
    result = await house.turns.ask(ANN, THREAD, "untidy")
    assert (result.status, result.reply) == ("done", "ok")


async def test_step_that_cannot_be_saved_is_told_once_a_turn(house: House) -> None:
    house.captured.result = CaptureResult.FAILED

    async def steps(stage: Any, state: Any, text: str, context: Any) -> Any:
        for n in range(3):
            state = talked(state, "assistant", str(n))
            yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["steps"] = steps
    result = await house.turns.ask(ANN, THREAD, "steps")
    assert (result.status, result.reply, result.notes) == ("done", "ok", (UNSAVED,))
    assert (await house.rows())[1:] == [("assistant", "ok"), ("note", UNSAVED)]

    house.captured.result = CaptureResult.STORED
    assert (await house.turns.ask(ANN, THREAD, "next")).notes == ()


async def test_saving_that_is_off_is_not_told(house: House) -> None:
    house.captured.result = CaptureResult.SKIPPED
    assert (await house.turns.ask(ANN, THREAD, "hello")).notes == ()


async def test_step_that_the_thread_store_refuses_keeps_the_last_good_state(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.turns.ask(ANN, THREAD, "hello")
    before = await house.state()

    async def full(*args: Any, **more: Any) -> Any:
        raise OSError("No space left on device")

    monkeypatch.setattr(house.threads, "commit_step", full)

    async def steps(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "step", "state": talked(state, "assistant", "lost")}
        await stage.halt("steps")
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["steps"] = steps
    sent = await house.turns.send(ANN, THREAD, "steps")
    await house.agent.reached("steps")
    assert isinstance(house.captured.contents[-1], OSError)
    assert await house.state() == before
    house.agent.go("steps")
    result = await house.turns.wait(sent)
    assert (result.status, result.notes) == ("done", (UNSAVED,))


def slept(house: House, times: int) -> bool:
    return len(house.time.sleepers) == times


async def test_end_that_cannot_be_written_is_tried_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    end_turn, tries = house.threads.end_turn, []

    async def full(*args: Any, **more: Any) -> Any:
        tries.append(args)
        if len(tries) < 3:
            raise OSError("No space left on device")
        return await end_turn(*args, **more)

    monkeypatch.setattr(house.threads, "end_turn", full)
    result = await house.turns.ask(ANN, THREAD, "hello")
    assert result.reply == "said hello"
    assert not await house.turns.stop(ANN, THREAD)
    for n in (1, 2):
        await until(partial(slept, house, n))
        house.time.advance(5)
    assert (await house.turns.ask(ANN, THREAD, "next")).turn_index == 2
    view = await house.threads.view(THREAD)
    assert view is not None
    assert [t.status for t in view.turns] == [TurnStatus.DONE, TurnStatus.DONE]


async def test_close_does_not_wait_for_a_disk_that_is_full(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*args: Any, **more: Any) -> Any:
        raise OSError("No space left on device")

    monkeypatch.setattr(house.threads, "end_turn", full)
    assert (await house.turns.ask(ANN, THREAD, "hello")).reply == "said hello"
    await house.turns.close(0.05)
    monkeypatch.undo()
    house.turns = house.new_turns()
    await house.turns.recover()
    assert (await house.turns.ask(ANN, THREAD, "next")).turn_index == 2


async def test_state_that_is_not_there_fails_the_turn(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*args: Any) -> None:
        return None

    monkeypatch.setattr(house.threads, "checkpoint", nothing)
    assert (await house.turns.ask(ANN, THREAD, "hello")).status == "failed"
    assert house.agent.seen == []


async def test_bug_in_one_turn_does_not_block_the_thread(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    turn_rows = house.threads.turn_rows

    async def broken(thread_id: Any, turn_no: int) -> Any:
        rows = await turn_rows(thread_id, turn_no)
        if len(rows) > 1 and turn_no == 1:
            raise RuntimeError
        return rows

    monkeypatch.setattr(house.threads, "turn_rows", broken)
    assert (await house.turns.ask(ANN, THREAD, "hello")).reply == "said hello"
    assert (await house.turns.ask(ANN, THREAD, "next")).reply == "said next"


async def test_turn_whose_thread_is_deleted_ends_silently(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*args: Any, **more: Any) -> Any:
        raise Stale

    monkeypatch.setattr(house.threads, "commit_step", gone)
    monkeypatch.setattr(house.threads, "end_turn", gone)
    result = await house.turns.ask(ANN, THREAD, "hello")
    assert result.status == "failed"
    assert house.captured.drafts == []
    assert house.told("turn_finished") == []
    await until(lambda: not house.turns.running(THREAD))


@pytest.mark.parametrize("error", [OSError("No space left on device"), NotFound()])
async def test_turn_that_cannot_begin_is_told_to_its_sender_alone(
    house: House, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first = await house.turns.send(ANN, THREAD, "slow")
    second = await house.turns.send(ANN, THREAD, "two")
    third = await house.turns.send(ANN, THREAD, "three")
    begin_turn = house.threads.begin_turn

    async def choosy(thread_id: Any, turn: Any) -> Any:
        if turn.text == "two":
            raise error
        return await begin_turn(thread_id, turn)

    monkeypatch.setattr(house.threads, "begin_turn", choosy)
    await house.turns.stop(ANN, THREAD)
    assert [(await house.turns.wait(s)).status for s in (first, second, third)] == ["stopped", "failed", "done"]


async def test_done_without_a_state_fails_the_turn_and_frees_the_thread(house: House) -> None:
    async def careless(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "step", "state": talked(state, "user", text)}
        yield {"type": "done", "state": None, "text": "x"}

    house.agent.scripts["careless"] = careless
    assert (await house.turns.ask(ANN, THREAD, "careless")).status == "failed"
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"
