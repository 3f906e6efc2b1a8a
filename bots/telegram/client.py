"""The library's client, which also takes what it cannot read.

The library reads all updates of an answer at once: one that it cannot read would cost the others, and come
again for ever. So they are taken as they come. And some Bot API servers tell in a message which form it was
sent with, where the library reads only buttons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from turnback.bots.telegram.pacing import Pacer
from turnback.bots.telegram.reading import UPDATES

OFFICIAL = "https://api.telegram.org/bot"
POLL_SECONDS = 30
REQUEST_SECONDS = 20.0
CONNECT_SECONDS = 10.0
CONNECTIONS = 64

KEPT_OPEN = 12
"""Connections that stay open while idle. httpx looks at each of them before and after each request, which for
all that a burst has opened costs more than the request. What we may send in a second keeps a few busy.
"""


class Client(ExtBot[None]):
    """Telegram's methods."""

    async def pull(self, offset: int | None) -> Sequence[Mapping[str, Any]]:
        """The updates from `offset` on, as JSON; waits for the first one, but not for ever."""
        asked = {"offset": offset, "timeout": POLL_SECONDS, "allowed_updates": UPDATES}
        told = await self._post("getUpdates", asked, read_timeout=REQUEST_SECONDS + POLL_SECONDS)
        return cast("Sequence[Mapping[str, Any]]", told)

    async def _post(self, *args: Any, **kwargs: Any) -> Any:
        return readable(await super()._post(*args, **kwargs))


def readable(told: Any) -> Any:
    """What Telegram told, without forms that are no buttons."""
    if isinstance(told, list):
        return [readable(each) for each in told]
    if not isinstance(told, Mapping):
        return told
    return {key: readable(value) for key, value in told.items() if key != "reply_markup" or "inline_keyboard" in value}


def make_bot(token: str, api_base_url: str | None, pacer: Pacer | None = None) -> Client:
    """The client. Proxy and certificates come from the environment, as httpx reads it."""
    base = api_base_url or OFFICIAL
    head, bot, tail = base.rpartition("/bot")
    files = f"{head}/file/bot{tail}" if bot else f"{base}/file"
    return Client(
        token,
        base_url=base,
        base_file_url=files,
        request=_request(CONNECTIONS),
        get_updates_request=_request(2),
        rate_limiter=pacer,
    )


def _request(connections: int) -> HTTPXRequest:
    return HTTPXRequest(
        httpx_kwargs={"limits": httpx.Limits(max_connections=connections, max_keepalive_connections=KEPT_OPEN)},
        read_timeout=REQUEST_SECONDS,
        write_timeout=REQUEST_SECONDS,
        connect_timeout=CONNECT_SECONDS,
        pool_timeout=REQUEST_SECONDS,
        media_write_timeout=120.0,
    )
