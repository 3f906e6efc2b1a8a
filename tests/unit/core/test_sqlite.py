"""The database file: migrations, transactions, backups, locks."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from turnback.core import sqlite
from turnback.core.sqlite import Database, NewerSchema, split_statements

ONE = """
CREATE TABLE word (text TEXT NOT NULL UNIQUE);
CREATE TABLE seen (text TEXT NOT NULL);
CREATE TRIGGER see AFTER INSERT ON word BEGIN
    INSERT INTO seen (text) VALUES (new.text);
END;
"""


def add(text: str, db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO word (text) VALUES (?)", (text,))


def words(db: sqlite3.Connection) -> list[str]:
    return [text for (text,) in db.execute("SELECT text FROM word ORDER BY text")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
async def db(path: Path) -> AsyncIterator[Database]:
    database = await Database.open(path, [ONE])
    yield database
    await database.close()


def contents(path: Path) -> list[str]:
    """What another program reads."""
    with sqlite3.connect(path) as connection:
        found = words(connection)
    connection.close()
    return found


def pragma(name: str, connection: sqlite3.Connection) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


# opening


async def test_open_creates_a_private_file_in_wal_mode(db: Database, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    for name, value in {
        "journal_mode": "wal",
        "synchronous": 1,
        "foreign_keys": 1,
        "secure_delete": 1,
        "auto_vacuum": 2,
        "user_version": 1,
    }.items():
        assert await db.outside(lambda c, name=name: pragma(name, c)) == value, name  # type: ignore[misc]


async def test_open_with_full_durability_syncs_every_commit(path: Path) -> None:
    database = await Database.open(path, [ONE], durability="full")
    assert await database.outside(lambda c: pragma("synchronous", c)) == 2
    await database.close()


async def test_open_runs_only_the_migrations_that_are_missing(path: Path) -> None:
    first = await Database.open(path, [ONE])
    await first.write(lambda c: add("a", c))
    await first.close()

    def second(connection: sqlite3.Connection) -> None:
        assert connection.in_transaction
        connection.execute("UPDATE word SET text = text || '!'")

    for _ in range(2):
        database = await Database.open(path, [ONE, second])
        assert await database.read(words) == ["a!"]
        assert await database.outside(lambda c: pragma("user_version", c)) == 2
        await database.close()


async def test_open_a_newer_file_leaves_it_untouched(path: Path) -> None:
    database = await Database.open(path, [ONE, "CREATE TABLE more (x);"])
    await database.close()
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match="version 2"):
        await Database.open(path, [ONE])
    assert path.read_bytes() == before


async def test_open_whose_migration_fails_leaves_the_old_version(path: Path) -> None:
    database = await Database.open(path, [ONE])
    await database.write(lambda c: add("a", c))
    await database.close()
    with pytest.raises(sqlite3.OperationalError):
        await Database.open(path, [ONE, "CREATE TABLE more (x);\nINSERT INTO nowhere VALUES (1);"])
    database = await Database.open(path, [ONE, "CREATE TABLE more (y);"])
    assert await database.read(words) == ["a"]
    await database.close()


async def test_open_what_is_no_database_leaves_it_untouched(path: Path) -> None:
    path.write_bytes(b"something else entirely " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        await Database.open(path, [ONE])
    assert path.read_bytes() == b"something else entirely " * 100


async def test_open_that_fails_leaves_no_thread_behind(path: Path) -> None:
    """DB-05: such a thread would keep the process from ending."""
    path.mkdir()
    before = set(threading.enumerate())
    with pytest.raises(sqlite3.Error):
        await Database.open(path, [ONE])
    assert not [t for t in set(threading.enumerate()) - before if "_connection_worker" in t.name]


# transactions


async def test_write_commits_and_answers(db: Database, path: Path) -> None:
    assert await db.write(lambda c: c.execute("INSERT INTO word (text) VALUES ('a') RETURNING text").fetchone()) == (
        "a",
    )
    assert await db.read(words) == contents(path) == ["a"]


async def test_write_that_raises_leaves_nothing(db: Database) -> None:
    undone = []

    def fail(connection: sqlite3.Connection) -> None:
        add("a", connection)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await db.write(fail, undone=lambda: undone.append(True))
    assert await db.read(words) == []
    assert undone == [True]
    await db.write(lambda c: add("b", c), undone=lambda: undone.append(True))
    assert undone == [True]


async def test_write_whose_commit_fails_is_undone(db: Database) -> None:
    undone = []
    await db.outside(
        lambda c: c.execute("CREATE TABLE child (t TEXT REFERENCES word (text) DEFERRABLE INITIALLY DEFERRED)")
    )

    def dangle(connection: sqlite3.Connection) -> None:
        add("a", connection)
        connection.execute("INSERT INTO child VALUES ('nobody')")

    with pytest.raises(sqlite3.IntegrityError):
        await db.write(dangle, undone=lambda: undone.append(True))
    assert undone == [True]
    assert await db.read(words) == []
    await db.write(lambda c: add("b", c))


async def test_write_of_a_cancelled_task_is_whole(db: Database) -> None:
    began = threading.Event()
    go_on = threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        add("a", connection)
        began.set()
        go_on.wait(10)
        add("b", connection)

    task = asyncio.create_task(db.write(slow))
    await asyncio.to_thread(began.wait, 10)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await db.write(lambda c: add("c", c))
    assert await db.read(words) == ["a", "b", "c"]


async def test_read_sees_one_state_of_the_file(db: Database, path: Path) -> None:
    await db.write(lambda c: add("a", c))

    def read(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
        first = words(connection)
        with sqlite3.connect(path) as other:
            add("b", other)
        other.close()
        return first, words(connection)

    assert await db.read(read) == (["a"], ["a"])
    assert await db.read(words) == ["a", "b"]


async def test_write_that_reads_first_is_safe_from_other_writers(db: Database, path: Path) -> None:
    """DB-04: a deferred transaction that reads and then writes fails at once if another wrote in between."""

    def read_then_write(connection: sqlite3.Connection) -> None:
        words(connection)
        other = sqlite3.connect(path, timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("INSERT INTO word VALUES ('theirs')")
        other.close()
        add("ours", connection)

    await db.write(read_then_write)
    assert contents(path) == ["ours"]


async def test_write_to_a_locked_file_fails_and_heals(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    database = await Database.open(path, [ONE])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    undone = []
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await database.write(lambda c: add("a", c), undone=lambda: undone.append(True))
    assert await database.read(words) == [], "readers are not locked out"
    other.execute("COMMIT")
    await database.write(lambda c: add("a", c))
    await database.close()
    other.close()
    assert undone == []


# backups and scripts

# at once


def where(_db: sqlite3.Connection) -> int:
    """The thread that it runs on."""
    return threading.get_ident()


async def prove(db: Database) -> None:
    """Until one ran at once; on a busy machine that may take some more."""
    for _ in range(20 * sqlite.PROVEN):
        if await db.write(where, quick=True) == threading.get_ident():
            break


async def test_quick_transactions_run_at_once_when_some_were_quick(db: Database) -> None:
    assert await db.write(where, quick=True) != threading.get_ident()
    await prove(db)
    assert await db.write(where, quick=True) == await db.read(where, quick=True) == threading.get_ident()
    assert await db.write(where) != threading.get_ident()


async def test_quick_write_that_is_synced_runs_on_its_thread(path: Path) -> None:
    db = await Database.open(path, [ONE], durability="full")
    await prove(db)
    assert await db.write(where, quick=True) != threading.get_ident()
    await db.close()


async def test_quick_write_that_waited_sends_the_next_ones_to_the_thread(db: Database) -> None:
    await prove(db)
    await db.write(lambda _db: time.sleep(2 * sqlite.SLOW), quick=True)
    assert await db.read(where, quick=True) != threading.get_ident()
    await prove(db)
    assert await db.write(where, quick=True) == threading.get_ident()


async def test_one_slow_among_many_quick_transactions_is_forgiven_two_are_not(db: Database) -> None:
    for _ in range(3 * sqlite.PROVEN):
        await db.write(where, quick=True)
    await db.write(lambda _db: time.sleep(2 * sqlite.SLOW), quick=True)
    assert await db.write(where, quick=True) == threading.get_ident()
    await db.write(lambda _db: time.sleep(2 * sqlite.SLOW), quick=True)
    assert await db.write(where, quick=True) != threading.get_ident()


async def test_quick_write_overtakes_none(db: Database) -> None:
    await prove(db)
    first = asyncio.ensure_future(db.write(functools.partial(add, "first")))
    await asyncio.sleep(0)
    assert await db.write(words, quick=True) == ["first"]
    await first


async def test_quick_write_to_a_locked_file_waits_beside_the_loop(db: Database, path: Path) -> None:
    await prove(db)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(db.write(functools.partial(add, "late"), quick=True))
    await asyncio.sleep(0)
    assert not waiting.done(), "the loop is free meanwhile"
    other.execute("COMMIT")
    other.close()
    await waiting
    assert contents(path) == ["late"]


async def test_quick_writes_let_other_tasks_run(db: Database) -> None:
    await prove(db)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    for number in range(2000):
        await db.write(functools.partial(add, str(number)), quick=True)
    counting.cancel()
    assert turns > 2


async def test_many_quick_writes_at_once_hold_the_loop_for_a_round_only(db: Database) -> None:
    await prove(db)

    def hold(_db: sqlite3.Connection) -> int:
        time.sleep(sqlite.HOLD)
        return threading.get_ident()

    ran = await asyncio.gather(*(db.write(hold, quick=True) for _ in range(5)))
    assert ran.count(threading.get_ident()) == 1, "the others would have held it for as long again"


async def test_backup_is_a_whole_file_without_a_log(db: Database, tmp_path: Path) -> None:
    await db.write(lambda c: add("a", c))
    copy = tmp_path / "copy.db"
    await db.backup(copy)
    await db.write(lambda c: add("b", c))
    assert contents(copy) == ["a"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("copy")] == ["copy.db"]
    assert copy.stat().st_mode & 0o077 == 0


async def test_backup_does_not_overwrite(db: Database, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    with pytest.raises(FileExistsError):
        await db.backup(copy)
    assert copy.read_text() == "mine"


async def test_backup_that_fails_leaves_nothing(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: sqlite3.Connection, path: Path) -> None:
        path.write_bytes(b"half")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite, "_copy", fail)
    with pytest.raises(sqlite3.OperationalError):
        await db.backup(tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy*"))


def test_split_statements_keeps_triggers_whole() -> None:
    assert [s.split()[1] for s in split_statements(ONE)] == ["TABLE", "TABLE", "TRIGGER"]


def test_split_statements_refuses_a_cut_script() -> None:
    with pytest.raises(ValueError, match="unfinished"):
        split_statements("CREATE TABLE a (x);\nCREATE TABLE b (y")
