"""Whoever comes first goes first, when a platform's limit has room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnback.bots.windows import Limit, Window


class Queue:
    """The turns that one limit lets through."""

    def __init__(self, limit: Limit) -> None:
        self._window = Window(limit)
        self._lock = asyncio.Lock()
        self._back = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether it can be forgotten: nobody waits, and nothing counts any more."""
        return not self._lock.locked() and self._window.idle_from() < asyncio.get_running_loop().time()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One turn: waits until there is room."""
        async with self._lock:
            await self._room()
            self._window.take()
        try:
            yield
        finally:
            self._window.give_back(asyncio.get_running_loop().time())
            self._back.set()

    async def _room(self) -> None:
        loop = asyncio.get_running_loop()
        while (at := self._window.free_at()) > loop.time():
            self._back.clear()
            try:
                async with asyncio.timeout_at(at if at < float("inf") else None):
                    await self._back.wait()
            except TimeoutError:
                continue
