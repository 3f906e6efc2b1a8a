"""Work that goes on though who asked for it is gone, such as a web request whose client hung up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """Tasks that are kept until they end; asyncio itself holds them weakly."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin some work."""
        task = asyncio.create_task(work)
        self.keep(task)
        return task

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold on to a task until it ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def surely(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that ends even if the one who waits is cancelled."""
        return await asyncio.shield(self.start(work))

    async def settle(self, seconds: float) -> None:
        """Wait for all that is under way, but not longer than that."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
