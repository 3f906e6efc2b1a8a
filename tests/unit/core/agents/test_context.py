"""What a turn offers to its agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from support.turning import ANN, THREAD, Time

from turnback.core.agents.context import Redo, TurnContext, TurnOver, Undo
from turnback.core.models import Surface
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.threads.store import NewTurn


async def answers() -> Mapping[str, bool]:
    return {"x": True}


@pytest.fixture
async def threads(tmp_path: Path) -> AsyncIterator[SqliteThreadStore]:
    store = await SqliteThreadStore.open(tmp_path / "turnback.db")
    try:
        clock = Time()
        await store.create_account(ANN.account, ANN.name, clock())
        await store.create_thread(THREAD, "Trip", Surface.API, ANN.account, clock())
        await store.begin_turn(THREAD, NewTurn(text="hi", summary="hi", actor=ANN.account, at=clock()))
        yield store
    finally:
        await store.close()


@pytest.fixture
def context(threads: SqliteThreadStore, tmp_path: Path) -> TurnContext:
    return TurnContext(
        THREAD,
        tmp_path,
        threads=threads,
        approvals=answers,
        turns=[(1, "before")],
        notes=["a note"],
        clock=Time(),
        new_id=lambda: "f" * 32,
    )


async def test_context_tells_where_the_turn_stands(context: TurnContext, tmp_path: Path) -> None:
    assert (context.thread_id, context.workspace, context.notes) == (THREAD, tmp_path, ("a note",))
    assert await context.turns() == ((1, "before"),)
    assert await context.approvals() == {"x": True}


async def test_remember_keeps_a_fact_with_the_turn(context: TurnContext) -> None:
    fact = await context.remember("call me Captain")
    assert fact is not None
    assert (fact.text, fact.turn_no) == ("call me Captain", 1)
    assert list(await context.recall()) == [fact]


async def test_remember_keeps_nothing_while_memory_is_off(context: TurnContext, threads: SqliteThreadStore) -> None:
    await threads.set_memory(THREAD, False)
    assert await context.remember("call me Captain") is None
    assert list(await context.recall()) == []


async def test_context_of_a_turn_that_is_over_keeps_nothing(context: TurnContext) -> None:
    context.close()
    assert await context.remember("too late") is None
    with pytest.raises(TurnOver):
        await context.approvals()


def test_last_wish_counts(context: TurnContext) -> None:
    wishes: list[object] = [context.wanted]
    context.undo()
    wishes.append(context.wanted)
    context.undo(-3)
    wishes.append(context.wanted)
    context.redo()
    wishes.append(context.wanted)
    assert wishes == [None, Undo(1), Undo(0), Redo()]
