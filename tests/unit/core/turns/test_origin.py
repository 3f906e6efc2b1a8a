"""A turn knows where it was asked and which files came with it, and the house hears of its begin and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from support.turning import ANN, THREAD, House, Stage, answer, until

from turnback.core.agents.protocol import Context
from turnback.core.errors import Forbidden, InvalidRequest, NothingToUndo
from turnback.core.models import State, Turn
from turnback.core.policy import Right
from turnback.core.threads.store import NewTurn, Stale

CHAT = "telegram:chat:1#7"
INTERRUPTED = "Interrupted by a restart. What was finished is kept."


def new_process(house: House) -> None:
    """Leave the files as a killed program would."""
    house.turns = house.new_turns()


async def turns(house: House) -> tuple[Turn, ...]:
    view = await house.threads.view(THREAD)
    assert view is not None
    return view.turns


async def ran(house: House) -> None:
    await until(lambda: not house.turns._lanes)


# origin


async def test_turn_knows_where_it_was_asked(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "hello", origin=CHAT)
    await house.turns.wait(sent)
    await house.turns.ask(ANN, THREAD, "from elsewhere")
    assert [turn.origin for turn in await turns(house)] == [CHAT, None]


async def test_message_that_waits_keeps_origin_and_files(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    sent = await house.turns.send(ANN, THREAD, "two", origin=CHAT, files=["inbox/a.txt"])
    house.agent.go("start")
    house.agent.go("middle")
    await house.turns.wait(sent)
    assert [(turn.origin, turn.files) for turn in await turns(house)] == [(None, ()), (CHAT, ("inbox/a.txt",))]


async def test_message_that_waited_during_a_restart_keeps_origin_and_files(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    await house.turns.send(ANN, THREAD, "two", origin=CHAT, files=["inbox/a.txt"])
    new_process(house)
    await house.turns.recover()
    await ran(house)
    turn = (await turns(house))[-1]
    assert (turn.origin, turn.files) == (CHAT, ("inbox/a.txt",))
    assert ("user", "two\n[file: inbox/a.txt]") in await house.rows()


# files


async def test_files_are_named_to_agent_and_people(house: House) -> None:
    told: list[tuple[str, tuple[str, ...]]] = []

    async def look(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        told.append((text, tuple(context.files)))
        async for event in answer(stage, state, text, context):
            yield event

    house.agent.scripts["look"] = look
    sent = await house.turns.send(ANN, THREAD, "look here", files=["inbox/a.jpg", "inbox/b.pdf"])
    await house.turns.wait(sent)
    words = "look here\n[file: inbox/a.jpg]\n[file: inbox/b.pdf]"
    assert told == [(words, ("inbox/a.jpg", "inbox/b.pdf"))]
    assert (await house.rows())[0] == ("user", words)


async def test_summary_and_title_are_of_the_words_alone(house: House) -> None:
    await house.turns.wait(await house.turns.send(ANN, THREAD, "look here", files=["inbox/a.jpg"]))
    assert (await turns(house))[0].summary == "look here"
    assert (await house.thread()).title == "look here"


async def test_file_without_words_is_a_message(house: House) -> None:
    result = await house.turns.wait(await house.turns.send(ANN, THREAD, " ", files=["inbox/a.jpg"]))
    assert result.status == "done"
    assert (await turns(house))[0].summary == "[file: inbox/a.jpg]"
    with pytest.raises(InvalidRequest):
        await house.turns.send(ANN, THREAD, " ", files=[])


async def test_turn_that_goes_on_after_a_restart_still_has_its_files(house: House) -> None:
    seen: list[tuple[str, ...]] = []

    async def resume(state: State, approvals: Mapping[str, bool], context: Context) -> AsyncIterator[Mapping[str, Any]]:
        seen.append(tuple(context.files))
        yield {"type": "done", "state": state, "text": "resumed"}

    sent = await house.turns.send(ANN, THREAD, "gated x", files=["inbox/a.jpg"])
    asked = await sent.progress.stage()
    house.agent.resume = resume  # type: ignore[attr-defined]
    await house.restart()
    for gate in asked.gates:
        await house.turns.decide(ANN, THREAD, gate.id, True)
    await ran(house)
    assert seen == [("inbox/a.jpg",)]


# began and ended


async def test_house_hears_of_a_turn_before_and_after_all_else(house: House) -> None:
    await house.turns.wait(await house.turns.send(ANN, THREAD, "hello", origin=CHAT))
    await until(lambda: bool(house.told("ended")))

    names = [event.name for event in house.told("began", "message", "turn_started", "turn_finished", "ended")]
    assert names == ["began", "message", "turn_started", "message", "turn_finished", "ended"]
    [began, ended] = house.told("began", "ended")
    at = (await house.thread()).head
    assert began.data == {"thread_id": THREAD, "turn_no": 1, "turn_index": 1, "origin": CHAT}
    assert ended.data == {
        "thread_id": THREAD, "turn_no": 1, "origin": CHAT, "status": "done", "branch": at.branch, "pos": at.pos,
        "notes": [],
    }  # fmt: skip
    assert ended.thread_id == THREAD
    assert ended.readers == {ANN.account}


async def test_stopped_turn_ends_where_its_note_stands(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    await house.turns.stop(ANN, THREAD)
    await house.turns.wait(sent)
    await ran(house)
    [ended] = house.told("ended")
    at = (await house.thread()).head
    assert (ended.data["status"], ended.data["branch"], ended.data["pos"]) == ("stopped", at.branch, at.pos)


async def test_turn_whose_thread_is_gone_ends_for_the_house(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*args: Any, **more: Any) -> Any:
        raise Stale

    monkeypatch.setattr(house.threads, "end_turn", gone)
    await house.turns.wait(await house.turns.send(ANN, THREAD, "hello", origin=CHAT))
    await ran(house)
    assert [(e.data["origin"], e.data["status"]) for e in house.told("ended")] == [(CHAT, "failed")]


async def test_turn_whose_end_cannot_be_told_ends_for_the_house_as_it_was(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_rows = house.threads.turn_rows

    async def broken(thread_id: Any, turn_no: int) -> Any:
        rows = await turn_rows(thread_id, turn_no)
        if len(rows) > 1:
            raise RuntimeError
        return rows

    monkeypatch.setattr(house.threads, "turn_rows", broken)
    await house.turns.wait(await house.turns.send(ANN, THREAD, "hello"))
    await ran(house)
    assert [e.data["status"] for e in house.told("ended")] == ["done"]


async def test_turn_at_a_gate_does_not_end_with_the_program_and_begins_again_after_a_restart(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "gated x", origin=CHAT)
    asked = await sent.progress.stage()
    await house.restart()
    assert [e.name for e in house.told("began", "ended")] == ["began", "began"]
    assert house.told("began")[0].data == house.told("began")[1].data

    await house.turns.decided(ANN, THREAD, asked.gates[0].id, True)
    await ran(house)
    assert [(e.data["origin"], e.data["status"]) for e in house.told("ended")] == [(CHAT, "done")]


async def test_turn_that_a_restart_interrupted_is_told_where_it_was_asked(house: House) -> None:
    new = NewTurn(text="hi", summary="hi", actor=ANN.account, at=house.time(), origin=CHAT)
    await house.threads.begin_turn(THREAD, new)
    await house.turns.recover()

    began, message, ended = house.told("began", "message", "ended")
    at = (await house.thread()).head
    assert [e.name for e in (began, message, ended)] == ["began", "message", "ended"]
    assert began.data["origin"] == CHAT
    assert (message.data["message"]["role"], message.data["message"]["text"]) == ("note", INTERRUPTED)
    assert (ended.data["status"], ended.data["pos"]) == ("interrupted", at.pos)


# messages that do not run after a restart


async def test_message_from_before_a_restart_that_may_not_run_is_told_to_the_house(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no(actor: Any, thread_id: str, right: Right) -> Any:
        raise Forbidden

    await house.turns.send(ANN, THREAD, "slow")
    await house.turns.send(ANN, THREAD, "two", origin=CHAT)
    monkeypatch.setattr(house, "rights", no)
    new_process(house)
    await house.turns.recover()
    await ran(house)
    [unrun] = house.told("unrun")
    assert unrun.data == {"thread_id": THREAD, "origin": CHAT, "status": "failed", "reply": Forbidden().detail}


async def test_message_from_before_a_restart_that_is_returned_is_told_to_the_house(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.send(ANN, THREAD, "two", origin=CHAT)
    new_process(house)
    await house.turns.recover()
    await house.turns.halt(THREAD)
    assert [(e.data["origin"], e.data["status"]) for e in house.told("unrun")] == [(CHAT, "returned")]


async def test_message_whose_sender_still_waits_is_told_to_the_sender_alone(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    sent = await house.turns.send(ANN, THREAD, "two", origin=CHAT)
    await house.turns.halt(THREAD)
    assert (await asyncio.wait_for(house.turns.wait(sent), 5)).status == "returned"
    assert house.told("unrun") == []


async def test_message_that_waits_over_a_second_restart_is_not_given_up(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.send(ANN, THREAD, "two", origin=CHAT)
    await house.restart()
    await house.restart()
    assert house.told("unrun") == []
    assert [kept.origin for kept in await house.threads.waiting()] == [CHAT]


async def test_what_the_transcript_does_not_say_is_told_with_the_end(house: House) -> None:
    async def undoing(stage: Any, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        context.undo()
        yield {"type": "done", "state": state, "text": "undone"}

    house.agent.scripts["undo"] = undoing
    house.wishes.refusal = NothingToUndo()
    await house.turns.ask(ANN, THREAD, "undo")
    await ran(house)
    assert house.told("ended")[0].data["notes"] == [NothingToUndo().detail]
