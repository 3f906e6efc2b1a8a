"""Files that come with messages. They lie on Slack's servers, for who shows the bot's token.

Without a token that may read files, Slack answers with a page to sign in and status 200, so the type is checked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import aiohttp

from turnback.bots.inbox import MAX_BYTES
from turnback.bots.platform import Attachment
from turnback.bots.slack.hosts import is_slacks

_PIECE = 64 * 1024


def attachments(files: Iterable[Mapping[str, Any]], token: str, api_base_url: str | None) -> tuple[Attachment, ...]:
    """What came with a message."""
    return tuple(_attachment(file, token, api_base_url) for file in files)


def _attachment(file: Mapping[str, Any], token: str, api_base_url: str | None) -> Attachment:
    mime, size = str(file.get("mimetype") or ""), int(file.get("size") or 0)
    name = str(file.get("name") or file.get("title") or "file")
    url = str(file.get("url_private_download") or file.get("url_private") or "")
    ours = file.get("mode") != "external" and is_slacks(url, api_base_url)
    return Attachment(name=name, mime=mime, size=size, fetch=_fetching(url, mime, token) if ours else _unreadable)


def _fetching(url: str, mime: str, token: str) -> Callable[[], Awaitable[bytes]]:
    async def fetch() -> bytes:
        try:
            return await _fetch(url, mime, token)
        except aiohttp.ClientError as error:
            raise OSError(f"Slack did not hand it out: {type(error).__name__}") from None

    return fetch


async def _fetch(url: str, mime: str, token: str) -> bytes:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(trust_env=True) as session,
        session.get(url, headers=headers, allow_redirects=False) as answer,
    ):
        if answer.status != 200:
            raise OSError(f"Slack answered with {answer.status}")
        if answer.content_type == "text/html" and mime != "text/html":
            raise OSError("Slack wants somebody to sign in: does the app have files:read?")
        data = bytearray()
        async for piece in answer.content.iter_chunked(_PIECE):
            data += piece
            if len(data) > MAX_BYTES:
                break  # whoever takes it in says that it is too big
        return bytes(data)


async def _unreadable() -> bytes:
    raise OSError("it does not lie at Slack")
