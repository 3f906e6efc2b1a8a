"""The clean-up of a file that really is big: people go on talking meanwhile, and a kill in it harms nothing."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Self

import pytest
from support.steps import MANY, draft, noise, state
from support.turning import until
from support.web import Patient
from support.world import ANN, Clock, Rules

from turnback.core import maintenance as cleaning
from turnback.core import open_service
from turnback.core.folder import STEPS_FILE
from turnback.core.models import Thread, ThreadId
from turnback.core.policy import Budgets, TimeTravel
from turnback.core.service import Turnback
from turnback.core.state import codec
from turnback.core.steps.sqlite import SqliteStepStore

Say = Callable[..., Awaitable[str]]

MB = 1024 * 1024
OLD = ThreadId("old")


def bulk(number: int) -> dict[str, object]:
    """A state of a megabyte that does not compress."""
    return state(1, blob=random.Random(number).randbytes(MB // 2).hex())


async def fill(store: SqliteStepStore, count: int) -> None:
    for number in range(count):
        saved = await store.capture(draft(thread_id=OLD, turn_no=number + 1), codec.encode(bulk(number)), MANY)
        assert saved is not None


@pytest.fixture
def agent() -> Patient:
    return Patient()


@pytest.fixture
async def service(data: Path, clock: Clock, rules: Rules, agent: Patient) -> AsyncIterator[Turnback]:
    async with open_service(data, agent=agent, policy=rules, clock=clock, maintain=False) as opened:
        await opened.threads.create_account(ANN.account, ANN.name, clock())
        yield opened


class Lag:
    """The longest that the event loop was held while this was open."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self.worst = max(self.worst, time.perf_counter() - began - 0.005)


@dataclass(frozen=True)
class Felt:
    """What people noticed of a clean-up, in seconds."""

    longest_held: float
    slowest_save: float

    @property
    def little(self) -> bool:
        return self.longest_held < 0.2 and self.slowest_save < 2


async def test_cleanup_of_a_big_file_holds_nobody_up(
    service: Turnback, thread: Thread, say: Say, clock: Clock, data: Path
) -> None:
    """What holds the loop does so each time; a machine that is busy with something else does not."""
    felt: list[Felt] = []
    while len(felt) < 3 and not any(f.little for f in felt):
        felt.append(await felt_of_a_big_cleanup(service, thread, say, clock, data))
    assert felt[-1].little, felt


async def felt_of_a_big_cleanup(service: Turnback, thread: Thread, say: Say, clock: Clock, data: Path) -> Felt:
    await fill(service.steps, 40)  # type: ignore[arg-type]
    await say("one")
    clock.advance(days=40)
    before = len(await service.steps.rows(ThreadId("new")))
    saved, slowest, over = 0, 0.0, asyncio.Event()

    async def go_on() -> None:
        nonlocal saved, slowest
        while not over.is_set():
            began = time.perf_counter()
            step = await service.steps.capture(
                draft(thread_id=ThreadId("new"), created_at=clock()), codec.encode(state(3)), MANY
            )
            await service.rewind.list_steps(ANN, thread.id)
            slowest = max(slowest, time.perf_counter() - began)
            assert step is not None
            saved += 1
            await asyncio.sleep(0.01)  # people do not write without a pause

    async with Lag() as lag:
        others = asyncio.create_task(go_on())
        done = await service.maintenance.run()
        over.set()
        await others
    assert (done.steps, done.compaction) == (41 + before, "done")
    assert done.freed_bytes > 15 * MB
    assert (data / STEPS_FILE).stat().st_size < 3 * MB
    assert saved > 1
    assert len(await service.steps.rows(ThreadId("new"))) == saved
    return Felt(longest_held=lag.worst, slowest_save=slowest)


async def test_little_deleted_is_not_compacted(service: Turnback, say: Say, clock: Clock, data: Path) -> None:
    await fill(service.steps, 10)  # type: ignore[arg-type]
    clock.advance(days=20)
    await say("one")
    clock.advance(days=11)
    assert (await service.maintenance.count()).steps == 10
    before = (data / STEPS_FILE).stat().st_size
    done = await service.maintenance.run()
    assert (done.steps, done.compaction) == (10, "not needed")
    assert (data / STEPS_FILE).stat().st_size >= before


async def test_chat_with_a_turn_is_spared_and_the_file_left_until_it_ends(
    service: Turnback, thread: Thread, say: Say, agent: Patient, clock: Clock
) -> None:
    await fill(service.steps, 20)  # type: ignore[arg-type]
    await say("one")
    clock.advance(days=40)
    sent = await service.turns.send(ANN, thread.id, "hold")
    await agent.held.wait()
    done = await service.maintenance.run()
    assert (done.steps, done.compaction) == (20, "skipped: a turn is running")
    assert [step.summary for step in await service.steps.rows(thread.id)] == ["one"]
    agent.let_go.set()
    await service.turns.wait(sent)
    again = await service.maintenance.run()
    assert (again.steps, again.compaction) == (1, "done")


CHILD = """
import asyncio, sys
from pathlib import Path
from turnback.core.steps.sqlite import SqliteStepStore

async def main():
    store = SqliteStepStore(Path(sys.argv[1]))
    left = 1
    while left:
        left = await store.compact(64)
        print(left, flush=True)

asyncio.run(main())
"""


def kill_while_compacting(path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child:
        for _ in range(4):
            assert int(child.stdout.readline()) > 0
        child.send_signal(signal.SIGKILL)


async def test_kills_in_the_middle_of_compaction_harm_nothing(tmp_path: Path) -> None:
    path = tmp_path / STEPS_FILE
    store = SqliteStepStore(path)
    await fill(store, 24)
    kept = [step.id for step in (await store.rows(OLD))[18:]]
    await store.delete_steps(OLD, [step.id for step in (await store.rows(OLD))[:18]])
    await store.close()
    before = path.stat().st_size
    for _ in range(3):
        kill_while_compacting(path)
    store = SqliteStepStore(path)
    try:
        assert [step.id for step in await store.rows(OLD)] == kept
        for number, step_id in enumerate(kept, 18):
            assert await store.state(OLD, step_id) == bulk(number)
        while await store.compact(1000):
            pass
        assert path.stat().st_size < before / 2
    finally:
        await store.close()
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert [file.name for file in tmp_path.iterdir()] == [STEPS_FILE]


def cleanups(service: Turnback, result: str) -> float | None:
    return service.metrics.registry.get_sample_value("turnback_cleanup_runs_total", {"result": result})


async def test_run_that_was_missed_by_hours_is_made_up_for_at_once(data: Path, clock: Clock) -> None:
    """A suspended machine wakes up: the scheduler calls a job that is long overdue."""
    async with open_service(data, agent=Patient(), clock=clock) as service:
        clock.advance(hours=3)
        job = service.maintenance.job
        job.modify(next_run_time=job.next_run_time - timedelta(hours=3))
        await until(lambda: cleanups(service, "done") == 1)
        assert service.alerts.active == ()
        assert await service.maintenance.last_success() is not None


async def test_job_that_breaks_alerts_the_operator(data: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_service(data, agent=Patient(), clock=clock) as service:
        clock.advance(hours=3)

        async def fail() -> object:
            raise ZeroDivisionError

        monkeypatch.setattr(service.maintenance, "run", fail)
        job = service.maintenance.job
        job.modify(next_run_time=job.next_run_time - timedelta(hours=3))
        await until(lambda: cleanups(service, "failed") == 1)
        assert [alert.kind for alert in service.alerts.active] == ["cleanup_failed"]


async def test_log_that_a_reader_lets_grow_alerts_and_is_cut_after_it_without_a_restart(
    service: Turnback, thread: Thread, say: Say, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "LOG_BYTES", 18 * MB)
    await say("one")
    reader = sqlite3.connect(data / STEPS_FILE, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM step").fetchone()
    await fill(service.steps, 40)  # type: ignore[arg-type]
    log = data / f"{STEPS_FILE}-wal"
    await service.maintenance.look()
    assert log.stat().st_size > 18 * MB
    assert [alert.kind for alert in service.alerts.active] == ["log_grows"]
    reader.close()
    await service.maintenance.look()
    assert log.stat().st_size == 0
    assert service.alerts.active == ()
    assert len((await service.rewind.list_steps(ANN, thread.id)).steps) == 1


async def test_many_lists_at_the_start_are_all_answered(data: Path, clock: Clock) -> None:
    async with open_service(data, agent=Patient(), clock=clock, maintain=False) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "one")
    async with open_service(data, agent=Patient(), clock=clock, maintain=False) as service:
        listings = await asyncio.gather(*(service.rewind.list_steps(ANN, thread.id) for _ in range(28)))
        assert [len(listing.steps) for listing in listings] == [1] * 28


async def test_save_waits_for_another_process_that_writes_shortly(
    service: Turnback, thread: Thread, say: Say, data: Path
) -> None:
    await say("one")
    holder = sqlite3.connect(data / STEPS_FILE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    saving = asyncio.ensure_future(say("two"))
    await until(lambda: service.turns.running(thread.id))
    for _ in range(100):
        await service.threads.find_thread(thread.id)
    holder.execute("ROLLBACK")
    holder.close()
    await saving
    assert len((await service.rewind.list_steps(ANN, thread.id)).steps) == 2
    assert service.alerts.active == ()


async def test_limits_hold_after_every_save_of_parallel_chats(service: Turnback, rules: Rules, thread: Thread) -> None:
    rules.value = TimeTravel(auto_maintain=False, budgets=Budgets(max_snapshots=5, max_global_snapshots=12))
    threads = [thread, *[await service.rewind.create_thread(ANN) for _ in range(4)]]
    announce, seen = service.recorder.announce, 0
    assert announce is not None

    async def look(step: object) -> None:
        nonlocal seen
        seen += 1
        rows = [await service.steps.rows(t.id) for t in threads]
        assert max(map(len, rows)) <= 5
        assert sum(map(len, rows)) <= 12

    service.recorder.announce = look

    async def talk(number: int) -> None:
        for n in range(8):
            await service.turns.ask(ANN, threads[number].id, "steps 2" if n % 2 else f"m {n} {noise(n, 500)}")

    await asyncio.gather(*(talk(n) for n in range(5)))
    assert seen == 5 * (4 * 1 + 4 * 3)
