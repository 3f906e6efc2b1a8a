"""A house with a web app, and clients."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from support.web import House, Patient, furnish
from support.world import Clock

from turnback.core import open_service


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    agent, clock = Patient(), Clock()
    async with open_service(tmp_path / "data", agent=agent, clock=clock, maintain=False) as service:
        yield await furnish(service, agent, clock)


@pytest.fixture
async def ann(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with house.client("ann") as client:
        yield client


@pytest.fixture
async def bob(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with house.client("bob") as client:
        yield client


@pytest.fixture
async def root(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with house.client("root") as client:
        yield client


@pytest.fixture
async def nobody(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with house.client() as client:
        yield client


@pytest.fixture
async def thread(ann: httpx2.AsyncClient) -> str:
    """A conversation of Ann's."""
    return str((await ann.post("/api/threads", json={"title": "Trip"})).json()["thread_id"])
