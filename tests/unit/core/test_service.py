"""Opening and closing the whole service."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.world import ANN, Clock, Scripted

from turnback.core import open_service
from turnback.core.folder import claimed
from turnback.core.rewind import RewindService


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


def left_over() -> list[threading.Thread]:
    """The workers that do not end. One that has let go of its file may not be through with its last line yet."""
    for thread in workers():
        thread.join(timeout=5)
    return workers()


async def test_start_that_fails_after_the_files_were_opened_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise RuntimeError("cannot start")

    monkeypatch.setattr(RewindService, "recover", fail)
    with pytest.raises(RuntimeError, match="cannot start"):
        async with open_service(tmp_path):
            pass
    assert left_over() == []
    with claimed(tmp_path):
        pass


async def test_close_lets_go_of_both_files(tmp_path: Path) -> None:
    assert left_over() == []
    async with open_service(tmp_path, agent=Scripted()) as service:
        await service.threads.create_account(ANN.account, ANN.name, Clock()())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "one")
        assert len(workers()) == 4
    assert left_over() == []
    assert {path.name for path in tmp_path.glob("*.db*")} == {"turnback.db", "steps.db"}
