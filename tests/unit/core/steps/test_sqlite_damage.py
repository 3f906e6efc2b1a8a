"""A steps.db that cannot be used says so at every call, is left as it is, and heals without a restart."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.steps import MANY, THREAD, draft, ids, new_id, noise, save, state

import turnback.core.sqlite as database
from turnback.core.errors import StoreUnavailable
from turnback.core.state import codec
from turnback.core.steps.schema import MIGRATIONS
from turnback.core.steps.sqlite import SqliteStepStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.db"


@pytest.fixture
async def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStepStore]:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    store = SqliteStepStore(path)
    yield store
    await store.close()


Call = Callable[[SqliteStepStore], Awaitable[object]]

CALLS: dict[str, Call] = {
    "capture": lambda store: store.capture(draft(), codec.encode(state()), MANY),
    "rows": lambda store: store.rows(THREAD),
    "match": lambda store: store.match(THREAD, "abcd"),
    "labelled": lambda store: store.labelled(THREAD, "x"),
    "state": lambda store: store.state(THREAD, new_id()),
    "bundle": lambda store: store.bundle(THREAD, new_id()),
    "set_label": lambda store: store.set_label(THREAD, new_id(), "x"),
    "clear": lambda store: store.clear(THREAD, 1),
    "delete_from": lambda store: store.delete_from(THREAD, 1, 1),
    "delete_steps": lambda store: store.delete_steps(THREAD, [new_id()]),
    "forget_thread": lambda store: store.forget_thread(THREAD),
    "expire": lambda store: store.expire(draft().created_at),
    "count_before": lambda store: store.count_before(draft().created_at),
    "usage": lambda store: store.usage([THREAD]),
    "totals": lambda store: store.totals(),
    "threads": lambda store: store.threads(),
    "disk": lambda store: store.disk(),
    "compact": lambda store: store.compact(10),
}


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(8192))


def folder(path: Path) -> None:
    path.mkdir()


def no_column(path: Path) -> None:
    db = sqlite3.connect(path)
    for migration in MIGRATIONS:
        assert isinstance(migration, str)
        db.executescript(migration.replace("    summary TEXT NOT NULL,\n", ""))
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.commit()
    db.close()


def newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE future (x)")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.commit()
    db.close()


DAMAGES = {"garbage": garbage, "folder": folder, "no column": no_column, "newer": newer}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("call", CALLS)
async def test_every_call_on_a_damaged_file_is_unavailable(
    store: SqliteStepStore, path: Path, damage: str, call: str
) -> None:
    DAMAGES[damage](path)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await CALLS[call](store)


@pytest.mark.parametrize("damage", ["garbage", "no column", "newer"])
async def test_a_damaged_file_is_left_as_it_is(store: SqliteStepStore, path: Path, damage: str) -> None:
    DAMAGES[damage](path)
    tables = path.read_bytes()[100:]
    for call in ("capture", "rows", "clear"):
        with pytest.raises(StoreUnavailable):
            await CALLS[call](store)
    await store.close()
    assert path.read_bytes()[100:] == tables
    if damage == "garbage":
        assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_file_that_is_taken_away_heals(store: SqliteStepStore, path: Path, damage: str) -> None:
    DAMAGES[damage](path)
    with pytest.raises(StoreUnavailable):
        await store.rows(THREAD)
    path.rename(path.with_name("aside"))
    step = await save(store)
    assert await ids(store) == [step.id]


@pytest.mark.parametrize("call", CALLS)
async def test_a_file_replaced_by_garbage_while_open_is_noticed(store: SqliteStepStore, path: Path, call: str) -> None:
    await save(store)
    good = path.read_bytes()
    with path.open("r+b") as file:
        file.write(os.urandom(len(good)))
    with pytest.raises(StoreUnavailable):
        await CALLS[call](store)


async def test_another_file_put_in_its_place_is_used(store: SqliteStepStore, path: Path, tmp_path: Path) -> None:
    await save(store)
    other = SqliteStepStore(tmp_path / "other.db")
    there = await save(other)
    await other.close()
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    (tmp_path / "other.db").rename(path)
    assert await ids(store) == [there.id]
    again = await save(store)
    assert await ids(store) == [there.id, again.id]


async def test_the_first_step_in_a_new_file_is_saved(store: SqliteStepStore, path: Path) -> None:
    """What was remembered of the old file does not hold in the new one."""
    await save(store)
    path.rename(path.with_name("aside"))
    step = await save(store, state(3))
    assert await store.state(THREAD, step.id) == state(3)


async def test_a_locked_file_is_unavailable_and_heals(store: SqliteStepStore, path: Path) -> None:
    first = await save(store)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    for call in ("capture", "clear", "set_label"):
        with pytest.raises(StoreUnavailable):
            await CALLS[call](store)
    assert await ids(store) == [first.id]
    holder.execute("ROLLBACK")
    holder.close()
    second = await save(store)
    assert await ids(store) == [first.id, second.id]


async def test_a_file_locked_from_the_start_is_unavailable_and_heals(store: SqliteStepStore, path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    results = await asyncio.gather(*(store.rows(THREAD) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) for result in results)
    holder.execute("ROLLBACK")
    holder.close()
    assert not await store.rows(THREAD)


async def test_a_full_disk_fails_captures_and_heals(store: SqliteStepStore, path: Path) -> None:
    first = await save(store, state(3))
    opened = await store._door.database()

    def limit(pages: int) -> Callable[[sqlite3.Connection], object]:
        return lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone()

    (pages,) = await opened.outside(lambda db: db.execute("PRAGMA page_count").fetchone())
    await opened.outside(limit(pages))
    results = await asyncio.gather(
        *(store.capture(draft(), codec.encode(state(4, pad=noise(n, 50_000))), MANY) for n in range(5)),
        return_exceptions=True,
    )
    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert await store.state(THREAD, first.id) == state(3)
    await opened.outside(limit(2**30))
    later = await save(store, state(4, pad=noise(1, 50_000)))
    assert await store.state(THREAD, later.id) == state(4, pad=noise(1, 50_000))
    assert await ids(store) == [first.id, later.id]
    assert await opened.read(lambda db: db.execute("PRAGMA integrity_check").fetchone()) == ("ok",)


async def test_a_state_whose_bytes_are_damaged_is_unavailable(store: SqliteStepStore) -> None:
    step = await save(store, state(2, pad=noise(1, 40_000)))
    opened = await store._door.database()
    await opened.write(lambda db: db.execute("UPDATE pack_blob SET data = zeroblob(length(data))"))
    with pytest.raises(StoreUnavailable):
        await store.state(THREAD, step.id)
    await opened.write(lambda db: db.execute("DELETE FROM pack_blob"))
    with pytest.raises(StoreUnavailable):
        await store.state(THREAD, step.id)


async def test_a_file_is_private(store: SqliteStepStore, path: Path) -> None:
    await save(store)
    assert path.stat().st_mode & 0o777 == 0o600
