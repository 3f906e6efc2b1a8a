"""Files that come with messages, fetched from Discord's own store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import discord

from turnback.bots.discord.outlet import DiscordOutlet
from turnback.bots.discord.reading import FileSent
from turnback.bots.discord.trouble import NETWORK
from turnback.bots.platform import Attachment, Down


def attachment(file: FileSent, outlet: DiscordOutlet) -> Attachment:
    """A file as the chat layer takes it."""
    return Attachment(name=file.name, mime=file.mime, size=file.size, fetch=_fetching(file, outlet))


def _fetching(file: FileSent, outlet: DiscordOutlet) -> Callable[[], Awaitable[bytes]]:
    async def fetch() -> bytes:
        if not file.url or urlsplit(file.url).hostname is None:
            raise OSError("Discord gives no file of it")
        try:
            return await outlet.client.http.get_from_cdn(file.url)
        except (discord.HTTPException, Down, *NETWORK) as error:
            raise OSError(f"Discord did not hand it out: {type(error).__name__}") from error

    return fetch
