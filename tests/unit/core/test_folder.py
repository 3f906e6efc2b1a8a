"""One service per data folder."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.world import ANN, Clock, Scripted

from turnback.core import open_service
from turnback.core.folder import FolderBusy, claimed


def test_second_claim_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with claimed(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with pytest.raises(FolderBusy, match="in use"), claimed(folder):
            pass
    with claimed(folder):
        pass


async def test_second_service_is_refused(tmp_path: Path) -> None:
    async with open_service(tmp_path):
        with pytest.raises(FolderBusy):
            async with open_service(tmp_path):
                pass


async def test_folder_is_free_after_a_start_that_failed(tmp_path: Path) -> None:
    (tmp_path / "turnback.db").write_bytes(b"no database at all, but long enough to be read as one" * 100)
    with pytest.raises(Exception, match="not a database"):
        async with open_service(tmp_path):
            pass
    with claimed(tmp_path):
        pass


async def test_service_without_a_usable_step_store_talks_and_alerts(tmp_path: Path) -> None:
    (tmp_path / "steps.db").mkdir()
    async with open_service(tmp_path, agent=Scripted()) as service:
        assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
        await service.threads.create_account(ANN.account, "Ann", Clock()())
        thread = await service.rewind.create_thread(ANN)
        assert (await service.turns.ask(ANN, thread.id, "hello")).reply == "said hello"


async def test_store_that_breaks_while_the_service_runs_alerts_at_the_next_step(tmp_path: Path) -> None:
    async with open_service(tmp_path, agent=Scripted()) as service:
        await service.threads.create_account(ANN.account, "Ann", Clock()())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "hello")
        assert not service.alerts.active
        (tmp_path / "steps.db").unlink()
        (tmp_path / "steps.db").mkdir()
        await service.turns.ask(ANN, thread.id, "again")
        assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
