"""A steps.db that cannot be used, as people meet it: never an empty list, and the chat goes on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.web import House, Patient, furnish
from support.world import Clock

import turnback.core.sqlite as database
from turnback.bots.dispatch import Dispatch, answer_command
from turnback.core import open_service
from turnback.core.folder import STEPS_FILE
from turnback.core.steps.schema import MIGRATIONS
from turnback.web.app import create_app
from turnback.web.guard import Site

Client = httpx2.AsyncClient
Damage = Callable[[Path], None]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / STEPS_FILE


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    """A house whose commands are the real ones."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    agent, clock = Patient(), Clock()
    async with open_service(tmp_path / "data", agent=agent, clock=clock, maintain=False) as service:
        house = await furnish(service, agent, clock)
        commands = answer_command(service, Dispatch(service, clock=clock))
        house.app = create_app(
            service, settings=house.settings, commands=commands, site=Site(host="127.0.0.1", port=8765)
        )
        yield house


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(8192))


def folder(path: Path) -> None:
    path.mkdir()


def unreadable(path: Path) -> None:
    path.symlink_to(path.name)  # to itself: not even root can open it


def no_column(path: Path) -> None:
    db = sqlite3.connect(path)
    for migration in MIGRATIONS:
        assert isinstance(migration, str)
        db.executescript(migration.replace("    summary TEXT NOT NULL,\n", ""))
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.commit()
    db.close()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process has the file for itself."""
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.close()


DAMAGES: dict[str, Damage] = {
    "garbage": garbage,
    "folder": folder,
    "unreadable": unreadable,
    "no column": no_column,
}


@pytest.fixture
async def step(ann: Client, thread: str) -> str:
    """A step that was saved while all was well."""
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
    (saved,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    return str(saved["id"])


@pytest.fixture(params=[*DAMAGES, "locked"])
def broken(request: pytest.FixtureRequest, step: str, file: Path) -> Iterator[str]:
    """The step store is out of order, in this way."""
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    if request.param in DAMAGES:
        DAMAGES[request.param](file)
        yield request.param
    else:
        with held(file):
            yield request.param


Ask = Callable[[Client, str, str], Any]

REQUESTS: dict[str, Ask] = {
    "threads": lambda c, _t, _s: c.get("/api/replay/threads"),
    "list": lambda c, t, _s: c.get(f"/api/replay/snapshots/{t}"),
    "everything": lambda c, t, _s: c.get(f"/api/replay/snapshots/{t}?include=all"),
    "show": lambda c, t, s: c.get(f"/api/replay/snapshots/{t}/{s}"),
    "preview": lambda c, t, s: c.post("/api/replay/preview", json={"thread_id": t, "snapshot_id": s}),
    "restore": lambda c, t, s: c.post("/api/replay/restore", json={"thread_id": t, "snapshot_id": s}),
    "fork": lambda c, t, s: c.post("/api/replay/fork", json={"thread_id": t, "snapshot_id": s}),
    "compare": lambda c, t, s: c.post("/api/replay/compare", json={"thread_id": t, "a": s}),
    "label": lambda c, t, s: c.patch(f"/api/replay/snapshots/{t}/{s}", json={"label": "good"}),
    "clear": lambda c, t, _s: c.delete(f"/api/replay/threads/{t}"),
    "delete": lambda c, t, _s: c.delete(f"/api/threads/{t}"),
}


async def test_every_question_about_steps_is_refused(
    ann: Client, thread: str, step: str, broken: str, house: House
) -> None:
    for name, ask in REQUESTS.items():
        answer = await ask(ann, thread, step)
        assert (name, answer.status_code, answer.json()["code"]) == (name, 503, "store_unavailable")
    view = await house.service.threads.view(thread)  # type: ignore[arg-type]
    assert view is not None
    assert view.thread.epoch == 0, "a refused clear has not even begun"


@pytest.mark.parametrize("command", ["/replay", "/replay list", "/replay tree", "/replay STEP", "/replay show STEP",
                                     "/replay compare STEP", "/replay name STEP good", "/replay clear", "/fork STEP",
                                     "/fork"])  # fmt: skip
async def test_every_command_about_steps_is_refused(
    ann: Client, thread: str, step: str, broken: str, command: str
) -> None:
    answer = await ann.post(f"/api/threads/{thread}/commands", json={"text": command.replace("STEP", step[:8])})
    told = answer.json()
    assert (told["error"], told["buttons"]) == ("store_unavailable", [])
    assert "cannot be read" in told["text"]


async def test_clear_that_was_confirmed_never_reports_success(ann: Client, thread: str, step: str, file: Path) -> None:
    asked = (await ann.post(f"/api/threads/{thread}/commands", json={"text": "/replay clear"})).json()
    (yes,) = [b["command"] for b in asked["buttons"] if b["label"].startswith("Delete")]
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    folder(file)
    told = (await ann.post(f"/api/threads/{thread}/commands", json={"text": yes})).json()
    assert told["error"] == "store_unavailable"


async def test_turns_and_undo_go_on(ann: Client, thread: str, step: str, broken: str, house: House) -> None:
    answer = (await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "two"})).json()
    assert (answer["status"], answer["reply"]) == ("done", "said two")
    assert house.service.metrics.registry.get_sample_value("turnback_capture_total", {"result": "failed"}) == 1
    messages = (await ann.get(f"/api/threads/{thread}/messages")).json()["messages"]
    assert [m["text"] for m in messages[:4]] == ["one", "said one", "two", "said two"]
    assert "could not be saved" in messages[4]["text"]
    undone = await ann.post("/api/replay/undo", json={"thread_id": thread})
    assert (undone.status_code, undone.json()["turns_set_aside"]) == (200, 1)
    assert [t["thread_id"] for t in (await ann.get("/api/threads")).json()["threads"]] == [thread]


async def test_health_says_degraded_and_the_admin_is_alerted_once(
    ann: Client, nobody: Client, thread: str, step: str, broken: str, house: House
) -> None:
    for text in ("two", "three"):
        await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    ready = await nobody.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "degraded"})
    assert [alert.kind for alert in house.service.alerts.active] == ["steps_unavailable"]


@pytest.mark.parametrize("damage", ["garbage", "no column"])
async def test_file_is_left_as_it_is(ann: Client, thread: str, step: str, file: Path, damage: str) -> None:
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    DAMAGES[damage](file)
    before = file.read_bytes()[100:]
    for ask in REQUESTS.values():
        await ask(ann, thread, step)
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "two"})
    assert file.read_bytes()[100:] == before


async def test_file_that_is_taken_away_heals_without_a_restart(ann: Client, thread: str, step: str, file: Path) -> None:
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    garbage(file)
    assert (await ann.get(f"/api/replay/snapshots/{thread}")).status_code == 503
    file.rename(file.with_name("aside"))
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "two"})
    listed = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    assert [s["summary"] for s in listed] == ["two"]
