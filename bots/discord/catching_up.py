"""Reads what people wrote while nobody listened: we were stopped, or the gateway's new session tells nothing of before.

Discord keeps it. We look where somebody spoke to us before, from the last thing on that was claimed there; a
direct chat that begins meanwhile is not found, since Discord lists those to no bot. Until a place has been read,
what happens there now is held back: it comes after what was missed, and its claim must not hide that from the
next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import discord
import structlog

from turnback.bots.discord.outlet import DiscordOutlet
from turnback.bots.queues import Queue
from turnback.bots.windows import Limit
from turnback.core.errors import StoreUnavailable
from turnback.core.models import Surface
from turnback.core.threads.store import ThreadStore

PLACES, MESSAGES = 100, 100
"""How many places are looked at, those heard last, and how many messages in each: what one request answers."""

OLDEST = timedelta(hours=24)
"""What is older is let be, as Telegram does."""

PACE = Limit(15, 1.05)
"""Places a second, each of which takes two requests of the 50 that Discord allows us in all."""

Begin = Callable[[], None]

_log = structlog.get_logger(__name__)


class CatchingUp:
    """Knows which places have been read since the session began, and holds back what happens in the others."""

    def __init__(self, threads: ThreadStore, outlet: DiscordOutlet, *, bot: str, clock: Callable[[], datetime]) -> None:
        self._threads = threads
        self._outlet = outlet
        self._prefix = f"{bot}:"
        self._clock = clock
        self._unread: set[str] | None = set()  # None: not known yet, so it may be any
        self._held: dict[str, list[Begin]] = {}
        self._reading: asyncio.Task[None] | None = None

    def hold(self) -> None:
        """Hold back everything, until `run` has found out what was missed: a session has begun, or we leave."""
        if self._reading is not None:
            self._reading.cancel()
        self._unread = None

    def add(self, place: str, begin: Begin) -> None:
        """Begin something now, or once its place has been read."""
        if self._unread is None or place in self._unread:
            self._held.setdefault(place, []).append(begin)
        else:
            begin()

    async def run(self, take: Callable[[discord.Message], None]) -> None:
        """Hand over what was missed, of each place the oldest first, and then let go what was held back."""
        self._reading = asyncio.ensure_future(self._run(take))
        await asyncio.wait({self._reading})

    async def _run(self, take: Callable[[discord.Message], None]) -> None:
        last = await self._last()
        self._unread = set(last)
        for place in self._held.keys() - last.keys():
            self._let_go(place)
        pace = Queue(PACE)

        async def read(place: str, after: int) -> None:
            async with pace.turn():
                await self._read(place, after, take)
                self._let_go(place)

        await asyncio.gather(*(read(place, after) for place, after in last.items()))

    async def _last(self) -> dict[str, int]:
        """Where to look, and after which message or command there."""
        oldest = discord.utils.time_snowflake(self._clock() - OLDEST)
        try:
            claims = await self._threads.last_claims(Surface.DISCORD, PLACES)
        except StoreUnavailable:
            return {}
        ours = {place: key.removeprefix(self._prefix) for place, key in claims if key.startswith(self._prefix)}
        return {place: max(int(key), oldest) for place, key in ours.items()}

    async def _read(self, place: str, after: int, take: Callable[[discord.Message], None]) -> None:
        try:
            for message in await self._outlet.written_since(place, after, MESSAGES):
                take(message)
        except Exception as error:  # noqa: BLE001 - whatever is wrong there, what happens there now goes on
            _log.warning("place not read", surface=Surface.DISCORD.value, why=type(error).__name__)

    def _let_go(self, place: str) -> None:
        if self._unread is not None:
            self._unread.discard(place)
        for begin in self._held.pop(place, ()):
            begin()
