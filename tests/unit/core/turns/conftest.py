"""A house of turns on a file of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.turning import ANN, THREAD, House, Surviving, gated, slow

from turnback.core.models import Surface
from turnback.core.threads.sqlite import SqliteThreadStore


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Ann's thread; the agent knows `slow` and `gated`, and says everything else again."""
    store = await SqliteThreadStore.open(tmp_path / "turnback.db")
    try:
        house = House(store, tmp_path, Surviving(slow=slow, gated=gated))
        await store.create_account(ANN.account, ANN.name, house.time())
        await store.create_thread(THREAD, "New chat", Surface.API, ANN.account, house.time())
        yield house
        await house.turns.close()
    finally:
        await store.close()
