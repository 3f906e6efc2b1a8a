"""What Slack's refusals mean, and how long to wait with what it cannot do now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp
from slack_sdk.errors import SlackApiError

from turnback.bots.platform import Down, Unreachable

T = TypeVar("T")

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between tries while Slack cannot be reached; the last one again and again."""

GIVE_UP_SECONDS = 600.0
"""After so long we stop trying by ourselves; whoever speaks through the outlet may begin anew."""

REFUSED = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
)
"""Slack does not know our token (any more)."""

TOKEN_REFUSED = "Slack refuses the app's token: set slack.bot_token to that of an installed app."  # noqa: S105 - words
APP_TOKEN_REFUSED = "Slack refuses the app-level token: set slack.app_token to one with connections:write."  # noqa: S105 - words

NETWORK = (aiohttp.ClientError, TimeoutError, OSError)

_PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited"})
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "cant_delete_message"})
_UNFORMATTED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})


class MessageGone(Exception):
    """The message to be changed was deleted, or can be changed no more."""


class Unformatted(Exception):
    """Slack does not take the blocks of a message."""


async def sent(call: Callable[[], Awaitable[T]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> T:
    """Make a request, again and again while Slack cannot be reached, or asks to wait.

    So it may be done twice, if the connection breaks after Slack did it: an answer shown twice is better than
    none. Raises `Unreachable`, the exceptions of this module, and `Down` where only the operator can help.
    """
    waited, tries = 0.0, 0
    while True:
        wait = WAITS[min(tries, len(WAITS) - 1)]
        try:
            return await call()
        except SlackApiError as refused:
            seconds = patience(refused)
            if seconds is None:
                raise meaning(refused) from None  # its own words quote what was sent
            wait = seconds or wait
            trouble = error_of(refused)
        except NETWORK as broken:
            trouble = type(broken).__name__
        if waited >= GIVE_UP_SECONDS:
            raise unreachable(trouble)
        tries, waited = tries + 1, waited + wait
        await sleep(wait)


def patience(refused: SlackApiError) -> float | None:
    """How long to wait before the next try: None: it helps nothing, 0: as one likes."""
    status = int(getattr(refused.response, "status_code", 0) or 0)
    if status == 429 or error_of(refused) == "ratelimited":
        headers = getattr(refused.response, "headers", None) or {}
        after = str(headers.get("Retry-After") or headers.get("retry-after") or "1")
        return float(after) if after.isdecimal() else 1.0
    return 0.0 if status >= 500 or error_of(refused) in _PASSING else None


def meaning(refused: SlackApiError) -> Exception:
    """What a refusal means for us."""
    error = error_of(refused)
    if error in REFUSED:
        return Down(TOKEN_REFUSED)
    if error in _GONE:
        return MessageGone()
    if error in _UNFORMATTED:
        return Unformatted()
    return Unreachable(error)


def error_of(refused: SlackApiError) -> str:
    """Slack's word for it; the HTTP status where it says none."""
    data = getattr(refused.response, "data", refused.response)
    error = data.get("error") if isinstance(data, dict) else None
    return str(error or f"status {getattr(refused.response, 'status_code', 'unknown')}")


def unreachable(trouble: str) -> Down:
    """What the operator has to know."""
    return Down(f"Slack cannot be reached ({trouble}): look at network, proxy and slack.api_base_url.")
