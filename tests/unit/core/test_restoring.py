"""Restoring across what makes it hard: a restart, a compaction, damage, a failure in the middle."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from support.web import Patient
from support.world import ANN, Clock, Rules, Scripted

from turnback.core import open_service
from turnback.core.agents.protocol import Context
from turnback.core.errors import NotFound, StoreUnavailable, TurnRunning
from turnback.core.models import Outcome, State, Thread
from turnback.core.policy import TimeTravel
from turnback.core.recording import Report
from turnback.core.service import Turnback

Say = Callable[..., Awaitable[str]]


class Compacting(Scripted):
    """Beside what `Scripted` does, `compact` puts a summary in the place of all messages."""

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        if text == "compact":
            summary = {"role": "system", "content": f"Summary of {len(state['messages'])} messages."}
            state = {**state, "messages": [summary]}
        async for event in super().run(state, text, context):
            yield event


@pytest.fixture
async def service(data: Path, clock: Clock, rules: Rules) -> AsyncIterator[Turnback]:
    async with open_service(data, agent=Compacting(), policy=rules, clock=clock, maintain=False) as opened:
        await opened.threads.create_account(ANN.account, ANN.name, clock())
        yield opened


async def ids(service: Turnback, thread: Thread) -> list[str]:
    return [v.step.id for v in (await service.rewind.list_steps(ANN, thread.id)).steps]


async def texts(service: Turnback, thread: Thread) -> list[str]:
    """What the agent will be given."""
    return [m["content"] for m in (await state(service, thread))["messages"]]


async def words(service: Turnback, thread: Thread) -> list[str]:
    return [row.text for row, _ in await service.rewind.transcript(ANN, thread.id) if row.role == "user"]


async def state(service: Turnback, thread: Thread) -> dict[str, Any]:
    now = await service.rewind.thread(ANN, thread.id)
    kept = await service.threads.checkpoint(thread.id, now.head)
    assert kept is not None
    return kept


async def everything(service: Turnback, thread: Thread) -> Any:
    """All that a refused or failed restore must leave as it was."""
    listing = await service.rewind.list_steps(ANN, thread.id, everything=True)
    return (
        await service.rewind.thread(ANN, thread.id),
        await state(service, thread),
        await service.rewind.transcript(ANN, thread.id, everything=True),
        await service.rewind.facts(ANN, thread.id),
        [(v.step.id, v.on_path, v.head) for v in listing.steps],
    )


async def test_restored_state_is_there_after_a_restart(data: Path, clock: Clock) -> None:
    async with open_service(data, agent=Scripted(), clock=clock, maintain=False) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "set plan a")
        before = await state(service, thread)
        await service.turns.ask(ANN, thread.id, "set plan b")
        await service.turns.ask(ANN, thread.id, "set scratchpad 2")
        await service.rewind.restore(ANN, thread.id, (await ids(service, thread))[0])
    async with open_service(data, agent=Scripted(), clock=clock, maintain=False) as service:
        assert await state(service, thread) == before
        assert "scratchpad" not in before
        assert await words(service, thread) == ["set plan a"]
        assert (await service.rewind.redo(ANN, thread.id)).turns_brought_back == 2


async def fill(say: Say) -> None:
    """Twelve turns, compacted in the tenth."""
    for n in range(1, 10):
        await say(f"turn {n}")
    await say("compact")
    for n in (11, 12):
        await say(f"turn {n}")


@pytest.mark.parametrize("turn", [4, 9])
async def test_restore_to_before_a_compaction_gives_the_originals(
    service: Turnback, thread: Thread, say: Say, turn: int
) -> None:
    await fill(say)
    await service.rewind.restore(ANN, thread.id, (await ids(service, thread))[turn - 1])
    expected = [text for n in range(1, turn + 1) for text in (f"turn {n}", f"said turn {n}")]
    assert await texts(service, thread) == expected
    assert await words(service, thread) == [f"turn {n}" for n in range(1, turn + 1)]


async def test_restore_to_after_a_compaction_keeps_the_summary(service: Turnback, thread: Thread, say: Say) -> None:
    await fill(say)
    await service.rewind.restore(ANN, thread.id, (await ids(service, thread))[10])
    assert await texts(service, thread) == [
        "Summary of 18 messages.", "compact", "said compact", "turn 11", "said turn 11",
    ]  # fmt: skip


async def test_undo_crosses_a_compaction_turn_by_turn(service: Turnback, thread: Thread, say: Say) -> None:
    await fill(say)
    for left in (11, 10, 9):
        told = await service.rewind.undo(ANN, thread.id)
        assert (told.turns_set_aside, told.turn_index) == (1, left)
    assert len(await texts(service, thread)) == 18
    listing = await service.rewind.list_steps(ANN, thread.id, everything=True)
    assert "Summary" not in str([t.turn.summary for t in listing.turns])


@pytest.mark.parametrize("lessons", ["offer", "off"])
async def test_step_that_is_damaged_is_refused_and_nothing_changes(
    service: Turnback, thread: Thread, say: Say, data: Path, rules: Rules, lessons: Literal["offer", "off"]
) -> None:
    rules.value = TimeTravel(lessons=lessons)
    await say("remember tea")
    await say("set plan a")
    first = (await ids(service, thread))[0]
    db = sqlite3.connect(data / "steps.db")
    assert db.execute("DELETE FROM pack_loose").rowcount
    db.commit()
    db.close()
    before = await everything(service, thread)
    with pytest.raises(StoreUnavailable):
        await service.rewind.restore(ANN, thread.id, first)
    newest = (await service.threads.audit_trail(thread_id=thread.id))[0]
    assert (newest.outcome, newest.code) == (Outcome.REFUSED, "store_unavailable")
    assert await everything(service, thread) == before


async def test_step_of_another_chat_is_refused_and_nothing_changes(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    other = await service.rewind.create_thread(ANN)
    await say("other", other.id)
    before = await everything(service, thread)
    with pytest.raises(NotFound):
        await service.rewind.restore(ANN, thread.id, (await ids(service, other))[0])
    assert await everything(service, thread) == before


@pytest.mark.parametrize("odd", [{}, {"messages": None}, {"messages": "text"}, {"messages": [1, None, []]}])
async def test_any_object_can_be_restored_as_it_is(
    service: Turnback, thread: Thread, say: Say, odd: dict[str, Any]
) -> None:
    recorded = await service.rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state=odd))
    await service.rewind.record(ANN, thread.id, Report(turn_index=2, iteration=0, state={"plan": 1}))
    assert recorded.id is not None
    await service.rewind.restore(ANN, thread.id, recorded.id)
    kept = await state(service, thread)
    assert "plan" not in kept
    assert kept.keys() == odd.keys()


async def test_restore_that_fails_in_its_transaction_leaves_everything(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")
    await say("two")
    first = (await ids(service, thread))[0]
    before = await everything(service, thread)

    async def fail(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(service.threads, "move_head", fail)
        with pytest.raises(OSError, match="space"):
            await service.rewind.restore(ANN, thread.id, first)
    assert await everything(service, thread) == before
    newest = (await service.threads.audit_trail(thread_id=thread.id))[0]
    assert (newest.outcome, newest.head_before) == (Outcome.FAILED, None)
    assert (await service.rewind.restore(ANN, thread.id, first)).turns_set_aside == 1


async def test_chat_and_fork_go_on_after_the_step_they_stand_on_expired(
    service: Turnback, thread: Thread, say: Say, clock: Clock
) -> None:
    await say("set plan a")
    clock.advance(days=29)
    await say("set plan b")
    first = (await ids(service, thread))[0]
    await service.rewind.restore(ANN, thread.id, first)
    fork = (await service.rewind.fork(ANN, thread.id, first)).thread
    before = await state(service, thread)
    clock.advance(days=2)
    planned = await service.maintenance.count()
    done = await service.maintenance.run()
    assert (planned.steps, done.steps) == (1, 1)
    assert len(await ids(service, fork)) == 1, "a fork's root is as old as the fork"
    for chat in (thread, fork):
        assert await state(service, chat) == before
        assert await words(service, chat) == ["set plan a"]
        assert (await service.turns.ask(ANN, chat.id, "go on")).status == "done"


async def test_restore_twice_in_a_moment_moves_once(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")
    first = (await ids(service, thread))[0]
    told = await asyncio.gather(*(service.rewind.restore(ANN, thread.id, first) for _ in range(2)))
    assert sorted(t.unchanged for t in told) == [False, True]
    await service.rewind.redo(ANN, thread.id)
    assert await words(service, thread) == ["one", "two"]


async def test_every_open_tab_is_told_to_reload_and_where(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")
    first = (await ids(service, thread))[0]
    async with service.events.listen() as events:
        await service.rewind.restore(ANN, thread.id, first)
        told = [await anext(events), await anext(events)]
    names = {e.name: e for e in told if e is not None}
    assert names["reload"].data == {"thread_id": thread.id, "head": first}
    assert names["reload"].readers == frozenset({ANN.account})
    assert (names["rewound"].data["by"], names["rewound"].data["turn_index"]) == ("Ann", 1)


async def test_every_way_back_is_refused_and_audited_during_a_turn(data: Path, clock: Clock) -> None:
    agent = Patient()
    async with open_service(data, agent=agent, clock=clock, maintain=False) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "one")
        first = (await ids(service, thread))[0]
        sent = await service.turns.send(ANN, thread.id, "hold")
        await agent.held.wait()
        told = await asyncio.gather(
            service.rewind.restore(ANN, thread.id, first),
            service.rewind.undo(ANN, thread.id),
            service.rewind.redo(ANN, thread.id),
            service.rewind.reset(ANN, thread.id),
            return_exceptions=True,
        )
        assert [type(refusal) for refusal in told] == [TurnRunning] * 4
        trail = await service.threads.audit_trail(thread_id=thread.id)
        refused = {(e.action.value, e.code) for e in trail if e.outcome is Outcome.REFUSED}
        assert refused == {(action, "turn_running") for action in ("restore", "undo", "redo", "reset")}
        agent.let_go.set()
        await service.turns.wait(sent)
        assert await words(service, thread) == ["one", "hold"]
        assert (await state(service, thread))["messages"][-1]["content"] == "said hold"
