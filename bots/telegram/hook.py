"""The webhook: an ASGI handler that takes an update and says yes only when it is claimed."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from turnback.bots.webhooks import Receive, Scope, Send, answer, read_body

Take = Callable[[Mapping[str, Any]], Awaitable[None]]

SECRET_HEADER = b"x-telegram-bot-api-secret-token"


class Hook:
    """To be mounted at /hooks/telegram. Telegram sends again what is not answered with 200."""

    def __init__(self) -> None:
        self._take: Take | None = None
        self._secret = b""

    def open(self, take: Take, secret: str) -> None:
        """Take updates from now on, of those who know the secret."""
        self._take, self._secret = take, secret.encode()

    def close(self) -> None:
        """Take none; Telegram keeps them and comes again."""
        self._take = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await answer(send, await self._status(scope, receive))

    async def _status(self, scope: Scope, receive: Receive) -> int:
        if scope["type"] != "http" or scope["method"] != "POST":
            return 405
        if self._take is None:
            return 503
        given = next((value for name, value in scope["headers"] if name.lower() == SECRET_HEADER), b"")
        if not hmac.compare_digest(given, self._secret):
            return 401
        payload = await _update(receive)
        if not isinstance(payload, dict) or not isinstance(payload.get("update_id"), int):
            return 400
        await self._take(payload)
        return 200


async def _update(receive: Receive) -> object:
    """The JSON of a request; None for what is none, or too much."""
    try:
        return json.loads(await read_body(receive) or b"")
    except ValueError:
        return None
