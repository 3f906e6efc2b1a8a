"""A whole service on real files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.world import ANN, BOB, ROOT, Clock, Ids, Rules, Scripted

from turnback.core import open_service
from turnback.core.models import Thread
from turnback.core.service import Turnback


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rules() -> Rules:
    return Rules()


@pytest.fixture
def new_ids() -> Ids:
    return Ids()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def service(data: Path, clock: Clock, rules: Rules, new_ids: Ids) -> AsyncIterator[Turnback]:
    async with open_service(data, agent=Scripted(), policy=rules, clock=clock, new_id=new_ids) as opened:
        for actor in (ANN, BOB, ROOT):
            await opened.threads.create_account(actor.account, actor.name, clock(), admin=actor.admin)
        yield opened


@pytest.fixture
async def thread(service: Turnback) -> Thread:
    return await service.rewind.create_thread(ANN, "Trip")


@pytest.fixture
def say(service: Turnback, thread: Thread) -> Callable[[str], Awaitable[str]]:
    async def say(text: str, thread_id: str = thread.id) -> str:
        return (await service.turns.ask(ANN, thread_id, text)).reply

    return say
