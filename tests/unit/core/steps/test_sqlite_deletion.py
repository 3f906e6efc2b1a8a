"""What was deleted is in no file of steps.db afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import zstandard
from support.steps import OTHER, START, THREAD, noise, save, state

from turnback.core.models import StepId
from turnback.core.steps import checkpointing
from turnback.core.steps.sqlite import SqliteStepStore

MARKER = "PURPLE-OTTER-77"
FRAME = b"\x28\xb5\x2f\xfd"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStepStore]:
    store = SqliteStepStore(path)
    yield store
    await store.close()


def hits(path: Path) -> int:
    """How often the marker stands in the bytes of the file and its log, plain or in a compressed piece."""
    found = 0
    for file in path.parent.glob(path.name + "*"):
        data = file.read_bytes()
        found += data.count(MARKER.encode())
        at = data.find(FRAME)
        while at >= 0:
            try:
                text = zstandard.ZstdDecompressor().decompressobj().decompress(data[at : at + 200_000])
                found += text.count(MARKER.encode())
            except zstandard.ZstdError:
                pass
            at = data.find(FRAME, at + 1)
    return found


def marked(number: int) -> dict[str, object]:
    """A state that names the marker in a message, a small value and a big one."""
    content = state(number, pad=noise(number, 20_000), note=f"{MARKER} " * 3, big=f"{MARKER} {noise(5, 30_000)}")
    content["messages"].append({"role": "user", "content": f"my secret is {MARKER} {noise(number, 300)}"})
    return content


async def fill(store: SqliteStepStore, *, count: int = 40) -> list[StepId]:
    """Steps of which every one after the tenth holds the marker, among steps of another thread."""
    saved = []
    for n in range(count):
        plain = state(n, pad=noise(n, 20_000), note="nothing", big=noise(5, 30_000))
        step = await save(
            store, marked(n) if n >= 10 else plain, summary=f"tell {MARKER}" if n >= 10 else "tell", epoch=0
        )
        saved.append(step.id)
        await save(store, plain, thread_id=OTHER)
    return saved


Delete = Callable[[SqliteStepStore, list[StepId], int], Awaitable[object]]

DELETIONS: dict[str, Delete] = {
    "clear": lambda store, _ids, _pos: store.clear(THREAD, 1),
    "forget_thread": lambda store, _ids, _pos: store.forget_thread(THREAD),
    "delete_from": lambda store, _ids, pos: store.delete_from(THREAD, pos, 1),
    "delete_steps": lambda store, ids, _pos: store.delete_steps(THREAD, ids[10:]),
    "expire": lambda store, _ids, _pos: store.expire(START.replace(year=2030), keep=[OTHER]),
}


@pytest.mark.parametrize("name", DELETIONS)
async def test_deleted_text_is_in_no_file(store: SqliteStepStore, path: Path, name: str) -> None:
    saved = await fill(store)
    rows = await store.rows(THREAD)
    assert hits(path) > 0, "the marker must be findable, or this test proves nothing"
    await DELETIONS[name](store, saved, rows[10].at.pos)
    assert hits(path) == 0


async def test_deleted_text_would_be_found_without_secure_delete(store: SqliteStepStore, path: Path) -> None:
    """The search above can fail: the same deletion with the pragma off leaves text behind."""
    await fill(store)
    database = await store._door.database()
    await database.outside(lambda db: db.execute("PRAGMA secure_delete = OFF").fetchone())
    await store.clear(THREAD, 1)
    assert hits(path) > 0


async def test_steps_that_stay_read_back_after_a_deletion(store: SqliteStepStore) -> None:
    saved = await fill(store)
    await store.delete_steps(THREAD, saved[10:])
    for n, step_id in enumerate(saved[:10]):
        expected = state(n, pad=noise(n, 20_000), note="nothing", big=noise(5, 30_000))
        assert await store.state(THREAD, step_id) == expected


async def test_a_bundle_carries_no_deleted_and_no_later_text(store: SqliteStepStore, path: Path) -> None:
    saved = await fill(store)
    bundle = await store.bundle(THREAD, saved[9])
    assert bundle is not None
    for part in bundle.parts:
        at = part.find(FRAME)
        text = zstandard.ZstdDecompressor().decompress(part[at:]) if at >= 0 else part
        assert MARKER.encode() not in text


async def test_a_reader_that_stays_does_not_hang_a_clear_and_the_rest_goes_later(
    store: SqliteStepStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "MILLISECONDS", 10)
    await fill(store)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM step").fetchone()
    async with asyncio.timeout(5):
        assert await store.clear(THREAD, 1) == 40
    assert hits(path) > 0, "the reader still sees the old steps"
    reader.close()
    await save(store, thread_id=OTHER)
    await store.disk()
    assert hits(path) == 0


async def test_a_log_that_a_reader_let_grow_is_cut_after_it(
    store: SqliteStepStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "JOURNAL_LIMIT", 1_000_000)
    monkeypatch.setattr(checkpointing, "DUE", 500_000)
    monkeypatch.setattr(checkpointing, "LOOK", 1)
    await save(store)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM step").fetchone()
    for n in range(40):
        await save(store, state(n, pad=noise(n, 100_000)))
    assert (await store.disk()).wal > 1_000_000
    reader.close()
    await save(store)
    await store._door.checkpointer.close()
    assert (await store.disk()).wal < 1_000_000


async def test_close_leaves_no_thread_behind(path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStepStore(path)
    await save(store)
    mine = set(threading.enumerate()) - before
    assert mine
    await store.close()
    for thread in mine:
        thread.join(5)
        assert not thread.is_alive()
