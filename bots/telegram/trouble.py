"""What Telegram's refusals mean. Some have a class of their own, the others are known by their words only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError

from turnback.bots.platform import Down, Unreachable

T = TypeVar("T")

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between tries while Telegram cannot be reached; the last one again and again."""

GIVE_UP_SECONDS = 600.0
"""After so long we stop trying by ourselves; whoever speaks through the outlet may begin anew."""

LONGEST_REASON = 100

_QUOTE = re.compile("['\"`“«]|https?:")


class Unformatted(Exception):
    """Telegram cannot read the entities of a text."""


class TopicGone(Exception):
    """The topic of a forum was deleted."""


class MessageGone(Exception):
    """The message to be changed was deleted, or can be changed no more."""


class Unchanged(Exception):
    """The message shows just that already."""


_SAID = (
    ("not modified", Unchanged),
    ("can't parse entities", Unformatted),
    ("entity begin", Unformatted),
    ("entity ends", Unformatted),
    ("entity has a wrong", Unformatted),
    ("message thread not found", TopicGone),
    ("topic_deleted", TopicGone),
    ("message to edit not found", MessageGone),
    ("message can't be edited", MessageGone),
    ("message_id_invalid", MessageGone),
    ("there is no text in the message", MessageGone),
)
"""Telegram's words in lower case (the library capitalises the first letter), and what they mean."""


async def sent(call: Callable[[], Awaitable[T]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> T:
    """Make a request, again and again while Telegram cannot be reached.

    So it may be done twice, if the connection breaks after Telegram did it: an answer shown twice is better
    than none. Raises `Unreachable`, the exceptions of this module, ChatMigrated, and `Down` in the end.
    """
    waited, tries = 0.0, 0
    while True:
        try:
            return await call()
        except (BadRequest, Forbidden, ChatMigrated) as refused:
            raise meaning(refused) from refused
        except (NetworkError, InvalidToken, Conflict) as trouble:
            if waited >= GIVE_UP_SECONDS:
                raise Down(f"Telegram cannot be reached ({type(trouble).__name__}).") from None
        except TelegramError as refused:
            raise Unreachable(type(refused).__name__) from refused
        wait = WAITS[min(tries, len(WAITS) - 1)]
        tries, waited = tries + 1, waited + wait
        await sleep(wait)


def meaning(refused: TelegramError) -> Exception:
    """What a refusal means for us."""
    if isinstance(refused, ChatMigrated):
        return refused
    said = refused.message.lower()
    for words, means in _SAID:
        if words in said:
            return means()
    return Unreachable(without_quotes(refused.message))


def without_quotes(words: str) -> str:
    """Telegram's words as far as they are its own: it quotes what we sent, be it a link that nobody may read."""
    return _QUOTE.split(words, maxsplit=1)[0].strip()[:LONGEST_REASON]
