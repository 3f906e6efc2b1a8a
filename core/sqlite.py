"""One SQLite file in WAL mode: a writing and a reading connection, each on a thread of its own.

The only place that imports aiosqlite. A transaction is one function that runs in one hop of the
connection's thread: three awaits for BEGIN, INSERT and COMMIT cost three times as much. A task that
is cancelled while it waits does not undo the transaction, it only does not hear of it.

Writing transactions begin IMMEDIATE: one that reads first and then writes would fail at once when
another connection wrote in between, whatever the busy timeout.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self, TypeVar

import aiosqlite

T = TypeVar("T")

Migration = str | Callable[[sqlite3.Connection], None]
"""A step from one schema version to the next: SQL statements, or a function inside the transaction."""

BUSY_SECONDS = 5.0
"""How long a transaction waits for a lock that another process holds."""

JOURNAL_LIMIT = 16 * 1024 * 1024
"""Bytes of write-ahead log that stay on disk after a checkpoint."""


class NewerSchema(Exception):
    """The file was written by a newer version of the program; it is left as it is."""


class _Connection(aiosqlite.Connection):
    """aiosqlite with the one thing it keeps to itself: run a function on the connection's thread."""

    async def connect(self) -> None:
        """Open the connection; if that fails, its thread has ended when this raises."""
        try:
            await self
        except BaseException:
            await asyncio.to_thread(self._thread.join)
            raise

    async def run(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        result: T = await self._execute(fn, self._conn)  # type: ignore[no-untyped-call]
        return result


class Database:
    """An open file. Use `open`, then `write` and `read`, and `close` in every case."""

    def __init__(self, path: Path, writer: _Connection, reader: _Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader

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
        writer = _Connection(connect, iter_chunk_size=64)
        await writer.connect()
        try:
            await writer.run(functools.partial(_migrate, migrations=migrations))
            reader = _Connection(connect, iter_chunk_size=64)
            await reader.connect()
        except BaseException:
            await writer.close()
            raise
        return cls(path, writer, reader)

    async def write(self, fn: Callable[[sqlite3.Connection], T], *, undone: Callable[[], None] | None = None) -> T:
        """Run `fn` in a writing transaction; it commits unless `fn` raises.

        `undone` is called when nothing of it was kept, before the next transaction begins.
        """
        return await self._writer.run(functools.partial(_transaction, fn, undone=undone))

    async def outside(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn` on the writing connection outside of any transaction (checkpoints, vacuum)."""
        return await self._writer.run(fn)

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn` on one consistent view of the file."""
        return await self._reader.run(functools.partial(_view, fn))

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
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
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
