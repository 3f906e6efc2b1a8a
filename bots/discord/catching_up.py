"""Reads what people wrote while the connection was away: a new session of the gateway does not tell of it.

Only where somebody spoke to us in this process's time, and not far back. What is told twice is claimed once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

import discord
import structlog

from turnback.bots.discord.reading import Heard
from turnback.bots.discord.trouble import NETWORK
from turnback.core.models import Surface

CHANNELS, MESSAGES = 50, 50
"""How many channels are looked at, those heard last, and how many messages in each."""

_log = structlog.get_logger(__name__)


class Latest:
    """The last thing that was heard in each channel."""

    def __init__(self) -> None:
        self._heard: OrderedDict[str, Heard] = OrderedDict()

    def note(self, heard: Heard) -> None:
        """Something was heard, perhaps later than what came after it."""
        known = self._heard.get(heard.spot.channel)
        if known is None or int(known.id) < int(heard.id):
            self._heard[heard.spot.channel] = heard
        self._heard.move_to_end(heard.spot.channel)
        if len(self._heard) > CHANNELS:
            self._heard.popitem(last=False)

    async def since(self, client: discord.Client) -> AsyncIterator[discord.Message]:
        """What was written there since, oldest first; nothing of a channel that cannot be read now."""
        for heard in list(self._heard.values()):
            channel = _channel(client, heard)
            if channel is None:
                continue
            try:
                after = discord.Object(int(heard.id))
                async for message in channel.history(after=after, limit=MESSAGES, oldest_first=True):
                    yield message
            except (discord.HTTPException, *NETWORK) as error:
                _log.warning("channel not read", surface=Surface.DISCORD.value, why=type(error).__name__)


def _channel(client: discord.Client, heard: Heard) -> Any:
    """A channel of a guild must be known as one, else its messages would look like those of a direct chat."""
    if heard.spot.guild is None:
        return client.get_partial_messageable(int(heard.spot.channel))
    channel = client.get_channel(int(heard.spot.channel))
    return channel if isinstance(channel, discord.TextChannel | discord.Thread) else None
