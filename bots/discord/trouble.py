"""What Discord's refusals mean, and how long to wait with what it cannot do now.

https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. The library waits by itself where
Discord says for how long, and tries a few times where it is out of order; this goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp
import discord

from turnback.bots.platform import Down, Unreachable

T = TypeVar("T")

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between tries while Discord cannot be reached; the last one again and again."""

GIVE_UP_SECONDS = 600.0
"""After so long we stop trying by ourselves; whoever speaks through the outlet may begin anew."""

NETWORK = (aiohttp.ClientError, TimeoutError, OSError)

TOKEN_REFUSED = "Discord refuses the bot's token: set discord.token to a valid one (Bot, in its developer portal)."  # noqa: S105 - words

UNKNOWN_INTERACTION = 10062
ACKNOWLEDGED = 40060
"""Somebody has answered this interaction already: it was told twice."""

_UNKNOWN_MESSAGE, _ARCHIVED, _NOT_OURS, _NO_HISTORY = 10008, 50083, 50005, 160002


class MessageGone(Exception):
    """The message to be changed was deleted, or can be changed no more."""


class NoReference(Exception):
    """A message cannot be a reply there: we may not read what was said before."""


async def sent(call: Callable[[], Awaitable[T]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> T:
    """Make a request, again and again while Discord cannot be reached.

    So it may be done twice, if the connection breaks after Discord did it: an answer shown twice is better than
    none. Raises `Unreachable`, the exceptions of this module, and `Down` where only the operator can help.
    """
    waited, tries = 0.0, 0
    while True:
        try:
            return await call()
        except discord.HTTPException as refused:
            if not is_passing(refused):
                raise meaning(refused) from None  # its own words quote what was sent
            trouble: Exception = refused
        except NETWORK as broken:
            trouble = broken
        if waited >= GIVE_UP_SECONDS:
            raise (Down(TOKEN_REFUSED) if _is_refused(trouble) else unreachable(trouble)) from None
        wait = WAITS[min(tries, len(WAITS) - 1)]
        tries, waited = tries + 1, waited + wait
        await sleep(wait)


def is_passing(refused: discord.HTTPException) -> bool:
    """Whether it may work a little later: a token that is refused may be set anew meanwhile."""
    return refused.status >= 500 or refused.status == 429 or _is_refused(refused)


def meaning(refused: discord.HTTPException) -> Exception:
    """What a refusal means for us."""
    if _is_refused(refused):
        return Down(TOKEN_REFUSED)
    if refused.code in (_UNKNOWN_MESSAGE, _ARCHIVED, _NOT_OURS):
        return MessageGone()
    if refused.code == _NO_HISTORY:
        return NoReference()
    return Unreachable(f"status {refused.status}, code {refused.code}")


def _is_refused(trouble: Exception) -> bool:
    """Whether it is the bot's token; an interaction's own one has a code of its own."""
    return isinstance(trouble, discord.HTTPException) and trouble.status == 401 and not trouble.code


def unreachable(trouble: Exception) -> Down:
    """What the operator has to know."""
    kind = f"status {trouble.status}" if isinstance(trouble, discord.HTTPException) else type(trouble).__name__
    return Down(f"Discord cannot be reached ({kind}): look at network and proxy (discord.proxy).")
