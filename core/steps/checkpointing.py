"""Moving the write-ahead log into the file, beside the captures and not inside of one.

SQLite would do it in the commit that fills the log to 4 MB: 10 ms for an unlucky capture. Here a connection of
its own moves most of the log while captures go on, and then the writing connection the few pages that
came meanwhile, so that the log begins anew.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import struct
from pathlib import Path

import structlog

from turnback.core.sqlite import JOURNAL_LIMIT, Database

DUE = 8 * 1024 * 1024
"""Bytes of log in use from which on it is moved."""

OVERDUE = 4 * JOURNAL_LIMIT
"""Bytes of log from which on a save waits for it."""

TRIES, MILLISECONDS = 8, 250
"""How often, and how long each time, emptying it waits for readers of other processes."""

LOOK = 16
"""Saves between two looks at its size."""

_INDEX = struct.Struct("=IIIHHI")

_FRAME = 24
"""Bytes of a frame of the log beside its page."""

_log = structlog.get_logger(__name__)


class Checkpointer:
    """Keeps the log of one open file short."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = database.path.with_name(database.path.name + "-wal")
        self._saves = 0
        self._running: asyncio.Task[None] | None = None
        self.unpurged = False
        """Whether deleted text is still in the log, since somebody read in it."""

    async def start(self) -> None:
        """From now on nobody else does it."""
        await self._database.outside(lambda db: db.execute("PRAGMA wal_autocheckpoint = 0").fetchone())

    async def saved(self) -> None:
        """Something was saved; never fails, since it is saved."""
        self._saves += 1
        if self._saves % LOOK and not self.unpurged:
            return
        size = log_used(self._database.path)
        if (size > DUE or self.unpurged) and (self._running is None or self._running.done()):
            self._running = asyncio.ensure_future(self._move())
        if size > OVERDUE and self._running is not None:
            await asyncio.wait([self._running])

    async def truncate(self) -> bool:
        """Empty the log, so that nothing deleted is in it; False while another process reads in it.

        Until it is done, each look at the log tries again.
        """
        self.unpurged = True
        for _ in range(TRIES):
            await self.close()  # two checkpoints at once: the second would fail without waiting
            if await self._database.outside(functools.partial(checkpoint, mode="TRUNCATE", milliseconds=MILLISECONDS)):
                self.unpurged = False
                break
        return not self.unpurged

    async def shorten(self) -> None:
        """Empty a log that somebody kept from being used again, if that is over by now; waits for nobody else."""
        if self.unpurged or log_size(self._database.path) > JOURNAL_LIMIT:
            await self.close()
            await self._move()

    async def close(self) -> None:
        """Wait for what was begun."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _move(self) -> None:
        try:
            await asyncio.to_thread(_move_most, self._database.path)
            # a reader of another process kept the log from being used again: cut it, once that is possible
            mode = "TRUNCATE" if self.unpurged or log_size(self._database.path) > JOURNAL_LIMIT else "PASSIVE"
            if await self._database.outside(functools.partial(checkpoint, mode=mode, milliseconds=0)):
                self.unpurged = False
        except (sqlite3.Error, OSError) as error:
            _log.warning("the write-ahead log could not be moved", reason=f"{type(error).__name__}: {error}")


def log_size(path: Path) -> int:
    """The bytes of a file's write-ahead log."""
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def log_used(path: Path) -> int:
    """Those of them that are in use, by its index: the log stays as long as it was when it begins anew.

    The index is SQLite's "WAL-index file"; it begins with version, nothing, changes, flags, page size, frames.
    """
    index = path.with_name(path.name + "-shm")
    begin = index.read_bytes()[: _INDEX.size] if index.exists() else b""
    if len(begin) < _INDEX.size:  # somebody took it away; the next save tells of that
        return 0
    *_, page, frames = _INDEX.unpack(begin)
    return int(frames * (page + _FRAME))


def checkpoint(db: sqlite3.Connection, mode: str, milliseconds: int) -> bool:
    """Move the log into the file; False where another connection was in the way all that time."""
    (before,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {milliseconds}")
    try:
        (busy, _, _) = db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    finally:
        db.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def _move_most(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        checkpoint(db, "PASSIVE", 0)
    finally:
        db.close()
