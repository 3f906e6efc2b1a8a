"""Work of one place in order, that of different places side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Work = Callable[[], Awaitable[None]]


class Lanes:
    """One lane for each place that has something to do. The work must not raise."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, place: str, work: Work, *, within: bool = False) -> None:
        """Do this after all that was added for the same place before; `within`: and for the places in it, whose names
        go on behind a slash.
        """
        inside = f"{place}/"
        before = {task for name, task in self._last.items() if name == place or (within and name.startswith(inside))}
        task = asyncio.create_task(self._after(before, work))
        self._last[place] = task
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(place, done))

    async def settle(self, seconds: float) -> None:
        """Give all that is under way so long to end."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    def cancel(self) -> None:
        """End what is still under way."""
        for task in set(self._tasks):
            task.cancel()

    def _ended(self, place: str, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        if self._last.get(place) is done:
            del self._last[place]

    @staticmethod
    async def _after(before: set[asyncio.Task[None]], work: Work) -> None:
        if before:
            await asyncio.wait(before)
        await work()
