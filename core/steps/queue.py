"""Captures that wait for the file are saved together: one transaction, a savepoint each.

Whoever finds the file idle saves at once and by itself, since a task of its own would cost as much as
the saving; what comes meanwhile is saved together after it. Where several tasks take turns, each lets the
others come first, so that one commit serves all.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from turnback.core.models import Step
from turnback.core.packs import Bundle
from turnback.core.policy import Budgets
from turnback.core.state.codec import Encoded
from turnback.core.steps.opening import Door
from turnback.core.steps.store import StepDraft

TOGETHER = 64
"""Captures in one transaction."""

QUICK, FEW = 1024 * 1024, 8
"""So many bytes of states, and so many of them, are saved quickly."""

Answer = Step | None | Exception


@dataclass(slots=True, eq=False)
class Capture:
    """A step to be saved."""

    draft: StepDraft
    content: Encoded | Bundle
    budgets: Budgets
    done: asyncio.Future[Step | None] | None = None
    """Whom to answer, if that is not the one who does the saving."""


@dataclass(slots=True)
class _Batch:
    """Captures that are saved together; filled on the connection's thread."""

    taken: list[Capture] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    undone: bool = False


class SaveQueue:
    """Saves captures by `save`, which runs in a transaction; `undone` is called when nothing of one was kept."""

    def __init__(
        self, door: Door, save: Callable[[sqlite3.Connection, Capture], Step | None], undone: Callable[[], None]
    ) -> None:
        self._door, self._save_one, self._undone = door, save, undone
        self._waiting: deque[Capture] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._following: asyncio.Task[None] | None = None
        self._last = 0
        self._several = False

    async def save(self, capture: Capture) -> Step | None:
        """Save one. Raises what the saving or the file raised."""
        self._waiting.append(capture)
        task = id(asyncio.current_task())
        self._several, self._last = task != self._last, task
        if not self._idle.is_set():
            capture.done = asyncio.get_running_loop().create_future()
            return await capture.done
        self._idle.clear()
        batch = _Batch()
        try:
            await self._run(batch)
        except asyncio.CancelledError:
            self._following = asyncio.ensure_future(self._outlive(batch))
            raise
        except Exception as error:  # noqa: BLE001 - whoever waits gets it, or would wait for ever
            self._failed(batch, error)
        self._finish(batch)
        answer = batch.answers[batch.taken.index(capture)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def idle(self) -> None:
        """Wait until everything is saved."""
        await self._idle.wait()

    async def _run(self, batch: _Batch) -> None:
        database = await self._door.database()
        if self._several:
            await asyncio.sleep(0)
        quick = len(self._waiting) <= FEW and sum(capture.content.bytes for capture in self._waiting) <= QUICK
        await database.write(
            functools.partial(self._save_all, batch), undone=functools.partial(self._undo, batch), quick=quick
        )

    def _save_all(self, batch: _Batch, db: sqlite3.Connection) -> None:
        while self._waiting and len(batch.taken) < TOGETHER:
            batch.taken.append(self._waiting.popleft())
        if len(batch.taken) == 1:
            batch.answers.append(self._save_one(db, batch.taken[0]))
        else:
            batch.answers += [self._save_apart(db, capture) for capture in batch.taken]

    def _save_apart(self, db: sqlite3.Connection, capture: Capture) -> Answer:
        """Save one of several: if it fails, the others stay."""
        db.execute("SAVEPOINT one")
        try:
            step = self._save_one(db, capture)
        except Exception as error:
            if not db.in_transaction:  # SQLite gave the whole transaction up, as when the disk is full
                raise
            self._undone()
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")
            return error
        db.execute("RELEASE one")
        return step

    def _undo(self, batch: _Batch) -> None:
        batch.undone = True
        self._undone()

    def _failed(self, batch: _Batch, error: Exception) -> None:
        """Nothing was kept: everybody who was part of it, or else waits, hears of it."""
        while not batch.taken and self._waiting:
            batch.taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
        batch.answers = [error] * len(batch.taken)

    def _finish(self, batch: _Batch) -> None:
        for capture, answer in zip(batch.taken, batch.answers, strict=True):
            if capture.done is None or capture.done.done():
                continue
            if isinstance(answer, Exception):
                capture.done.set_exception(answer)
            else:
                capture.done.set_result(answer)
        if self._waiting:
            self._following = asyncio.ensure_future(self._follow())
        else:
            self._idle.set()

    async def _follow(self) -> None:
        """Save what came meanwhile."""
        batch = _Batch()
        try:
            await self._run(batch)
        except Exception as error:  # noqa: BLE001 - as in `save`
            self._failed(batch, error)
        self._finish(batch)

    async def _outlive(self, batch: _Batch) -> None:
        """Who did the saving was cancelled; it goes on, and the others are still to be answered."""
        try:
            database = await self._door.database()
            await database.outside(lambda _db: None)  # comes after it on the connection's thread
            if batch.undone:
                raise asyncio.InvalidStateError("the transaction was not kept")
        except Exception as error:  # noqa: BLE001 - as in `save`
            self._failed(batch, error)
        self._finish(batch)
