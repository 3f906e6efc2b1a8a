"""Discord's limit for all requests of a bot together, kept: 50 a second.

https://docs.discord.com/developers/topics/rate-limits. The limits of each channel the library keeps by itself,
by what Discord's answers say of them; for all together there is no such word. What answers an interaction does
not count.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnback.bots.queues import Queue
from turnback.bots.windows import Limit

_EVERYTHING = Limit(45, 1.05)


class Pacer:
    """Lets requests go when their time has come."""

    def __init__(self, everything: Limit = _EVERYTHING) -> None:
        self._queue = Queue(everything)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The turn of a request."""
        async with self._queue.turn():
            yield
