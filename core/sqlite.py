"""One SQLite file in WAL mode: a writing and a reading connection, each on a thread of its own.

The only place that imports aiosqlite. A transaction is one function that runs in one hop of the
connection's thread: three awaits for BEGIN, INSERT and COMMIT cost three times as much. A task that
is cancelled while it waits does not undo the transaction, it only does not hear of it.

A hop and back costs as much as a small transaction. One that says it is `quick` runs at once, on the
event loop's thread, as long as the connection is idle and transactions have proved to be quick on this
disk. A commit does not wait for the disk unless it is synced, and those always run on the thread.

Writing transactions begin IMMEDIATE: one that reads first and then writes would fail at once when
another connection wrote in between, whatever the busy timeout.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeVar

import aiosqlite

T = TypeVar("T")

Migration = str | Callable[[sqlite3.Connection], None]
"""A step from one schema version to the next: SQL statements, or a function inside the transaction."""

BUSY_SECONDS = 5.0
"""How long a transaction waits for a lock that another process holds."""

SLOW = 0.01
"""Seconds that a transaction waited, for the disk as a rule, from which on it was not quick."""

PROVEN = 32
"""So many quick ones, on whatever thread, and the next may hold the event loop; as many more make up for a slow one."""

HOLD = 0.005
"""Seconds that the event loop is held in one round of it; what comes after them runs on the thread."""

JOURNAL_LIMIT = 16 * 1024 * 1024
"""Bytes of write-ahead log that stay on disk after a checkpoint."""


class NewerSchema(Exception):
    """The file was written by a newer version of the program; it is left as it is."""


@dataclass(slots=True)
class _Pace:
    """How quick transactions on a file were, and how long they held the event loop in this round of it.

    `quick` counts quick ones; a slow one takes `PROVEN` away. So one is forgiven, as machines that share a processor
    have one now and then, two in a short time are not.
    """

    quick: int = 0
    held: float = 0.0

    @property
    def proven(self) -> bool:
        return self.quick >= PROVEN

    @contextmanager
    def timed(self) -> Iterator[None]:
        began, worked = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            waited = took - (time.thread_time() - worked)
            self.quick = min(self.quick + 1, 2 * PROVEN) if waited < SLOW else max(self.quick - PROVEN, 0)

    @contextmanager
    def holding(self) -> Iterator[None]:
        if not self.held:
            asyncio.get_running_loop().call_soon(self._begin_round)
        began = time.perf_counter()
        try:
            yield
        finally:
            self.held += time.perf_counter() - began

    def _begin_round(self) -> None:
        self.held = 0.0


class _Connection(aiosqlite.Connection):
    """aiosqlite with what it keeps to itself: run a function on the connection's thread, or at once."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], pace: _Pace) -> None:
        super().__init__(connect, iter_chunk_size=64)
        self._pace = pace
        self._given = self._done = 0
        self._patience = BUSY_SECONDS

    async def connect(self) -> None:
        """Open the connection; if that fails, its thread has ended when this raises."""
        try:
            await self
        except BaseException:
            await asyncio.to_thread(self._thread.join)
            raise

    async def run(self, fn: Callable[[sqlite3.Connection], T], *, quick: bool = False, judged: bool = True) -> T:
        """Run `fn`; what is quick at once, if that is likely to be true. How quick it was counts if it is `judged`."""
        if quick and self._pace.proven and self._pace.held <= HOLD and self._given == self._done:
            try:
                with self._pace.holding():
                    result = self._timed(fn, 0)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise  # else another process has the lock: wait for it on the thread
            else:
                if self._pace.held > HOLD:
                    await asyncio.sleep(0)
                return result
        self._given += 1
        return await self._execute(self._there, fn, judged)  # type: ignore[no-untyped-call,no-any-return]

    def _there(self, fn: Callable[[sqlite3.Connection], T], judged: bool) -> T:
        try:
            if judged:
                return self._timed(fn, BUSY_SECONDS)
            self._wait(BUSY_SECONDS)
            return fn(self._conn)
        finally:
            self._done += 1

    def _timed(self, fn: Callable[[sqlite3.Connection], T], patience: float) -> T:
        self._wait(patience)
        with self._pace.timed():
            return fn(self._conn)

    def _wait(self, seconds: float) -> None:
        """How long to wait for a lock from now on."""
        if seconds != self._patience:
            self._conn.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
            self._patience = seconds


class Database:
    """An open file. Use `open`, then `write` and `read`, and `close` in every case."""

    def __init__(self, path: Path, writer: _Connection, reader: _Connection, durability: str) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._synced = durability == "full"

    @classmethod
    async def open(
        cls,
        path: Path,
        migrations: Sequence[Migration],
        *,
        durability: Literal["normal", "full"] = "normal",
    ) -> Self:
        """Open or create the file and bring its schema up to date.

        Raises `NewerSchema`, and `sqlite3.Error` or `OSError` where the file cannot be used; it is then
        left as it was.
        """
        connect = functools.partial(_connect, path, durability)
        pace = _Pace()
        writer = _Connection(connect, pace)
        await writer.connect()
        try:
            await writer.run(functools.partial(_migrate, migrations=migrations))
            reader = _Connection(connect, pace)
            await reader.connect()
        except BaseException:
            await writer.close()
            raise
        return cls(path, writer, reader, durability)

    async def write(
        self,
        fn: Callable[[sqlite3.Connection], T],
        *,
        undone: Callable[[], None] | None = None,
        quick: bool = False,
    ) -> T:
        """Run `fn` in a writing transaction; it commits unless `fn` raises.

        `undone` is called when nothing of it was kept, before the next transaction begins.
        """
        return await self._writer.run(
            functools.partial(_transaction, fn, undone=undone), quick=quick and not self._synced
        )

    async def outside(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn` on the writing connection outside of any transaction (checkpoints, vacuum)."""
        return await self._writer.run(fn, judged=False)

    async def read(self, fn: Callable[[sqlite3.Connection], T], *, quick: bool = False) -> T:
        """Run `fn`, which may happen twice, on one consistent view of the file."""
        return await self._reader.run(functools.partial(_view, fn), quick=quick)

    async def backup(self, path: Path) -> None:
        """Write a consistent copy to `path`, which must not exist; it appears whole or not at all."""
        if path.exists():  # noqa: ASYNC240 - one stat
            raise FileExistsError(path)
        part = path.with_name(path.name + ".part")
        try:
            await self._reader.run(functools.partial(_copy, path=part))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        try:
            await self._reader.close()
        finally:
            await asyncio.shield(self._writer.close())


def _connect(path: Path, durability: str) -> sqlite3.Connection:
    existed = path.exists()
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if not existed:
            path.chmod(0o600)
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # writes to the file even where it is set
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {durability.upper()}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_LIMIT}")
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise NewerSchema(f"schema version {version}, this program knows {len(migrations)}")

    def upgrade(connection: sqlite3.Connection) -> None:
        (current,) = connection.execute("PRAGMA user_version").fetchone()
        for number, migration in enumerate(migrations[current:], current + 1):
            if callable(migration):
                migration(connection)
            else:
                for statement in split_statements(migration):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")

    if version < len(migrations):
        _transaction(upgrade, connection)


def split_statements(script: str) -> list[str]:
    """The statements of a script (`executescript` would commit the transaction around it)."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    if current.strip():
        raise ValueError(f"unfinished statement: {current.strip()[:60]}")
    return statements


def _transaction(
    fn: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection, undone: Callable[[], None] | None = None
) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = fn(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if undone is not None:
            undone()
        raise
    return result


def _view(fn: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN")
    try:
        return fn(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    path.unlink(missing_ok=True)
    path.touch(0o600)
    target = sqlite3.connect(path)
    try:
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()
