"""Takes updates in: each once, claimed with its payload before anything runs, and in order for each place.

What was claimed but had not begun when the program ended is begun at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from telegram import Bot, Update
from telegram.error import TelegramError

from turnback.bots.desk import Desk
from turnback.bots.lanes import Lanes
from turnback.bots.platform import Down, Unreachable
from turnback.bots.telegram.client import readable
from turnback.bots.telegram.incoming import Asked, Incoming
from turnback.bots.telegram.outlet import OnMoved
from turnback.bots.telegram.reading import Heard, hear, migration
from turnback.core.models import Surface
from turnback.core.tasks import Tasks
from turnback.core.threads.store import ThreadStore

ALBUM_SECONDS = 0.7
"""The photos of an album come one by one; after so long without another one they are all there."""

ANSWERABLE_SECONDS = 50.0
"""A press can be answered for about a minute."""

SETTLE_SECONDS = 1.0
"""How long what has begun may take to end, when the program does."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Album:
    heard: list[tuple[str, Heard]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Intake:
    """The way of an update from Telegram to the desk, which is handed them in order, and keeps it where it matters.

    `met` is told of the direct chats in which somebody writes.
    """

    def __init__(
        self,
        bot: Bot,
        threads: ThreadStore,
        incoming: Incoming,
        desk: Desk,
        *,
        on_moved: OnMoved,
        met: Callable[[int], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._bot = bot
        self._threads = threads
        self._incoming = incoming
        self._desk = desk
        self._on_moved = on_moved
        self._met = met
        self._clock = clock
        self._lanes = Lanes()
        self._tasks = Tasks()
        self._albums: dict[tuple[int, str], _Album] = {}

    async def take(self, *payloads: Mapping[str, Any]) -> None:
        """Claim updates and begin them in their order. When this returns, Telegram need not keep them any more."""
        wanted: list[tuple[str, Heard]] = []
        now, claims, albums = self._clock(), list[Awaitable[bool]](), set(self._albums)
        for payload in payloads:
            update = self._read(payload)
            if update is None:
                continue
            if (moved := migration(update)) is not None:
                await self._on_moved(*moved)
            elif (heard := hear(update, self._bot.bot, albums)) is not None:
                albums.add(heard.album)
                key = f"{self._bot.id}:{update.update_id}"
                wanted.append((key, heard))
                claims.append(self._threads.claim(Surface.TELEGRAM, key, payload, now))
        for (key, heard), ours in zip(wanted, await asyncio.gather(*claims), strict=True):
            if ours:
                self._begin(key, heard, now)

    async def redo(self) -> None:
        """Begin what was claimed but never begun. It may come from groups that have another id by now."""
        self._incoming.note_moves(await self._threads.moved_places(Surface.TELEGRAM))
        for claim in await self._threads.unstarted_claims():
            if claim.surface is Surface.TELEGRAM and claim.key.startswith(f"{self._bot.id}:"):
                update = self._read(claim.payload)
                heard = hear(update, self._bot.bot, self._albums) if update is not None else None
                if heard is not None:
                    self._begin(claim.key, heard, claim.created_at)

    async def close(self) -> None:
        """Let what has begun come to its end, if it takes not too long; the rest is begun at the next start."""
        for album in self._albums.values():
            if album.timer is not None:
                album.timer.cancel()
        self._albums.clear()
        await self._lanes.settle(SETTLE_SECONDS)
        await self._tasks.settle(SETTLE_SECONDS)
        self._lanes.cancel()

    def _read(self, payload: Mapping[str, Any]) -> Update | None:
        """An update; None, and a line in the log, for one that the library cannot read."""
        try:
            return Update.de_json(readable(payload), self._bot)
        except Exception as error:  # noqa: BLE001 - whatever trips the library must not cost the other updates
            update_id, why = payload.get("update_id"), f"{type(error).__name__}: {error}"
            _log.error("update cannot be read", surface=Surface.TELEGRAM.value, update=update_id, why=why)
            return None

    def _begin(self, key: str, heard: Heard, at: datetime) -> None:
        if not heard.spot.is_group:
            self._met(heard.chat.id)
        if heard.gone is not None:
            self._complete_all(heard.chat.id)
            self._lanes.add(heard.spot.key, lambda: self._guarded(lambda: self._left(key, heard)), within=True)
        elif heard.query is not None:
            self._lanes.add(f"answer {key}", lambda: self._acknowledge(heard, at))
            self._lanes.add(heard.spot.key, lambda: self._guarded(lambda: self._press(key, heard, at)))
        elif heard.message is not None and heard.message.media_group_id is not None:
            self._collect(key, heard)
        else:
            self._lanes.add(heard.spot.key, lambda: self._guarded(lambda: self._message([(key, heard)])))

    def _collect(self, key: str, heard: Heard) -> None:
        name = heard.album
        album = self._albums.setdefault(name, _Album())
        album.heard.append((key, heard))
        if album.timer is not None:
            album.timer.cancel()
        album.timer = asyncio.get_running_loop().call_later(ALBUM_SECONDS, self._complete, name)

    def _complete_all(self, chat: int) -> None:
        """Wait no longer for more photos of a chat's albums."""
        for name in [name for name in self._albums if name[0] == chat]:
            timer = self._albums[name].timer
            if timer is not None:
                timer.cancel()
            self._complete(name)

    def _complete(self, name: tuple[int, str]) -> None:
        heard = sorted(self._albums.pop(name).heard, key=lambda item: item[1].update_id)
        self._lanes.add(heard[0][1].spot.key, lambda: self._guarded(lambda: self._message(heard)))

    async def _message(self, heard: list[tuple[str, Heard]]) -> None:
        ours = [each for key, each in heard if await self._threads.start_claim(Surface.TELEGRAM, key)]
        if ours:
            self._tasks.start(self._desk.message(self._incoming.message(ours)))

    async def _press(self, key: str, heard: Heard, at: datetime) -> None:
        if not await self._threads.start_claim(Surface.TELEGRAM, key):
            return
        press = await self._incoming.press(heard, at)
        if isinstance(press, Asked):
            self._tasks.start(self._ask(press))
        elif press is not None:
            self._tasks.start(self._desk.press(press))

    async def _left(self, key: str, heard: Heard) -> None:
        """Who is gone must not stay in, so it is marked as begun only when it is done; twice does no harm."""
        notice = self._incoming.left(heard)
        if notice is not None:
            await self._desk.left(notice)
        await self._threads.start_claim(Surface.TELEGRAM, key)

    async def _ask(self, asked: Asked) -> None:
        with suppress(Unreachable, Down):
            await self._incoming.ask(asked)

    async def _acknowledge(self, heard: Heard, at: datetime) -> None:
        """Take the waiting sign off the button, at once and whatever becomes of the press."""
        if heard.query is not None and (self._clock() - at).total_seconds() < ANSWERABLE_SECONDS:
            with suppress(TelegramError):
                await self._bot.answer_callback_query(heard.query.id)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001 - one update must not end the work on all others of its place
            _log.exception("update failed", surface=Surface.TELEGRAM.value)
