"""Words for tests of thread stores: one turn with its steps, going back and on, a fork."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from turnback.core.lineage import Path
from turnback.core.models import (
    AccountId,
    Action,
    AuditEntry,
    ForkedFrom,
    Position,
    StepId,
    Surface,
    Thread,
    ThreadId,
    Turn,
    TurnStatus,
)
from turnback.core.state.codec import encode
from turnback.core.threads.store import Move, NewFork, NewTurn, Return, Row, ThreadStore, ThreadView

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ANN = AccountId("ann")
BOB = AccountId("bob")
TRIP = ThreadId("1" * 32)
FORK = ThreadId("2" * 32)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def entry(action: Action = Action.RESTORE, thread_id: ThreadId = TRIP) -> AuditEntry:
    return AuditEntry(at=later(60), account=ANN, actor="ann", surface=Surface.WEB, action=action, thread_id=thread_id)


def new_turn(text: str, *, at: datetime = NOW, turn_index: int | None = None) -> NewTurn:
    return NewTurn(text=text, summary=text, actor=ANN, at=at, turn_index=turn_index)


def said(text: str) -> list[Row]:
    return [Row(role="assistant", text=text)]


@dataclass
class Talk:
    """A thread of a store, and what one does with it."""

    store: ThreadStore
    id: ThreadId = TRIP
    made: int = field(default=0, init=False)

    async def start(self) -> Talk:
        await self.store.create_thread(self.id, "Trip", Surface.WEB, ANN, NOW)
        return self

    async def begin(self, text: str = "hello") -> Turn:
        return await self.store.begin_turn(self.id, new_turn(text))

    async def commit(self, turn: Turn, state: dict[str, Any]) -> Position:
        return await self.store.commit_step(self.id, turn.turn_no, encode(state))

    async def end(self, turn: Turn, answer: str = "done", status: TurnStatus = TurnStatus.DONE) -> Turn:
        return await self.store.end_turn(self.id, turn.turn_no, status, said(answer), later(1))

    async def turn(self, text: str, states: Sequence[dict[str, Any]] = ()) -> list[Position]:
        """A whole turn: the positions of its steps."""
        turn = await self.begin(text)
        places = [await self.commit(turn, state) for state in states or [{"said": text}]]
        await self.end(turn, f"answer to {text}")
        return places

    async def move(
        self, to: Position, *, state: dict[str, Any] | None = None, discard: bool = False, keep: bool = True
    ) -> Thread:
        """Go to a position; with `keep` the old head goes on top of the redo chain."""
        view = await self.view()
        self.made += 1
        back = (*view.returns, Return(id=f"r{self.made}", to=view.thread.head)) if keep and not discard else ()
        content = None if state is None else encode(state)
        move = Move(to=to, returns=back, content=content, audit=entry(thread_id=self.id), discard=discard)
        return await self.store.move_head(self.id, view.thread.version, move)

    async def redo(self) -> Thread:
        view = await self.view()
        move = Move(to=view.returns[-1].to, returns=view.returns[:-1], content=None, audit=entry(Action.REDO))
        return await self.store.move_head(self.id, view.thread.version, move)

    async def undo(self, n: int = 1) -> Thread:
        return await self.move((await self.path_turns())[-n].base)

    async def fork(self, at: Position, fork_id: ThreadId = FORK, state: dict[str, Any] | None = None) -> Talk:
        await self.store.fork_thread(fork_of(self.id, at, fork_id, state))
        return Talk(self.store, fork_id)

    async def view(self) -> ThreadView:
        view = await self.store.view(self.id)
        assert view is not None
        return view

    async def path(self) -> Path:
        view = await self.view()
        return view.lineage.path(view.thread.head)

    async def path_turns(self) -> list[Turn]:
        view = await self.view()
        path = view.lineage.path(view.thread.head)
        return [t for t in view.turns if path.covers(t.start)]

    async def head(self) -> Position:
        return (await self.view()).thread.head

    async def texts(self) -> list[str]:
        return [row.text for row, _ in await self.store.transcript(self.id)]

    async def state(self) -> dict[str, Any] | None:
        """What is kept at the head."""
        return await self.store.checkpoint(self.id, await self.head())


def fork_of(source: ThreadId, at: Position, fork_id: ThreadId = FORK, state: dict[str, Any] | None = None) -> NewFork:
    return NewFork(
        id=fork_id,
        title="⑂ Trip",
        owner=BOB,
        surface=Surface.API,
        source=source,
        at=at,
        turn_index=1,
        forked_from=ForkedFrom(thread_id=source, snapshot_id=StepId("a" * 32)),
        content=encode(state or {"forked": True}),
        created_at=NOW,
        audit=entry(Action.FORK, source),
        root={"id": "b" * 32},
    )
