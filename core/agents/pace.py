"""Sharing the event loop among many turns.

Preparing a model request takes the library a few milliseconds, in pieces. When a hundred turns do so at
once, everything else (other people's messages, the page) waits for a piece of each of them in every
round of the loop. So turns queue here, and one goes on in a round, if the rounds are short.
"""

from __future__ import annotations

import asyncio
from collections import deque

LONG_ROUND = 0.008
"""Seconds of a round of the event loop after which nobody goes on, so that work in hand gets done."""

LONGEST_HOLD = 0.025
"""Seconds after the last one went on that the next one does, however long the rounds are: the work may be
somebody else's, on a busy machine all of it is, and the queue must move faster than people write.
"""


class Pace:
    """A queue in front of the event loop's rounds. Nothing is held, so nothing leaks."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._round_began = 0.0
        self._went_on_at = 0.0

    async def turn(self) -> None:
        """Wait for the next free round; when nobody else waits it is the next one."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting = loop, deque()
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            self._round_began = loop.time()
            loop.call_soon(self._next, loop)
        await mine

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is not self._loop:
            return
        while self._waiting and self._waiting[0].cancelled():
            self._waiting.popleft()
        if self._waiting and self._may_go_on(loop.time()):
            self._waiting.popleft().set_result(None)
        if self._waiting:
            loop.call_soon(self._next, loop)

    def _may_go_on(self, now: float) -> bool:
        long, self._round_began = now - self._round_began > LONG_ROUND, now
        if long and now - self._went_on_at < LONGEST_HOLD:
            return False
        self._went_on_at = now
        return True
