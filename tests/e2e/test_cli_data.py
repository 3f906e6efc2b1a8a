"""Data in and out on the command line, with no server running."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnback.cli.app import run
from turnback.core import open_service
from turnback.core.models import AccountId, Actor, Surface

MARK = "PURPLE-OTTER-77"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("turnback.cli.app.configure_logs", lambda **_: None)
    return tmp_path


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*arguments: object) -> tuple[int, str, str]:
        code = run([str(a) for a in arguments])
        # A thread of an open database keeps a process from ending.
        for thread in set(threading.enumerate()) - {threading.main_thread()}:
            if not thread.daemon:
                thread.join(5)
                assert not thread.is_alive(), thread.name
        out, err = capfd.readouterr()
        return code, out, err

    return command


@pytest.fixture
def listed(command: Callable[..., tuple[int, str, str]]) -> Callable[[str], dict[str, Any]]:
    def listed(thread: str) -> dict[str, Any]:
        code, out, err = command("steps", "list", thread, "--all", "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    return listed


def talk(*said: str, undo: int = 0, then: tuple[str, ...] = ()) -> str:
    """A chat with the demo agent."""

    async def talk() -> str:
        async with open_service("data") as service:
            account = await service.people.ensure_account("ana")
            actor = Actor(account=AccountId(account.id), surface=Surface.API)
            thread = await service.rewind.create_thread(actor)
            for text in said:
                await service.turns.ask(actor, thread.id, text)
            if undo:
                await service.rewind.undo(actor, thread.id, undo)
            for text in then:
                await service.turns.ask(actor, thread.id, text)
            return thread.id

    return asyncio.run(talk())


Command = Callable[..., tuple[int, str, str]]
Listed = Callable[[str], dict[str, Any]]


def test_export_comes_in_as_a_new_chat_with_its_branches(command: Command, listed: Listed) -> None:
    thread = talk("hello", "steps 2", undo=1, then=("other",))
    assert command("steps", "export", thread, "-o", "out.jsonl")[0] == 0
    code, out, _ = command("import", "out.jsonl", "--json")
    assert code == 0
    (made,) = json.loads(out)["threads"]
    before, after = listed(thread), listed(made["thread_id"])
    assert made["thread_id"] != thread

    def shown(listing: dict[str, Any]) -> list[tuple[object, ...]]:
        number = {step["id"]: n for n, step in enumerate(listing["snapshots"])}
        return [
            (s["turn_index"], s["iteration"], s["summary"], s["on_path"], s["head"], number.get(s["parent"]))
            for s in listing["snapshots"]
        ]

    assert shown(after) == shown(before)
    old = json.loads(command("steps", "show", thread, before["head"], "--json")[1])["state"]
    new = json.loads(command("steps", "show", made["thread_id"], after["head"], "--json")[1])["state"]
    assert new == old


def test_import_belongs_to_the_account(command: Command) -> None:
    Path("chat.json").write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}))
    assert command("import", "chat.json", "--account", "eve")[0] == 0
    assert command("steps", "list", "--json")[1].count('"thread_id"') == 1


def test_import_of_chats_makes_steps_that_can_be_gone_back_to(command: Command, listed: Listed) -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "2"},
    ]
    Path("chats.jsonl").write_text("\n".join(json.dumps({"messages": messages}) for _ in range(2)))
    code, out, _ = command("import", "chats.jsonl", "--json")
    assert code == 0
    first, second = json.loads(out)["threads"]
    assert (first["steps"], second["title"]) == (2, "one")
    steps = listed(first["thread_id"])["snapshots"]
    assert command("restore", first["thread_id"], steps[0]["id"][:8])[0] == 0


def test_import_is_scrubbed(command: Command) -> None:
    message = {"role": "user", "content": "hi"}
    line = {
        "id": "a" * 32,
        "thread_id": "b" * 32,
        "turn_index": 1,
        "iteration": 0,
        "created_at": "2026-01-01T00:00:00Z",
        "state": {"messages": [message], "chat_id": 5, "routing": {"guild_id": 7, "model": "m"}},
    }
    Path("export.jsonl").write_text(json.dumps(line))
    made = json.loads(command("import", "export.jsonl", "--json")[1])["threads"][0]["thread_id"]
    shown = command("steps", "show", made, json.loads(command("steps", "list", made, "--json")[1])["head"], "--json")[1]
    assert json.loads(shown)["state"] == {"messages": [message], "routing": {"model": "m"}}


def test_bad_import_changes_nothing(command: Command) -> None:
    Path("bad.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}\n{"messages": 3}')
    code, out, err = command("import", "bad.jsonl")
    assert (code, out) == (1, "")
    assert "item 2" in err or "line 2" in err
    assert command("steps", "list")[1] == "No chats yet.\n"


@pytest.mark.parametrize("deleting", ["clear", "delete"])
def test_import_leaves_out_what_was_deleted(command: Command, deleting: str) -> None:
    thread = talk(MARK, "again")
    command("steps", "export", thread, "-o", "out.jsonl")
    assert command(deleting, thread, "--yes")[0] == 0
    code, out, err = command("import", "out.jsonl", "--json")
    assert code == 0
    assert json.loads(out) == {
        "threads": [],
        "left_out": {"they were deleted here": 2, "they were saved with parts cut": 0, "they could not be placed": 0},
    }
    assert "left out: 2 steps" in err


def test_backup_holds_no_steps(command: Command, here: Path) -> None:
    talk("hello")
    assert command("backup", "copy.db")[0] == 0
    assert command("restore-backup", "copy.db", "--data", "elsewhere")[0] == 0
    (thread,) = json.loads(command("steps", "list", "--json", "--data", "elsewhere")[1])["threads"]
    assert thread["steps"] == 0


def test_backup_never_overwrites(command: Command) -> None:
    talk("hello")
    Path("copy.db").write_text("mine")
    assert command("backup", "copy.db")[0] == 1
    assert Path("copy.db").read_text() == "mine"


def test_restored_backup_brings_nothing_back_that_was_deleted(command: Command, here: Path) -> None:
    gone, kept = talk(MARK), talk("stays")
    command("backup", "copy.db")
    command("delete", gone, "--yes")
    code, out, _ = command("restore-backup", "copy.db", "--json")
    assert (code, json.loads(out)) == (0, {"threads": 1, "left_deleted": 1, "steps_dropped": 0})
    (thread,) = json.loads(command("steps", "list", "--json")[1])["threads"]
    assert (thread["thread_id"], thread["steps"]) == (kept, 1)
    for path in (here / "data").rglob("*"):
        if path.is_file():
            assert MARK.encode() not in path.read_bytes(), path


def test_restored_backup_goes_on_after_a_clear(command: Command, listed: Listed) -> None:
    thread = talk("one")
    command("backup", "copy.db")
    command("clear", thread, "--yes")
    command("restore-backup", "copy.db")
    say_in(thread, "two")
    assert [s["summary"] for s in listed(thread)["snapshots"]] == ["two"]


def test_restored_backup_drops_steps_that_are_newer(command: Command, listed: Listed) -> None:
    thread = talk("one")
    command("backup", "copy.db")
    say_in(thread, "two")
    command("restore-backup", "copy.db")
    say_in(thread, "three")
    assert [(s["summary"], s["turn_index"]) for s in listed(thread)["snapshots"]] == [("one", 1), ("three", 2)]


def test_file_that_is_no_backup_is_refused_and_nothing_changes(command: Command, here: Path) -> None:
    thread = talk("hello")
    Path("copy.db").write_text("no database")
    code, _, err = command("restore-backup", "copy.db")
    assert code == 1
    assert "not a backup" in err
    assert thread in command("steps", "list")[1]


def say_in(thread: str, text: str) -> None:
    async def say() -> None:
        async with open_service("data") as service:
            account = await service.people.ensure_account("ana")
            await service.turns.ask(Actor(account=account.id, surface=Surface.API), thread, text)

    asyncio.run(say())
