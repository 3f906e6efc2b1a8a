"""A disk that is full while people talk: the chat goes on, nothing acknowledged is lost, and room heals it."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from support.steps import draft, noise
from support.web import Patient
from support.world import ANN, Clock

from turnback.core import open_service
from turnback.core.errors import StoreUnavailable
from turnback.core.folder import STEPS_FILE, THREADS_FILE
from turnback.core.models import CaptureResult, Thread
from turnback.core.service import Turnback
from turnback.core.state.codec import encode
from turnback.core.turns import running

Full = Callable[[], AbstractContextManager[None]]

SMALL = 6 * 1024 * 1024


@pytest.fixture(params=["small disk", "limit"])
def volume(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Full]]:
    """A folder, and a way to fill what it lies on: a small file system where we may mount one, and a limit
    on what this process may write."""
    if request.param == "limit":
        yield tmp_path / "data", lambda: limited(tmp_path / "data")
        return
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    folder = Path(tempfile.mkdtemp())
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", folder], check=False)
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder / "data", lambda: filled(folder / "filler")
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@contextmanager
def filled(filler: Path) -> Iterator[None]:
    """Not a byte is free."""
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def limited(folder: Path) -> Iterator[None]:
    """No file grows."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    logs = [path.stat().st_size for path in folder.glob("*.db-wal")]
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(logs), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def agent() -> Patient:
    return Patient()


@pytest.fixture
async def service(
    volume: tuple[Path, Full], agent: Patient, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Turnback]:
    monkeypatch.setattr(running, "RETRY_SECONDS", 0.01)
    async with open_service(volume[0], agent=agent, clock=Clock(), maintain=False) as opened:
        await opened.threads.create_account(ANN.account, ANN.name, Clock()())
        yield opened


@pytest.fixture
async def thread(service: Turnback) -> Thread:
    thread = await service.rewind.create_thread(ANN, "Trip")
    await service.turns.ask(ANN, thread.id, "set mood good")
    return thread


def failed(service: Turnback) -> float | None:
    return service.metrics.registry.get_sample_value("turnback_capture_total", {"result": "failed"})


def alerts(service: Turnback) -> float | None:
    return service.metrics.registry.get_sample_value("turnback_alerts_total", {"kind": "threads_unavailable"})


def store_alerts(service: Turnback) -> float | None:
    return service.metrics.registry.get_sample_value("turnback_alerts_total", {"kind": "steps_unavailable"})


async def saved(service: Turnback, thread: Thread) -> list[str]:
    return [v.step.summary for v in (await service.rewind.list_steps(ANN, thread.id)).steps]


async def test_turn_under_way_completes_and_the_next_is_saved_without_a_restart(
    service: Turnback, agent: Patient, thread: Thread, volume: tuple[Path, Full]
) -> None:
    folder, full = volume
    sent = await service.turns.send(ANN, thread.id, "hold " + "x" * 100_000)
    await agent.held.wait()
    with full():
        agent.let_go.set()
        told = await service.turns.wait(sent)
        assert (told.status, told.notes) == ("done", (running.UNSAVED,))
        assert failed(service) == 1
    later = await service.turns.ask(ANN, thread.id, "steps 1")
    assert (later.status, later.notes) == ("done", ())
    assert await saved(service, thread) == ["set mood good", "steps 1", "steps 1"]
    for name in (THREADS_FILE, STEPS_FILE):
        db = sqlite3.connect(folder / name)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


async def test_message_that_cannot_be_written_down_is_refused_and_changes_nothing(
    service: Turnback, thread: Thread, volume: tuple[Path, Full]
) -> None:
    before = await service.rewind.thread(ANN, thread.id)
    with volume[1](), pytest.raises(StoreUnavailable, match="conversation"):
        await service.turns.ask(ANN, thread.id, noise(1, 200_000))
    assert await service.rewind.thread(ANN, thread.id) == before
    assert (await service.turns.ask(ANN, thread.id, "hello")).turn_index == 2


async def test_conversations_that_cannot_be_written_alert_the_operator_until_there_is_room(
    service: Turnback, thread: Thread, volume: tuple[Path, Full]
) -> None:
    with volume[1]():
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await service.turns.ask(ANN, thread.id, noise(1, 200_000))
        await service.maintenance.look_at_threads()
        assert [alert.kind for alert in service.alerts.active] == ["threads_unavailable"]
        assert alerts(service) == 1
    await service.maintenance.look_at_threads()
    assert service.alerts.active == ()


async def capture(service: Turnback, thread: Thread, number: int, size: int) -> CaptureResult:
    """Save a step, past the thread store."""
    state = {"messages": [{"role": "user", "content": noise(number, size)}]}
    return await service.recorder.capture(draft(thread_id=thread.id, epoch=thread.epoch), encode(state))


async def heard_of_it(service: Turnback) -> None:
    await service.maintenance._tasks.settle(10)


@pytest.mark.parametrize("volume", ["small disk"], indirect=True)
async def test_steps_that_cannot_be_saved_alert_the_operator_once_until_there_is_room(
    service: Turnback, thread: Thread, volume: tuple[Path, Full]
) -> None:
    with volume[1]():
        for number in range(3):
            assert await capture(service, thread, number, 3_000_000) is CaptureResult.FAILED
            assert await service.maintenance.look_at_store()
            assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
        assert store_alerts(service) == 1
    assert await service.maintenance.look_at_store()
    assert service.alerts.active == ()


async def test_step_that_is_saved_again_settles_the_alert(
    service: Turnback, thread: Thread, volume: tuple[Path, Full]
) -> None:
    with volume[1]():
        assert await capture(service, thread, 1, 3_000_000) is CaptureResult.FAILED
        assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
    assert await capture(service, thread, 2, 1000) is CaptureResult.STORED
    await heard_of_it(service)
    assert service.alerts.active == ()
