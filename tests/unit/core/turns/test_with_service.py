"""Turns together with the real rewind service and both files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.turning import ANN, Stage, Time, gated, slow, talked

from turnback.core import open_service
from turnback.core.errors import ApprovalPending, NotFound, TurnRunning
from turnback.core.models import ThreadId
from turnback.core.service import Turnback


async def undoing(stage: Stage, state: Any, text: str, context: Any) -> Any:
    context.undo(1)
    yield {"type": "done", "state": talked(state, "assistant", "undone"), "text": "undone"}


async def redoing(stage: Stage, state: Any, text: str, context: Any) -> Any:
    context.redo()
    yield {"type": "done", "state": talked(state, "assistant", "redone"), "text": "redone"}


@pytest.fixture
def stage() -> Stage:
    return Stage(slow=slow, gated=gated, undo=undoing, redo=redoing)


@pytest.fixture
async def app(tmp_path: Path, stage: Stage) -> AsyncIterator[Turnback]:
    async with open_service(tmp_path / "data", agent=stage, clock=Time()) as opened:
        await opened.threads.create_account(ANN.account, ANN.name, Time()())
        yield opened


@pytest.fixture
async def thread(app: Turnback) -> ThreadId:
    return (await app.rewind.create_thread(ANN, "Trip")).id


async def texts(app: Turnback, thread: ThreadId) -> list[str]:
    return [r.text for r, _ in await app.rewind.transcript(ANN, thread)]


async def test_agent_undoes_its_turn_and_the_one_before(app: Turnback, thread: ThreadId) -> None:
    for text in ("one", "two"):
        await app.turns.ask(ANN, thread, text)
    result = await app.turns.ask(ANN, thread, "undo")

    assert (result.status, result.reply) == ("done", "undone")
    assert await texts(app, thread) == ["one", "said one"]
    assert (await app.turns.ask(ANN, thread, "three")).turn_index == 2


async def test_agent_redoes_what_was_undone_before_its_turn(app: Turnback, thread: ThreadId) -> None:
    for text in ("one", "two"):
        await app.turns.ask(ANN, thread, text)
    await app.rewind.undo(ANN, thread)
    result = await app.turns.ask(ANN, thread, "redo")

    assert (result.status, result.reply, result.notes) == ("done", "redone", ())
    assert await texts(app, thread) == ["one", "said one", "two", "said two"]


async def test_agent_that_finds_nothing_to_redo_says_so(app: Turnback, thread: ThreadId) -> None:
    result = await app.turns.ask(ANN, thread, "redo")
    assert result.status == "done"
    assert result.notes == ("There is nothing to redo.",)


async def test_restore_is_refused_while_a_turn_runs(app: Turnback, thread: ThreadId, stage: Stage) -> None:
    await app.turns.ask(ANN, thread, "one")
    await app.turns.send(ANN, thread, "slow")
    for operation in (app.rewind.undo, app.rewind.redo, app.rewind.reset):
        with pytest.raises(TurnRunning):
            await operation(ANN, thread)
    await app.turns.stop(ANN, thread)
    assert (await app.rewind.undo(ANN, thread)).turns_set_aside == 1
    assert await texts(app, thread) == ["one", "said one"]


async def test_restore_is_refused_while_a_gate_waits(app: Turnback, thread: ThreadId) -> None:
    asked = await app.turns.ask(ANN, thread, "gated x")
    with pytest.raises(ApprovalPending) as refused:
        await app.rewind.undo(ANN, thread)
    assert [g["id"] for g in refused.value.gates] == [asked.gates[0].id]


async def test_step_before_an_answered_gate_is_a_finished_turn(app: Turnback, thread: ThreadId) -> None:
    asked = await app.turns.ask(ANN, thread, "gated x")
    await app.turns.decided(ANN, thread, asked.gates[0].id, True)
    before = (await app.rewind.list_steps(ANN, thread)).steps[0]
    await app.rewind.restore(ANN, thread, before.step.id)

    assert not app.turns.running(thread)
    with pytest.raises(NotFound, match="no longer waiting"):
        await app.turns.decide(ANN, thread, asked.gates[0].id, True)
    again = await app.turns.ask(ANN, thread, "gated x")
    assert again.status == "approval_pending"
    assert again.gates[0].id != asked.gates[0].id


async def test_message_and_restore_at_once_never_mix(app: Turnback, thread: ThreadId) -> None:
    for text in ("one", "two"):
        await app.turns.ask(ANN, thread, text)
    first = (await app.rewind.list_steps(ANN, thread)).steps[0]

    restored, answered = await asyncio.gather(
        app.rewind.restore(ANN, thread, first.step.id),
        app.turns.ask(ANN, thread, "three"),
        return_exceptions=True,
    )
    assert not isinstance(answered, BaseException)
    if isinstance(restored, TurnRunning):
        assert await texts(app, thread) == ["one", "said one", "two", "said two", "three", "said three"]
    else:
        assert await texts(app, thread) == ["one", "said one", "three", "said three"]


async def test_iteration_that_ran_during_a_clear_is_not_saved(app: Turnback, thread: ThreadId, stage: Stage) -> None:
    sent = await app.turns.send(ANN, thread, "slow")
    await stage.reached("start")
    await app.rewind.clear(ANN, thread)
    stage.go("start")
    stage.go("middle")
    assert (await app.turns.wait(sent)).notes == ()

    listing = await app.rewind.list_steps(ANN, thread)
    assert [s.step.number for s in listing.steps] == [2]


async def test_delete_stops_the_turn_and_nothing_comes_back(app: Turnback, thread: ThreadId, stage: Stage) -> None:
    sent = await app.turns.send(ANN, thread, "slow")
    waiting = await app.turns.send(ANN, thread, "two")
    stage.go("start")
    await stage.reached("middle")
    await app.rewind.delete(ANN, thread)

    assert (await app.turns.wait(sent)).status == "stopped"
    assert (await app.turns.wait(waiting)).status == "returned"
    with pytest.raises(NotFound):
        await app.turns.send(ANN, thread, "three")
    assert thread not in await app.steps.threads()


async def test_stopped_turn_can_be_undone(app: Turnback, thread: ThreadId, stage: Stage) -> None:
    await app.turns.send(ANN, thread, "slow")
    await app.turns.stop(ANN, thread)
    await app.rewind.undo(ANN, thread)
    assert await texts(app, thread) == []


async def test_fork_of_a_failed_turns_step_is_usable(app: Turnback, thread: ThreadId, stage: Stage) -> None:
    async def boom(stage: Stage, state: Any, text: str, context: Any) -> Any:
        yield {"type": "step", "state": talked(talked(state, "user", text), "assistant", "half")}
        raise ValueError

    stage.scripts["boom"] = boom
    assert (await app.turns.ask(ANN, thread, "boom")).status == "failed"
    fork = await app.rewind.fork(ANN, thread)
    result = await app.turns.ask(ANN, fork.thread.id, "go on")
    assert (result.status, result.turn_index) == ("done", 2)
    assert [m["content"] for m in stage.seen[-1]["messages"]] == ["boom", "half"]
