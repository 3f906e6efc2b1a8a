"""A turnback.db that is locked or damaged refuses, with words; a bug stays a bug."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import turnback.core.sqlite as database
from turnback.core.errors import StoreUnavailable
from turnback.core.models import AccountId, Surface, ThreadId
from turnback.core.threads.sqlite import SqliteThreadStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANN = AccountId("a" * 32)
THREAD = ThreadId("d" * 32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turnback.db"


@pytest.fixture
async def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteThreadStore]:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    store = await SqliteThreadStore.open(path)
    await store.create_account(ANN, "ann", NOW)
    yield store
    await store.close()


async def test_locked_file_refuses_and_heals(store: SqliteThreadStore, path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="conversation"):
        await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)
    assert await store.find_thread(THREAD) is None
    holder.close()
    await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)


async def test_whoever_asked_is_told_of_each_refusal_and_of_no_bug(store: SqliteThreadStore, path: Path) -> None:
    told: list[StoreUnavailable] = []
    store.on_trouble(told.append)
    await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)
    with pytest.raises(sqlite3.IntegrityError):
        await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)
    assert told == []
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable) as refused:
        await store.set_note("a", "b")
    holder.close()
    assert told == [refused.value]


async def test_damaged_file_refuses(store: SqliteThreadStore, path: Path) -> None:
    for n in range(300):
        await store.create_thread(ThreadId(f"{n:032x}"), "Trip " * 40, Surface.API, ANN, NOW)
    assert await store.purge()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    await store._db.outside(lambda db: db.execute("PRAGMA shrink_memory").fetchone())
    await store._db.read(lambda db: db.execute("PRAGMA shrink_memory").fetchone())
    with pytest.raises(StoreUnavailable):
        await store.list_threads(ANN)


async def test_bug_is_no_refusal(store: SqliteThreadStore) -> None:
    await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)
    with pytest.raises(sqlite3.IntegrityError):
        await store.create_thread(THREAD, "Trip", Surface.API, ANN, NOW)
