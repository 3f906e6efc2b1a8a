"""The request URL of HTTP mode: an ASGI handler that hands requests to Bolt, which checks their signatures."""

from __future__ import annotations

from collections.abc import Sequence

from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from turnback.bots.webhooks import Receive, Scope, Send, answer, read_body


class Hook:
    """To be mounted at /hooks/slack. Slack sends events again that are not answered with 200."""

    def __init__(self) -> None:
        self._app: AsyncApp | None = None

    def open(self, app: AsyncApp) -> None:
        """Take requests from now on."""
        self._app = app

    def close(self) -> None:
        """Take none; Slack comes again with its events."""
        self._app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await answer(send, 405)
            return
        body = await read_body(receive)
        if self._app is None or body is None:
            await answer(send, 400 if body is None else 503)
            return
        headers: dict[str, str | Sequence[str]] = {
            k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]
        }
        request = AsyncBoltRequest(body=body.decode("utf-8", "replace"), headers=headers, mode="http")
        done = await self._app.async_dispatch(request)
        kept = [(name.encode(), value.encode()) for name in done.headers for value in done.headers[name]]
        kept = [(name, value) for name, value in kept if name.lower() != b"content-length"]
        await answer(send, done.status, (done.body or "").encode(), kept)
