"""What is particular to turnback.db: what lies in the file, and what does not any more."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.threads import ANN, NOW, TRIP, Talk, entry, later, new_turn, said

from turnback.core.models import Action, Effect, FactId, Gate, GateId, GateStatus, Position, Surface, TurnStatus
from turnback.core.sqlite import NewerSchema
from turnback.core.state.codec import encode
from turnback.core.threads import guarded
from turnback.core.threads import sqlite as store_module
from turnback.core.threads.schema import MIGRATIONS
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.threads.store import Move, Stale

Opening = Callable[[], Awaitable[SqliteThreadStore]]

MARKER = "PURPLE-OTTER-77"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turnback.db"


@pytest.fixture
async def opening(path: Path) -> AsyncIterator[Opening]:
    """Opens the same file as often as it is called, and closes all in the end."""
    opened: list[SqliteThreadStore] = []

    async def open_one() -> SqliteThreadStore:
        opened.append(await SqliteThreadStore.open(path))
        return opened[-1]

    yield open_one
    for one in opened:
        await one.close()


@pytest.fixture
async def store(opening: Opening) -> SqliteThreadStore:
    return await opening()


@pytest.fixture
async def talk(store: SqliteThreadStore) -> Talk:
    return await Talk(store).start()


async def count(store: SqliteThreadStore, table: str) -> int:
    return await store._db.read(lambda db: int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]))


def all_bytes(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in folder.iterdir() if p.is_file())


def noise(size: int) -> str:
    """Text that does not compress, so that it would be found in a pack as it is."""
    return random.Random(size).randbytes(size).hex()


# states


async def test_content_is_shared_and_goes_with_its_last_holder(talk: Talk, store: SqliteThreadStore) -> None:
    await talk.turn("one", [{"n": 1}])
    turn = await talk.begin("two")
    assert await count(store, "checkpoint") == 2
    assert await count(store, "content") == 1, "the new head shares what the old one keeps"
    await talk.commit(turn, {"n": 2})
    await talk.commit(turn, {"n": 3})
    await talk.end(turn)
    assert await count(store, "checkpoint") == await count(store, "content") == 2
    await talk.undo()
    await talk.turn("three", [{"n": 4}])
    assert await store.sweep(TRIP, []) > 0
    assert await count(store, "checkpoint") == await count(store, "content") == 2


async def test_replacing_a_shared_content_leaves_the_other_holder_its_own(talk: Talk) -> None:
    [one] = await talk.turn("one", [{"n": 1}])
    turn = await talk.begin("two")
    await talk.store.end_turn(TRIP, turn.turn_no, TurnStatus.DONE, said("x"), later(1), content=encode({"n": 2}))
    assert await talk.state() == {"n": 2}
    assert await talk.store.checkpoint(TRIP, one) == {"n": 1}


async def test_a_long_conversation_costs_what_is_new(talk: Talk, path: Path) -> None:
    messages = []
    whole = 0
    for number in range(60):
        messages.append({"role": "user", "content": noise(1000 + number)})
        await talk.turn(f"t{number}", [{"messages": list(messages)}])
        whole += len(json.dumps(messages))
    assert await talk.store.purge()
    assert path.stat().st_size < whole / 8


async def test_a_transaction_that_fails_leaves_the_packs_as_they_were(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored log is appended to from memory: what was rolled back must be forgotten there, too."""
    messages = [{"role": "user", "content": noise(500)}]
    await talk.turn("one", [{"messages": messages}])

    def fail(*_: object) -> None:
        raise OSError("disk full")

    turn = await talk.begin("two")
    more = [*messages, {"role": "user", "content": noise(700)}]
    with monkeypatch.context() as patch:
        patch.setattr("turnback.core.threads.transcript.add_effects", fail)
        with pytest.raises(OSError, match="disk full"):
            await talk.commit(turn, {"messages": more})
    assert await talk.state() == {"messages": messages}
    again = {"messages": [*more, {"role": "user", "content": "more"}]}
    await talk.commit(turn, again)
    assert await talk.state() == again


async def test_states_that_another_process_stores_do_not_harm_ours(talk: Talk, opening: Opening) -> None:
    other = Talk(await opening())
    messages: list[dict[str, str]] = []
    for number in range(6):
        who = (talk, other)[number % 2]
        messages.append({"role": "user", "content": noise(300 + number)})
        await who.turn(f"t{number}", [{"messages": list(messages), "by": number}])
        assert await talk.state() == await other.state() == {"messages": messages, "by": number}


async def test_large_states_are_read_back(talk: Talk) -> None:
    state = {"scratchpad": noise(store_module.LARGE)}
    await talk.turn("one", [state])
    assert await talk.state() == state


# what was deleted


async def _fill(talk: Talk) -> None:
    """The marker, everywhere where a person's or an agent's words may lie."""
    turn = await talk.begin(MARKER)
    await talk.store.add_fact(TRIP, FactId("f"), MARKER, NOW)
    await talk.store.commit_step(
        TRIP,
        turn.turn_no,
        encode({"plan": [MARKER], "messages": [{"role": "user", "content": noise(4000) + MARKER}]}),
        effects=[Effect(tool="mail", args={"text": MARKER}, turn_index=1, number=1, at=Position(0, 0))],
    )
    gate = Gate(
        id=GateId("g"),
        thread_id=TRIP,
        turn_no=turn.turn_no,
        call_id="c",
        tool="mail",
        args={"text": MARKER},
        status=GateStatus.WAITING,
        created_at=NOW,
        expires_at=later(600),
    )
    await talk.store.open_gates(TRIP, turn.turn_no, [gate], encode({"waiting": MARKER}))
    await talk.end(turn, MARKER)
    await talk.turn("more")
    await talk.undo(2)
    await talk.store.rename_thread(TRIP, MARKER, NOW)
    await talk.store.set_idempotent(TRIP, MARKER, {}, NOW)
    await talk.store.bind(Surface.WEB, MARKER, TRIP)


async def test_delete_and_purge_leave_no_word_in_any_file(talk: Talk, path: Path) -> None:
    """DB-10: whatever SQLite was compiled with."""
    await _fill(talk)
    assert MARKER.encode() in all_bytes(path.parent)
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    assert await talk.store.purge()
    assert MARKER.encode() not in all_bytes(path.parent)


async def test_discard_and_purge_leave_no_word_in_any_file(talk: Talk, path: Path) -> None:
    [one] = await talk.turn("one", [{"n": 1}])
    turn = await talk.begin(MARKER)
    await talk.commit(turn, {"n": 1, "plan": MARKER, "messages": [noise(4000) + MARKER]})
    await talk.end(turn, MARKER)
    assert MARKER.encode() in all_bytes(path.parent)
    await talk.move(one, discard=True)
    assert await talk.store.purge()
    assert MARKER.encode() not in all_bytes(path.parent)
    assert await talk.state() == {"n": 1}


async def test_forget_and_purge_leave_the_fact_in_no_file(talk: Talk, path: Path) -> None:
    turn = await talk.begin("hello")
    await talk.store.add_fact(TRIP, FactId("f"), MARKER, NOW)
    await talk.end(turn)
    assert await talk.store.forget_facts(TRIP, FactId("f"), entry(Action.FORGET))
    assert await talk.store.purge()
    assert MARKER.encode() not in all_bytes(path.parent)


async def test_purge_says_so_while_a_reader_is_in_the_way(
    talk: Talk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DB-01: and succeeds without a restart once the reader has gone."""
    monkeypatch.setattr(guarded, "PURGE_TRIES", 2)
    monkeypatch.setattr(guarded, "PURGE_BUSY_MS", 1)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM thread").fetchall()
    await talk.turn("one")
    assert not await talk.store.purge()
    reader.close()
    assert await talk.store.purge()
    assert path.with_name("turnback.db-wal").stat().st_size == 0
    await talk.turn("two")


# the file


async def test_open_a_newer_file_refuses(path: Path) -> None:
    store = await SqliteThreadStore.open(path)
    await store._db.outside(lambda db: db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}"))
    await store.close()
    before = path.read_bytes()
    with pytest.raises(NewerSchema):
        await SqliteThreadStore.open(path)
    assert path.read_bytes() == before


async def test_audit_trail_cannot_be_changed(store: SqliteThreadStore) -> None:
    await store.audit(entry())
    for statement in ("DELETE FROM audit", "UPDATE audit SET actor = 'nobody'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            await store._db.write(lambda db, sql=statement: db.execute(sql))  # type: ignore[misc]
    assert list(await store.audit_trail()) == [entry()]


async def test_failed_move_leaves_no_audit_row(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """RS-09: the change and its audit row are one; whatever fails leaves the thread where it was."""
    await talk.turn("one")
    before = await talk.view()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("turnback.core.threads.standing.stand", fail)
    with pytest.raises(OSError, match="disk full"):
        await talk.undo()
    assert await talk.view() == before
    assert list(await talk.store.audit_trail()) == []


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from support.threads import NOW, TRIP, Talk, entry
from turnback.core.models import Action, BEGINNING, Surface
from turnback.core.threads import heads, sqlite, standing

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

async def main(path, what):
    talk = await Talk(await sqlite.SqliteThreadStore.open(Path(path))).start()
    await talk.turn("one", [{"n": 1}])
    await talk.turn("two", [{"n": 2}])
    if what == "claim":
        await talk.store.claim(Surface.WEB, "1", {"text": "hi"}, NOW)
        die()
    module, name = {"undo": (standing, "stand"), "step": (heads.transcript, "add_effects")}[what]
    if what == "step":
        turn = await talk.begin("three")
    setattr(module, name, die)
    await (talk.undo() if what == "undo" else talk.commit(turn, {"n": 3}))

asyncio.run(main(*sys.argv[1:]))
"""


def _killed(path: Path, what: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), what], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL


async def test_killed_in_an_undo_the_thread_is_where_it_was(path: Path, opening: Opening) -> None:
    _killed(path, "undo")
    store = await opening()
    talk = Talk(store)
    assert await talk.state() == {"n": 2}
    assert await talk.texts() == ["one", "answer to one", "two", "answer to two"]
    assert list(await store.audit_trail()) == []
    await talk.undo()
    assert await talk.state() == {"n": 1}


async def test_killed_in_a_step_the_turn_can_be_closed(path: Path, opening: Opening) -> None:
    _killed(path, "step")
    store = await opening()
    talk = Talk(store)
    [turn] = await store.running()
    await talk.end(turn, "interrupted", TurnStatus.INTERRUPTED)
    assert await talk.state() == {"n": 2}
    await talk.turn("four", [{"n": 4}])
    assert await talk.state() == {"n": 4}


async def test_killed_after_a_claim_it_is_there(path: Path, opening: Opening) -> None:
    _killed(path, "claim")
    store = await opening()
    assert [c.payload for c in await store.unstarted_claims()] == [{"text": "hi"}]
    assert not await store.claim(Surface.WEB, "1", {}, NOW)


async def test_two_moves_at_once_only_one_is_made(talk: Talk, opening: Opening) -> None:
    """Two processes (a command line beside the server) that decided on the same version."""
    await talk.turn("one")
    await talk.turn("two")
    other = await opening()
    view = await talk.view()
    move = Move(to=view.turns[1].base, returns=(), content=None, audit=entry())
    await other.move_head(TRIP, view.thread.version, move)
    with pytest.raises(Stale):
        await talk.store.move_head(TRIP, view.thread.version, move)
    await other.begin_turn(TRIP, new_turn("theirs"))
    assert (await talk.view()).thread.owner == ANN
    assert await talk.texts() == ["one", "answer to one", "theirs"]
