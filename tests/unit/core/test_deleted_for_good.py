"""What was deleted is nowhere afterwards and does not come back, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import zstandard
from structlog.testing import capture_logs
from support.steps import noise
from support.web import Patient
from support.world import ANN, BOB, Clock, Rules

from turnback.core import open_service
from turnback.core.errors import NotFound, StoreUnavailable
from turnback.core.folder import STEPS_FILE, THREADS_FILE
from turnback.core.models import Thread
from turnback.core.service import Turnback

MARKER = b"PURPLE-OTTER-77"
FRAME = b"\x28\xb5\x2f\xfd"

Say = Callable[..., Awaitable[str]]


@pytest.fixture
def agent() -> Patient:
    return Patient()


@pytest.fixture
async def service(data: Path, clock: Clock, rules: Rules, agent: Patient) -> AsyncIterator[Turnback]:
    async with open_service(data, agent=agent, policy=rules, clock=clock, maintain=False) as opened:
        for actor in (ANN, BOB):
            await opened.threads.create_account(actor.account, actor.name, clock())
        yield opened


def hits(folder: Path, name: str = "*") -> dict[str, int]:
    """How often the marker stands in each file below a folder, plain or in a compressed piece."""
    found: dict[str, int] = {}
    for file in folder.rglob(name):
        if not file.is_file():
            continue
        data = file.read_bytes()
        count = data.count(MARKER)
        for match in re.finditer(re.escape(FRAME), data):
            try:
                piece = zstandard.ZstdDecompressor().decompressobj().decompress(data[match.start() :][:200_000])
            except zstandard.ZstdError:
                continue
            count += piece.count(MARKER)
        if count:
            found[file.name] = count
    return found


async def fill(say: Say, data: Path, thread: Thread) -> None:
    """The marker in a question, an answer, a plan, a tool call, a big value, a fact and a file, among much else."""
    marker = MARKER.decode()
    for n in range(5):
        await say(f"before {n} {noise(n, 3000)}")
    await say(f"my secret is {marker} {noise(7, 30_000)}")
    await say(f"set plan {marker}")
    await say(f"act {marker}")
    await say(f"remember {marker}")
    for n in range(5):
        await say(f"after {n} {noise(n + 10, 3000)}")
    (data / "workspaces" / thread.id / "notes.txt").write_text(marker)


async def facts(service: Turnback, thread: Thread) -> str:
    return (await service.rewind.facts(ANN, thread.id))[0].id


async def test_marker_is_in_no_file_after_a_delete(
    service: Turnback, thread: Thread, say: Say, data: Path, tmp_path: Path
) -> None:
    other = await service.rewind.create_thread(ANN)
    with capture_logs() as logs:
        await fill(say, data, thread)
        await say("another chat", other.id)
        found = hits(data)
        assert any(name.startswith(THREADS_FILE) for name in found), found
        assert any(name.startswith(STEPS_FILE) for name in found), found
        assert "notes.txt" in found
        await service.rewind.delete(ANN, thread.id)
    assert hits(data) == {}
    await service.threads.backup(str(tmp_path / "backup.db"))
    assert hits(tmp_path, "backup.db") == {}
    assert MARKER.decode() not in str(logs)
    assert len(await service.rewind.transcript(ANN, other.id)) == 2


async def test_marker_is_in_no_steps_file_after_a_clear(
    service: Turnback, thread: Thread, say: Say, data: Path
) -> None:
    await fill(say, data, thread)
    await service.rewind.clear(ANN, thread.id)
    assert hits(data, f"{STEPS_FILE}*") == {}


async def test_marker_is_in_no_steps_file_after_its_fact_was_forgotten(
    service: Turnback, thread: Thread, say: Say, data: Path
) -> None:
    await say("one")
    await say(f"remember {MARKER.decode()}")
    await say("three")
    assert hits(data, f"{STEPS_FILE}*")
    await service.rewind.forget(ANN, thread.id, await facts(service, thread))
    assert hits(data, f"{STEPS_FILE}*") == {}
    assert await service.rewind.facts(ANN, thread.id) == []
    assert [v.step.summary for v in (await service.rewind.list_steps(ANN, thread.id)).steps] == ["one"]


async def test_both_files_delete_securely_whatever_the_build(service: Turnback, say: Say) -> None:
    """SQLite may be built without it, so each connection says so itself."""
    await say("one")
    for database in (service.threads._db, await service.steps._door.database()):  # type: ignore[attr-defined]
        for run in (database.outside, database.read):
            assert await run(lambda db: db.execute("PRAGMA secure_delete").fetchone()) == (1,)


async def test_turn_that_runs_while_a_fact_is_forgotten_saves_nothing_that_knew_it(
    service: Turnback, thread: Thread, say: Say, agent: Patient, data: Path
) -> None:
    await say("one")
    await say(f"remember {MARKER.decode()}")
    sent = await service.turns.send(ANN, thread.id, "hold it")
    await agent.held.wait()
    await service.rewind.forget(ANN, thread.id, await facts(service, thread))
    agent.let_go.set()
    assert (await service.turns.wait(sent)).status == "done"
    assert [v.step.summary for v in (await service.rewind.list_steps(ANN, thread.id)).steps] == ["one"]
    assert hits(data, f"{STEPS_FILE}*") == {}


@pytest.mark.parametrize("restore_first", [True, False])
async def test_restore_and_clear_at_once_leave_no_step(
    service: Turnback, thread: Thread, say: Say, restore_first: bool
) -> None:
    for text in ("one", "two"):
        await say(text)
    first = (await service.rewind.list_steps(ANN, thread.id)).steps[0].step.id
    acts = [service.rewind.restore(ANN, thread.id, first), service.rewind.clear(ANN, thread.id)]
    await asyncio.gather(*(acts if restore_first else reversed(acts)), return_exceptions=True)
    assert (await service.rewind.list_steps(ANN, thread.id, everything=True)).steps == ()
    assert await service.steps.rows(thread.id) == ()


@pytest.mark.parametrize("other", ["restore", "fork", "clear", "say"])
async def test_nothing_of_a_chat_comes_back_that_was_deleted_meanwhile(
    service: Turnback, thread: Thread, say: Say, other: str
) -> None:
    for text in ("one", "two"):
        await say(text)
    first = (await service.rewind.list_steps(ANN, thread.id)).steps[0].step.id
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "restore": lambda: service.rewind.restore(ANN, thread.id, first),
        "fork": lambda: service.rewind.fork(ANN, thread.id, first),
        "clear": lambda: service.rewind.clear(ANN, thread.id),
        "say": lambda: service.turns.ask(ANN, thread.id, "three"),
    }
    await asyncio.gather(acts[other](), service.rewind.delete(ANN, thread.id), return_exceptions=True)
    assert thread.id not in [t.id for t in await service.rewind.threads(ANN)]
    assert await service.steps.rows(thread.id) == ()
    with pytest.raises(NotFound):
        await service.rewind.delete(ANN, thread.id)


async def test_delete_whose_steps_could_not_be_reached_is_made_up_for(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")
    fork = await service.rewind.fork(ANN, thread.id)

    async def fail(*_: object) -> int:
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(service.steps, "forget_thread", fail)
        with pytest.raises(StoreUnavailable):
            await service.rewind.delete(ANN, thread.id)
        assert [t.id for t in await service.rewind.threads(ANN)] == [fork.thread.id]
        with pytest.raises(NotFound):
            await service.rewind.list_steps(ANN, thread.id)
    assert len(await service.steps.rows(thread.id)) == 1, "still there, but out of everybody's reach"
    assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
    await service.maintenance.look()
    assert await service.steps.rows(thread.id) == ()
    assert len((await service.rewind.list_steps(ANN, fork.thread.id)).steps) == 1


async def test_clear_whose_steps_could_not_be_reached_can_be_given_again(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")

    async def fail(*_: object) -> int:
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(service.steps, "clear", fail)
        with pytest.raises(StoreUnavailable):
            await service.rewind.clear(ANN, thread.id)
    assert await service.rewind.clear(ANN, thread.id) == 1
    await say("two")
    assert [v.step.summary for v in (await service.rewind.list_steps(ANN, thread.id)).steps] == ["two"]


async def test_start_lets_go_of_steps_of_a_chat_that_is_gone(
    data: Path, clock: Clock, agent: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> int:
        raise OSError("the process may as well have died here")

    async with open_service(data, agent=agent, clock=clock, maintain=False) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "one")
        with monkeypatch.context() as patched:
            patched.setattr(service.steps, "forget_thread", fail)
            with pytest.raises(OSError, match="died"):
                await service.rewind.delete(ANN, thread.id)
    async with open_service(data, agent=agent, clock=clock, maintain=False) as service:
        assert await service.steps.rows(thread.id) == ()
        assert not await service.threads.follow_ups()
