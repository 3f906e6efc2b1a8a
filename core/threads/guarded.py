"""turnback.db as the thread store sees it: what its disk or its lock refuses is a refusal, not a bug."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from turnback.core.errors import StoreUnavailable
from turnback.core.sqlite import Database

T = TypeVar("T")

WORDS = "The conversation cannot be read or written now. Try again in a moment; the admin can run `turnback check`."

PURGE_TRIES = 20
PURGE_BUSY_MS = 100
"""How often, and how long each time, a purge waits for readers of the write-ahead log."""

_BUGS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)

_log = structlog.get_logger(__name__)


class GuardedDatabase(Database):
    """Raises StoreUnavailable where the file is locked, full or damaged; other errors are bugs and stay.

    Its transactions are quick, but for those that may go through all of a long thread, and say so.

    `trouble`, which may be set later, is told of each such refusal.
    """

    trouble: Callable[[StoreUnavailable], None] | None = None

    async def write(
        self, fn: Callable[[sqlite3.Connection], T], *, undone: Callable[[], None] | None = None, quick: bool = True
    ) -> T:
        with self._refusing():
            return await super().write(fn, undone=undone, quick=quick)

    async def outside(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        with self._refusing():
            return await super().outside(fn)

    async def read(self, fn: Callable[[sqlite3.Connection], T], *, quick: bool = True) -> T:
        with self._refusing():
            return await super().read(fn, quick=quick)

    async def purge(self) -> bool:
        """Leave no deleted text in the file or its write-ahead log. False while a reader is in the way."""
        for _ in range(PURGE_TRIES):
            if await self.outside(_truncate_log):
                return True
            await asyncio.sleep(PURGE_BUSY_MS / 1000)  # other transactions come in between
        return False

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except _BUGS:
            raise
        except sqlite3.DatabaseError as error:
            _log.error("the conversations cannot be read or written", reason=f"{type(error).__name__}: {error}")
            refusal = StoreUnavailable(WORDS)
            if self.trouble:
                self.trouble(refusal)
            raise refusal from error


def _truncate_log(db: sqlite3.Connection) -> bool:
    """Move everything from the write-ahead log into the file and empty it; False if a reader is in the way."""
    (usual,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {PURGE_BUSY_MS}")
    try:
        (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        db.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy
