"""Slack's rate limits, kept: messages and edits wait for their turn.

https://docs.slack.dev/apis/web-api/rate-limits: about a message a second in one channel, and 50 edits a minute
in the whole workspace. Short bursts are let through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from turnback.bots.queues import Queue
from turnback.bots.windows import Limit

_CHANNEL, _EDITS, _WHISPERS = Limit(3, 3.05), Limit(46, 60.5), Limit(90, 60.5)
_CHANNELS_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the pacer keeps to: messages of a channel, edits, and messages that one person sees."""

    channel: Limit = _CHANNEL
    edits: Limit = _EDITS
    whispers: Limit = _WHISPERS


class Pacer:
    """Lets things be said when their time has come."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._limits = limits
        self._channels: dict[str, Queue] = {}
        self._edits = Queue(limits.edits)
        self._whispers = Queue(limits.whispers)

    @asynccontextmanager
    async def message(self, channel: str) -> AsyncIterator[None]:
        """The turn of a new message."""
        if channel not in self._channels and len(self._channels) >= _CHANNELS_KEPT:
            self._channels = {name: queue for name, queue in self._channels.items() if not queue.is_idle}
        async with self._channels.setdefault(channel, Queue(self._limits.channel)).turn():
            yield

    @asynccontextmanager
    async def edit(self) -> AsyncIterator[None]:
        """The turn of an edit."""
        async with self._edits.turn():
            yield

    @asynccontextmanager
    async def whisper(self) -> AsyncIterator[None]:
        """The turn of a message for one person."""
        async with self._whispers.turn():
            yield
