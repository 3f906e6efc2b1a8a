"""Stores of every kind behind one fixture each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.threads import Talk

from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.steps.store import StepStore
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.threads.store import ThreadStore

ReopenSteps = Callable[[], Awaitable[StepStore]]
ReopenThreads = Callable[[], Awaitable[ThreadStore]]


@pytest.fixture(params=["sqlite"])
async def reopen_steps(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReopenSteps]:
    """Opens the same step store anew at each call, as a restart does."""
    opened: list[StepStore] = []

    async def reopen() -> StepStore:
        for store in opened:
            await store.close()
        opened[:] = [SqliteStepStore(tmp_path / "steps.db")]
        return opened[0]

    yield reopen
    for store in opened:
        await store.close()


@pytest.fixture
async def store(reopen_steps: ReopenSteps) -> StepStore:
    return await reopen_steps()


@pytest.fixture(params=["sqlite"])
async def reopen_threads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReopenThreads]:
    """Opens the same thread store anew at each call, as a restart does."""
    opened: list[ThreadStore] = []

    async def reopen() -> ThreadStore:
        for store in opened:
            await store.close()
        opened[:] = [await SqliteThreadStore.open(tmp_path / "turnback.db")]
        return opened[0]

    yield reopen
    for store in opened:
        await store.close()


@pytest.fixture
async def threads(reopen_threads: ReopenThreads) -> ThreadStore:
    return await reopen_threads()


@pytest.fixture
async def talk(threads: ThreadStore) -> Talk:
    """A thread with nothing in it yet."""
    return await Talk(threads).start()
