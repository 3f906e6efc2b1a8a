"""turnback.db: the thread store on SQLite.

Each method is one transaction and one hop of a connection's thread; what it does is in the modules
beside this one, as functions on a connection.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, Self, TypeVar

from turnback.core.errors import StoreUnavailable
from turnback.core.models import (
    BEGINNING,
    AccountId,
    Actor,
    AuditEntry,
    Effect,
    Fact,
    FactId,
    ForkedFrom,
    Gate,
    GateId,
    GateStatus,
    Position,
    Spent,
    State,
    Surface,
    Thread,
    ThreadId,
    TranscriptRow,
    Turn,
    TurnStatus,
)
from turnback.core.packs import Packs, load
from turnback.core.packs.bundle import Bundle
from turnback.core.state.codec import Encoded
from turnback.core.threads import gates, heads, opening, records, removal, transcript, values, waiting
from turnback.core.threads.books import SqliteBooks
from turnback.core.threads.checkpoints import EMPTY, KEPT, Checkpoints
from turnback.core.threads.guarded import GuardedDatabase
from turnback.core.threads.schema import MIGRATIONS
from turnback.core.threads.store import LISTED, FollowUp, Move, NewFork, NewTurn, Row, ThreadView, Waiting

T = TypeVar("T")

LARGE, QUICK = 256 * 1024, 1024 * 1024
"""States over this many bytes are decoded, and over this many written, off the event loop."""


class SqliteThreadStore(SqliteBooks):
    """See `ThreadStore`."""

    def __init__(self, db: GuardedDatabase, packs: Packs) -> None:
        super().__init__(db)
        self._packs = packs
        self._checkpoints = Checkpoints(packs)
        self._written: int | None = None

    @classmethod
    async def open(cls, path: Path, *, durability: Literal["normal", "full"] = "normal") -> Self:
        """Open or create turnback.db. Raises what `Database.open` raises."""
        return cls(await GuardedDatabase.open(path, MIGRATIONS, durability=durability), Packs(KEPT))

    def on_trouble(self, told: Callable[[StoreUnavailable], None]) -> None:
        """Have `told` called whenever the file cannot be read or written."""
        self._db.trouble = told

    async def close(self) -> None:
        await self._db.close()

    async def backup(self, path: str) -> None:
        await self._db.backup(Path(path))

    async def _keeping(
        self, thread_id: ThreadId, fn: Callable[[sqlite3.Connection], T], content: Encoded | Bundle | None = EMPTY
    ) -> T:
        """Run a writing transaction that stores `content`; with None, one that may take its time."""

        def keep(db: sqlite3.Connection) -> T:
            (written,) = db.execute("PRAGMA data_version").fetchone()
            if written != self._written:  # by another process: what packs remember may not be so any more
                self._packs.rolled_back()
                self._written = written
            return fn(db)

        quick = content is not None and content.bytes <= QUICK
        return await self._db.write(keep, undone=functools.partial(self._packs.rolled_back, thread_id), quick=quick)

    def _bury(self, thread_id: ThreadId, db: sqlite3.Connection) -> None:
        removal.bury(db, self._checkpoints, thread_id)

    # threads and where they stand

    async def create_thread(
        self, thread_id: ThreadId, title: str, surface: Surface, owner: AccountId, at: datetime, *, group: bool = False
    ) -> Thread:
        return await self._db.write(
            lambda db: opening.create_thread(db, thread_id, title, surface, owner, at, group=group)
        )

    async def find_thread(self, thread_id: ThreadId) -> Thread | None:
        return await self._db.read(lambda db: values.find_thread(db, thread_id))

    async def list_threads(self, account: AccountId | None, limit: int = LISTED) -> Sequence[Thread]:
        return await self._db.read(lambda db: opening.list_threads(db, account, limit))

    async def match_threads(self, account: AccountId, beginning: str, limit: int) -> Sequence[Thread]:
        return await self._db.read(lambda db: opening.match_threads(db, account, beginning, limit))

    async def rename_thread(self, thread_id: ThreadId, title: str, at: datetime) -> Thread | None:
        return await self._db.write(lambda db: opening.rename_thread(db, thread_id, title, at))

    async def view(self, thread_id: ThreadId) -> ThreadView | None:
        return await self._db.read(lambda db: heads.view(db, thread_id))

    async def set_memory(self, thread_id: ThreadId, on: bool) -> None:
        await self._db.write(lambda db: opening.set_memory(db, thread_id, on))

    async def running(self) -> Sequence[Turn]:
        return await self._db.read(heads.running)

    # turns

    async def begin_turn(self, thread_id: ThreadId, turn: NewTurn) -> Turn:
        return await self._keeping(thread_id, lambda db: heads.begin_turn(db, self._checkpoints, thread_id, turn))

    async def commit_step(
        self,
        thread_id: ThreadId,
        turn_no: int,
        content: Encoded,
        *,
        effects: Sequence[Effect] = (),
        spent: Spent = Spent(),
    ) -> Position:
        return await self._keeping(
            thread_id,
            lambda db: heads.commit_step(db, self._checkpoints, thread_id, turn_no, content, effects, spent),
            content,
        )

    async def end_turn(
        self,
        thread_id: ThreadId,
        turn_no: int,
        status: TurnStatus,
        rows: Sequence[Row],
        at: datetime,
        *,
        content: Encoded | None = None,
        spent: Spent = Spent(),
    ) -> Turn:
        return await self._keeping(
            thread_id,
            lambda db: heads.end_turn(db, self._checkpoints, thread_id, turn_no, status, rows, at, content, spent),
            content or EMPTY,
        )

    async def record_turn(
        self,
        thread_id: ThreadId,
        turn: NewTurn,
        content: Encoded,
        rows: Sequence[Row],
        *,
        same_turn: bool,
        effects: Sequence[Effect] = (),
        spent: Spent = Spent(),
    ) -> tuple[Turn, Position]:
        return await self._keeping(
            thread_id,
            lambda db: heads.record_turn(
                db, self._checkpoints, thread_id, turn, content, rows, effects, spent, same_turn=same_turn
            ),
            content,
        )

    async def set_turn_status(self, thread_id: ThreadId, turn_no: int, status: TurnStatus) -> None:
        await self._db.write(lambda db: heads.set_turn_status(db, thread_id, turn_no, status))

    # messages that wait for their turn

    async def add_waiting(
        self, thread_id: ThreadId, actor: Actor, text: str, *, origin: str | None = None, files: Sequence[str] = ()
    ) -> int:
        return await self._db.write(lambda db: waiting.add(db, thread_id, actor, text, origin, files))

    async def waiting(self) -> Sequence[Waiting]:
        return await self._db.read(waiting.find)

    async def drop_waiting(self, gone: Collection[int]) -> None:
        await self._db.write(lambda db: waiting.drop(db, gone))

    # going back

    async def checkpoint(self, thread_id: ThreadId, at: Position) -> State | None:
        bundle = await self._db.read(lambda db: self._checkpoints.find(db, thread_id, at))
        if bundle is None:
            return {} if at == BEGINNING else None
        return await _decoded(bundle)

    async def checkpoint_bundle(self, thread_id: ThreadId, at: Position, *, here: bool = False) -> Bundle | None:
        return await self._db.read(lambda db: self._checkpoints.find(db, thread_id, at, to_read=here), quick=here)

    async def move_head(self, thread_id: ThreadId, version: int, move: Move) -> Thread:
        return await self._keeping(
            thread_id,
            lambda db: heads.move_head(db, self._checkpoints, thread_id, version, move),
            None if move.discard else move.content or EMPTY,
        )

    async def fork_thread(self, fork: NewFork) -> Thread:
        return await self._keeping(fork.id, lambda db: opening.fork_thread(db, self._checkpoints, fork), None)

    async def recent_fork(self, owner: AccountId, forked_from: ForkedFrom, since: datetime) -> Thread | None:
        return await self._db.read(lambda db: opening.recent_fork(db, owner, forked_from, since))

    async def clear_thread(self, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
        return await self._db.write(lambda db: removal.clear_thread(db, thread_id, audit), quick=False)

    async def delete_thread(self, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
        return await self._keeping(
            thread_id, lambda db: removal.delete_thread(db, self._checkpoints, thread_id, audit), None
        )

    async def follow_ups(self) -> Sequence[FollowUp]:
        return await self._db.read(records.follow_ups)

    async def followed_up(self, follow_up_id: int) -> None:
        await self._db.write(lambda db: records.drop_follow_up(db, follow_up_id))

    async def sweep(self, thread_id: ThreadId, steps: Collection[Position]) -> int:
        return await self._keeping(thread_id, lambda db: removal.sweep(db, self._checkpoints, thread_id, steps), None)

    async def tombstones(self, ids: Collection[ThreadId] | None = None) -> Collection[ThreadId]:
        return await self._db.read(lambda db: records.tombstones(db, ids))

    async def merge_tombstones(self, ids: Collection[ThreadId]) -> None:
        for thread_id in ids:
            await self._keeping(thread_id, functools.partial(self._bury, thread_id), None)

    async def purge(self) -> bool:
        return await self._db.purge()

    # what people see and what the agent remembers

    async def transcript(
        self, thread_id: ThreadId, *, everything: bool = False
    ) -> Sequence[tuple[TranscriptRow, bool]]:
        return await self._db.read(lambda db: transcript.transcript(db, thread_id, everything=everything), quick=False)

    async def turn_rows(self, thread_id: ThreadId, turn_no: int) -> Sequence[TranscriptRow]:
        return await self._db.read(lambda db: transcript.turn_rows(db, thread_id, turn_no))

    async def effects(self, thread_id: ThreadId) -> Sequence[Effect]:
        return await self._db.read(lambda db: transcript.effects(db, thread_id))

    async def add_fact(self, thread_id: ThreadId, fact_id: FactId, text: str, at: datetime) -> Fact:
        return await self._db.write(lambda db: transcript.add_fact(db, thread_id, fact_id, text, at))

    async def facts(self, thread_id: ThreadId) -> Sequence[Fact]:
        return await self._db.read(lambda db: transcript.facts(db, thread_id))

    async def forget_facts(self, thread_id: ThreadId, fact_id: FactId | None, audit: AuditEntry) -> FollowUp | None:
        return await self._db.write(lambda db: removal.forget_facts(db, thread_id, fact_id, audit), quick=False)

    # gates

    async def open_gates(
        self, thread_id: ThreadId, turn_no: int, opened: Sequence[Gate], content: Encoded | None
    ) -> None:
        await self._keeping(
            thread_id,
            lambda db: gates.open_gates(db, self._checkpoints, thread_id, turn_no, opened, content),
            content or EMPTY,
        )

    async def gate_content(self, thread_id: ThreadId, turn_no: int) -> State | None:
        bundle = await self._db.read(lambda db: gates.find_content(db, self._checkpoints, thread_id, turn_no))
        return None if bundle is None else await _decoded(bundle)

    async def gates(self, thread_id: ThreadId, turn_no: int) -> Sequence[Gate]:
        return await self._db.read(lambda db: gates.gates(db, thread_id, turn_no))

    async def find_gate(self, gate_id: GateId) -> Gate | None:
        return await self._db.read(lambda db: gates.find_gate(db, gate_id))

    async def decide_gate(self, gate_id: GateId, status: GateStatus, by: AccountId | None, at: datetime) -> bool:
        return await self._db.write(lambda db: gates.decide_gate(db, gate_id, status, by, at))


async def _decoded(bundle: Bundle) -> State:
    return load(bundle) if bundle.bytes < LARGE else await asyncio.to_thread(load, bundle)
