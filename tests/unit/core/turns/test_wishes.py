"""Undo and redo that the agent itself asks for."""

from __future__ import annotations

from typing import Any

from support.turning import ANN, THREAD, House, talked

from turnback.core.errors import NothingToUndo


async def undoing(stage: Any, state: Any, text: str, context: Any) -> Any:
    context.undo(int(text.split()[1]))
    yield {"type": "done", "state": talked(state, "assistant", "undone"), "text": "undone"}


async def test_undo_takes_the_turn_itself_too_and_its_answer_is_shown(house: House) -> None:
    house.agent.scripts["undo"] = undoing
    result = await house.turns.ask(ANN, THREAD, "undo 2")

    assert house.wishes.made == [("undo", 3)]
    assert (result.status, result.reply) == ("done", "undone")
    assert house.told("message")[-1].data["message"]["text"] == "undone"


async def test_redo_gives_the_chain_that_the_turn_ended(house: House) -> None:
    async def redoing(stage: Any, state: Any, text: str, context: Any) -> Any:
        context.redo()
        yield {"type": "done", "state": state, "text": "redone"}

    house.agent.scripts["redo"] = redoing
    await house.turns.ask(ANN, THREAD, "redo")
    assert house.wishes.made == [("redo", ())]


async def test_undo_that_is_refused_is_told(house: House) -> None:
    house.agent.scripts["undo"] = undoing
    house.wishes.refusal = NothingToUndo()
    result = await house.turns.ask(ANN, THREAD, "undo 1")
    assert (result.status, result.notes) == ("done", (NothingToUndo().detail,))


async def test_undo_that_breaks_leaves_the_answer(house: House) -> None:
    house.agent.scripts["undo"] = undoing
    house.wishes.refusal = OSError("disk")
    result = await house.turns.ask(ANN, THREAD, "undo 1")
    assert (result.status, result.reply) == ("done", "undone")
    assert result.notes == ("Going back did not work; the conversation is as it was.",)
    assert house.told("turn_finished")[-1].data["status"] == "done"
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"


async def test_undo_of_a_turn_that_was_stopped_is_not_done(house: House) -> None:
    async def slow_undo(stage: Any, state: Any, text: str, context: Any) -> Any:
        context.undo()
        await stage.halt("undo")
        yield {"type": "done", "state": state, "text": "undone"}

    house.agent.scripts["undo"] = slow_undo
    await house.turns.send(ANN, THREAD, "undo")
    await house.agent.reached("undo")
    await house.turns.stop(ANN, THREAD)
    assert house.wishes.made == []


async def test_turns_lists_those_before_this_one(house: House) -> None:
    async def listing(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "done", "state": state, "text": str(list(await context.turns()))}

    house.agent.scripts["list"] = listing
    await house.turns.ask(ANN, THREAD, "one")
    await house.turns.ask(ANN, THREAD, "two")
    assert (await house.turns.ask(ANN, THREAD, "list")).reply == "[(1, 'one'), (2, 'two')]"
