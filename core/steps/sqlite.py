"""Steps in one SQLite file, `steps.db`.

A file that cannot be used raises `StoreUnavailable` at every call until it can be used again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

import structlog

from turnback.core.errors import TooManyLabels
from turnback.core.models import State, Step, StepId, ThreadId
from turnback.core.packs import Bundle, Packs, opened, tables
from turnback.core.policy import MAX_LABELS, Budgets
from turnback.core.state.codec import Encoded
from turnback.core.steps import keeping, rows
from turnback.core.steps.checkpointing import log_size
from turnback.core.steps.keeping import Hints
from turnback.core.steps.opening import Door, unavailable
from turnback.core.steps.queue import Capture, SaveQueue
from turnback.core.steps.schema import MIGRATIONS
from turnback.core.steps.store import Disk, StepDraft, Usage

T = TypeVar("T")

FORGOTTEN = 2**62
"""The epoch that no capture reaches: that of a thread that is gone."""

_log = structlog.get_logger(__name__)


class SqliteStepStore:
    """See `StepStore`. Opened by the first call that needs the file."""

    def __init__(self, path: Path, *, durability: Literal["normal", "full"] = "normal") -> None:
        self._packs = Packs(rows.KEPT)
        self._door = Door(path, MIGRATIONS, durability, self._undone)
        self._queue = SaveQueue(self._door, self._save_one, self._undone)
        self._hints = Hints()

    async def close(self) -> None:
        await self._queue.idle()
        await self._door.close()

    # saving

    async def capture(self, draft: StepDraft, encoded: Encoded, budgets: Budgets) -> Step | None:
        return await self._save(draft, encoded, budgets)

    async def adopt(self, draft: StepDraft, bundle: Bundle, budgets: Budgets) -> Step | None:
        return await self._save(draft, bundle, budgets)

    async def _save(self, draft: StepDraft, content: Encoded | Bundle, budgets: Budgets) -> Step | None:
        with unavailable():
            step = await self._queue.save(Capture(draft, content, budgets))
            await self._door.checkpointer.saved()
        return step

    def _save_one(self, db: sqlite3.Connection, capture: Capture) -> Step | None:
        draft, content = capture.draft, capture.content
        known = self._hints.of(db, draft.thread_id)
        if draft.epoch < known.epoch:
            return None
        stored = self._packs.put(db, draft.thread_id, content)
        step = rows.add(
            db,
            stored.number,
            draft,
            size=content.bytes,
            stored=stored.stored_bytes,
            truncated=isinstance(content, Encoded) and content.truncated,
            ref=stored.ref,
        )
        grown = None if stored.grown is None else step.stored_bytes - stored.stored_bytes + stored.grown
        keeping.Keeper(db, self._packs, self._hints, known, stored.number, step, grown, capture.budgets).apply()
        return step

    # looking

    async def rows(self, thread_id: ThreadId, newest: int | None = None) -> Sequence[Step]:
        return (
            await self._look(
                thread_id, lambda db, number: rows.of_thread(db, thread_id, number, newest), quick=newest is not None
            )
            or ()
        )

    async def match(self, thread_id: ThreadId, prefix: str) -> Sequence[Step]:
        return (
            await self._look(
                thread_id, lambda db, number: rows.beginning_with(db, thread_id, number, prefix), quick=True
            )
            or ()
        )

    async def labelled(self, thread_id: ThreadId, label: str) -> Step | None:
        return await self._look(thread_id, lambda db, number: rows.labelled(db, thread_id, number, label), quick=True)

    async def state(self, thread_id: ThreadId, step_id: StepId) -> State | None:
        def read(db: sqlite3.Connection, number: int) -> State | None:
            ref = rows.ref(db, number, step_id)
            return None if ref is None else self._packs.read(db, thread_id, ref)

        return await self._look(thread_id, read)

    async def bundle(self, thread_id: ThreadId, step_id: StepId, *, here: bool = False) -> Bundle | None:
        def read(db: sqlite3.Connection, number: int) -> Bundle | None:
            ref = rows.ref(db, number, step_id)
            if ref is None:
                return None
            if not here:
                return self._packs.bundle(db, thread_id, ref)
            return opened(self._packs.peek(db, thread_id, ref))

        return await self._look(thread_id, read)

    async def usage(self, thread_ids: Collection[ThreadId]) -> Mapping[ThreadId, Usage]:
        return await self._read(lambda db: rows.usage(db, thread_ids))

    async def totals(self) -> Usage:
        return await self._read(rows.totals)

    async def threads(self) -> Collection[ThreadId]:
        return await self._read(
            lambda db: [
                ThreadId(name)
                for (name,) in db.execute("SELECT name FROM pack_thread WHERE steps > 0 AND number > 0 ORDER BY number")
            ]
        )

    # labels

    async def set_label(self, thread_id: ThreadId, step_id: StepId, label: str | None) -> Step | None:
        def write(db: sqlite3.Connection) -> Step | None:
            number = tables.find_number(db, thread_id)
            if number is None or rows.find(db, thread_id, number, step_id) is None:
                return None
            key = None if label is None else rows.label_key(label)
            db.execute(
                "UPDATE step SET label = NULL, label_key = NULL WHERE thread = ? AND (label_key = ? OR id = ?)",
                (number, key, step_id),
            )
            if label is not None:
                (count,) = db.execute("SELECT labelled FROM pack_thread WHERE number = ?", (number,)).fetchone()
                if count >= MAX_LABELS:
                    raise TooManyLabels
                db.execute(
                    "UPDATE step SET label = ?, label_key = ? WHERE thread = ? AND id = ?",
                    (label, key, number, step_id),
                )
            return rows.find(db, thread_id, number, step_id)

        return await self._write(write)

    # deleting

    async def clear(self, thread_id: ThreadId, epoch: int) -> int:
        return await self._delete(thread_id, "epoch < ?", (epoch,), epoch)

    async def delete_from(self, thread_id: ThreadId, pos: int, epoch: int) -> int:
        return await self._delete(thread_id, "pos >= ? AND epoch < ?", (pos, epoch), epoch)

    async def delete_steps(self, thread_id: ThreadId, step_ids: Collection[StepId]) -> int:
        wanted = ", ".join("?" * len(step_ids))
        return await self._delete(thread_id, f"id IN ({wanted})", tuple(step_ids), None)

    async def forget_thread(self, thread_id: ThreadId) -> int:
        def write(db: sqlite3.Connection) -> int:
            _raise_fence(db, thread_id, FORGOTTEN)
            return self._packs.drop_thread(db, thread_id, "DELETE FROM step WHERE thread = ?1")

        deleted = await self._write(write)
        await self._purge()
        return deleted

    async def _delete(self, thread_id: ThreadId, where: str, values: tuple[int | str, ...], epoch: int | None) -> int:
        """Delete steps for good, and raise the fence to `epoch` first if it is given."""

        def write(db: sqlite3.Connection) -> int:
            if epoch is not None:
                _raise_fence(db, thread_id, epoch)
            number = tables.find_number(db, thread_id)
            if number is None:
                return 0
            gone = db.execute(
                f"SELECT seq, thread, ref FROM step WHERE thread = ? AND {where}", (number, *values)
            ).fetchall()
            keeping.remove(db, self._packs, gone, purge=True)
            return len(gone)

        deleted = await self._write(write)
        await self._purge()
        return deleted

    async def expire(
        self, before: datetime, keep: Collection[ThreadId] = (), limit: int = 500
    ) -> Sequence[tuple[ThreadId, StepId]]:
        def write(db: sqlite3.Connection) -> list[tuple[ThreadId, StepId]]:
            numbers = [number for number in (tables.find_number(db, thread) for thread in keep) if number is not None]
            found = db.execute(
                "SELECT seq, thread, ref, id, name FROM step JOIN pack_thread ON number = thread"
                f" WHERE created_at < ? AND thread NOT IN ({', '.join(map(str, numbers))}) ORDER BY seq LIMIT ?",
                (rows.to_microseconds(before), limit),
            ).fetchall()
            keeping.remove(db, self._packs, [row[:3] for row in found], purge=True)
            return [(ThreadId(name), StepId(id_)) for _, _, _, id_, name in found]

        gone = await self._write(write)
        if gone:
            await self._purge()
        return gone

    async def count_before(self, before: datetime) -> tuple[int, int]:
        def count() -> tuple[int, int]:
            db = sqlite3.connect(self._door.path.as_uri() + "?mode=ro", uri=True)
            try:
                steps, threads = db.execute(
                    "SELECT count(*), count(DISTINCT thread) FROM step WHERE created_at < ?",
                    (rows.to_microseconds(before),),
                ).fetchone()
                return int(steps), int(threads)
            finally:
                db.close()

        with unavailable():
            await self._door.database()
            return await asyncio.to_thread(count)

    async def _purge(self) -> None:
        """Empty the write-ahead log, so that nothing deleted is left in it."""
        with unavailable():
            await self._door.database()
            if await self._door.checkpointer.truncate():
                return
        _log.warning("deleted text stays in the write-ahead log until its readers are done")

    # the file

    async def disk(self) -> Disk:
        def free(db: sqlite3.Connection) -> int:
            (pages,) = db.execute("PRAGMA freelist_count").fetchone()
            (size,) = db.execute("PRAGMA page_size").fetchone()
            return int(pages * size)

        unused = await self._read(free)
        await self._door.checkpointer.shorten()
        with unavailable():
            return Disk(size=self._door.path.stat().st_size, wal=log_size(self._door.path), free=unused)

    async def compact(self, max_pages: int) -> int:
        def vacuum(db: sqlite3.Connection) -> int:
            (before,) = db.execute("PRAGMA freelist_count").fetchone()
            db.executescript(f"PRAGMA incremental_vacuum({int(max_pages)})")  # `execute` stops after the first page
            (left,) = db.execute("PRAGMA freelist_count").fetchone()
            if 0 < left < before:
                return int(left)
            return 0

        with unavailable():
            database = await self._door.database()
            left = await database.outside(vacuum)
            if not left:
                await self._door.checkpointer.truncate()
            return left

    # within

    async def _write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        with unavailable():
            database = await self._door.database()
            self._hints.forget()
            return await database.write(fn, undone=self._undone)

    def _undone(self) -> None:
        """Nothing of a transaction was kept: forget what was remembered of it."""
        self._packs.rolled_back()
        self._hints.forget()

    async def _read(self, fn: Callable[[sqlite3.Connection], T], *, quick: bool = False) -> T:
        with unavailable():
            database = await self._door.database()
            return await database.read(fn, quick=quick)

    async def _look(
        self, thread_id: ThreadId, fn: Callable[[sqlite3.Connection, int], T], *, quick: bool = False
    ) -> T | None:
        """Read something of a thread; None if there is no such thread here."""

        def read(db: sqlite3.Connection) -> T | None:
            number = tables.find_number(db, thread_id)
            return None if number is None else fn(db, number)

        return await self._read(read, quick=quick)


def _raise_fence(db: sqlite3.Connection, thread_id: ThreadId, epoch: int) -> None:
    db.execute(
        "INSERT INTO fence(thread, epoch) VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch)",
        (thread_id, epoch),
    )
