"""The webhook: an ASGI handler that takes an update and says yes only when it is claimed."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Take = Callable[[Mapping[str, Any]], Awaitable[None]]

SECRET_HEADER = b"x-telegram-bot-api-secret-token"
MOST_BYTES = 1024 * 1024


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
        await _answer(send, await self._status(scope, receive))

    async def _status(self, scope: Scope, receive: Receive) -> int:
        if scope["type"] != "http" or scope["method"] != "POST":
            return 405
        if self._take is None:
            return 503
        given = next((value for name, value in scope["headers"] if name.lower() == SECRET_HEADER), b"")
        if not hmac.compare_digest(given, self._secret):
            return 401
        payload = await _body(receive)
        if not isinstance(payload, dict) or not isinstance(payload.get("update_id"), int):
            return 400
        await self._take(payload)
        return 200


async def _body(receive: Receive) -> object:
    """The JSON of a request; None for what is none, or too much."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if message["type"] != "http.request" or len(body) > MOST_BYTES:
            return None
    try:
        return json.loads(body)
    except ValueError:
        return None


async def _answer(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
