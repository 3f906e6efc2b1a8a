"""Files and photos that come with messages. Telegram lets bots fetch up to 20 MB."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable

from telegram import Bot, Message, PhotoSize
from telegram.error import TelegramError

from turnback.bots.platform import Attachment

DOWNLOAD_BYTES = 20 * 1024 * 1024
"""https://core.telegram.org/bots/api#getfile"""

_NAMED = {"photo": "photo.jpg", "voice": "voice.ogg", "video_note": "video.mp4", "sticker": "sticker.webp"}


def attachments(message: Message, bot: Bot) -> tuple[Attachment, ...]:
    """What came with a message. What is no file can still be named, and fails when it is fetched."""
    found = message.effective_attachment
    if found is None:
        return ()
    if isinstance(found, list | tuple):  # a photo in its sizes, the largest last
        sizes = [size for size in found if isinstance(size, PhotoSize)]
        return (_file(sizes[-1], "photo", bot),) if sizes else ()
    kind = _kind(message)
    if not hasattr(found, "file_id"):
        return (Attachment(name=kind, mime="", size=0, fetch=_unreadable(kind)),)
    return (_file(found, kind, bot),)


def _file(found: object, kind: str, bot: Bot) -> Attachment:
    mime = str(getattr(found, "mime_type", None) or mimetypes.guess_type(_NAMED.get(kind, ""))[0] or "")
    name = getattr(found, "file_name", None) or _NAMED.get(kind) or f"{kind}{mimetypes.guess_extension(mime) or ''}"
    size = int(getattr(found, "file_size", None) or 0)
    file_id = str(getattr(found, "file_id", ""))
    return Attachment(name=str(name), mime=mime, size=size, fetch=_fetching(bot, file_id, size))


def _kind(message: Message) -> str:
    kinds = ("animation", "document", "audio", "video", "voice", "video_note", "sticker", "location", "contact", "poll")
    return next((kind for kind in kinds if getattr(message, kind, None)), "attachment")


def _fetching(bot: Bot, file_id: str, size: int) -> Callable[[], Awaitable[bytes]]:
    async def fetch() -> bytes:
        if size > DOWNLOAD_BYTES:
            raise OSError("larger than the 20 MB that Telegram lets bots fetch")
        try:
            file = await bot.get_file(file_id)
            return bytes(await file.download_as_bytearray())
        except TelegramError as error:
            raise OSError(f"Telegram did not hand it out: {type(error).__name__}") from error

    return fetch


def _unreadable(kind: str) -> Callable[[], Awaitable[bytes]]:
    async def fetch() -> bytes:
        raise OSError(f"a {kind} is no file")

    return fetch
