"""Places of Discord and their keys: the id of a channel, a thread, a forum's post or a direct chat."""

from __future__ import annotations

from dataclasses import dataclass

from turnback.bots.capabilities import Capabilities
from turnback.bots.places import Place
from turnback.core.models import Surface

TEXT_LIMIT = 2000
"""Code points of a message, https://docs.discord.com/developers/resources/message."""

_CHAT = Capabilities(max_text=TEXT_LIMIT)
_CHANNEL = Capabilities(max_text=TEXT_LIMIT, side_places=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where somebody writes. Ids are texts, as everywhere: a browser would round the numbers.

    `threads`: threads can be opened beside it, which everybody there may see.
    """

    channel: str
    guild: str | None = None
    threads: bool = False


def place_at(spot: Spot) -> Place:
    """The place that the chat layer knows it as."""
    return Place(
        surface=Surface.DISCORD,
        key=spot.channel,
        group=spot.guild is not None,
        can=_CHANNEL if spot.threads else _CHAT,
    )


def jump_url(spot: Spot, message: str) -> str:
    """The address of a message, which Discord opens in itself."""
    return f"https://discord.com/channels/{spot.guild or '@me'}/{spot.channel}/{message}"
