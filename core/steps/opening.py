"""A file that may be missing, damaged or locked: opened when first needed, tried anew after a failure.

A file that cannot be used is left as it is, and so is one that was put in its place meanwhile: the
next call opens whatever is there then.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import structlog
import zstandard

from turnback.core.errors import StoreUnavailable
from turnback.core.packs import Damaged
from turnback.core.sqlite import Database, Migration, NewerSchema
from turnback.core.steps import schema
from turnback.core.steps.checkpointing import Checkpointer

CACHE = 4 * 1024
"""KiB of pages that the writing connection keeps: saves of many threads touch many."""

_MAGIC = b"SQLite format 3\x00"

_log = structlog.get_logger(__name__)


@contextmanager
def unavailable() -> Iterator[None]:
    """Whatever the file does wrong is one refusal."""
    try:
        yield
    except (sqlite3.Error, OSError, NewerSchema, Damaged, zstandard.ZstdError, KeyError, ValueError) as error:
        _log.warning("steps cannot be read or written", reason=f"{type(error).__name__}: {error}")
        raise StoreUnavailable from error


class Door:
    """Gives the open database, or raises what keeps it shut. `on_open` is called whenever it was opened (anew)."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        durability: Literal["normal", "full"],
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self._migrations = migrations
        self._durability: Literal["normal", "full"] = durability
        self._on_open = on_open
        self._database: Database | None = None
        self._checkpointer: Checkpointer | None = None
        self._opening: asyncio.Task[Database] | None = None
        self._probe: int | None = None
        self._file: tuple[int, int] | None = None
        self._changed = 0

    async def database(self) -> Database:
        """The database; all who ask while it is being opened wait for the same attempt."""
        if self._database is not None:
            if self._same_file():
                return self._database
            await self.close()
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    @property
    def checkpointer(self) -> Checkpointer:
        """That of the database that is or was open last."""
        assert self._checkpointer is not None, "asked for once the database is open"
        return self._checkpointer

    async def close(self) -> None:
        """Let go of the file."""
        if self._opening is not None:
            await asyncio.wait([self._opening])
        database, self._database = self._database, None
        try:
            if self._checkpointer is not None:
                await self._checkpointer.close()
            if database is not None:
                await database.close()
        finally:
            if self._probe is not None:
                os.close(self._probe)  # only now: closing any descriptor of a file ends this process's locks on it
                self._probe = None

    async def _open(self) -> Database:
        database = await Database.open(self.path, self._migrations, durability=self._durability)
        try:
            await database.read(schema.check)
            await database.outside(lambda db: db.execute(f"PRAGMA cache_size = -{CACHE}").fetchone())
            self._probe = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            found = os.fstat(self._probe)
            self._checkpointer = Checkpointer(database)
            await self._checkpointer.start()
        except BaseException:
            await database.close()
            raise
        self._file = (found.st_dev, found.st_ino)
        self._on_open()
        self._database = database
        return database

    def _opened(self, task: asyncio.Task[Database]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may wait any more

    def _same_file(self) -> bool:
        """Whether the file that is open is the one at the path, and still a database.

        SQLite would go on with what it has in memory, and lose what it writes. Between two checkpoints the
        file itself does not change, so what it begins with is looked at only where its time did.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        if (found.st_dev, found.st_ino) != self._file:
            return False
        if found.st_mtime_ns != self._changed:
            assert self._probe is not None, "an open database has its probe"
            if os.pread(self._probe, len(_MAGIC), 0) != _MAGIC:
                raise sqlite3.DatabaseError("file is not a database")
            self._changed = found.st_mtime_ns
        return True
