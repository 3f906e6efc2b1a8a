"""Takes what happens in: each thing once, claimed with its payload before anything runs, in order for each place.

An interaction is told first that an answer comes, within its 3 seconds and before the store is asked anything;
where that fails, nothing is done, since the person sees that it failed. What was claimed but had not begun when
the program ended is begun at the next start.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import discord
import structlog

from turnback.bots.desk import Desk
from turnback.bots.discord.answering import Deferred, answering, defer
from turnback.bots.discord.buttons import Pressed, filled, form
from turnback.bots.discord.catching_up import CatchingUp
from turnback.bots.discord.incoming import Incoming, rights
from turnback.bots.discord.reading import UNREADABLE, Heard, Kind, heard_of, read_interaction, read_message
from turnback.bots.lanes import Lanes
from turnback.bots.platform import Left, Said
from turnback.core.errors import StoreUnavailable
from turnback.core.models import Surface
from turnback.core.tasks import Tasks
from turnback.core.threads.store import ThreadStore

SETTLE_SECONDS = 1.0
"""How long what has begun may take to end, when the program does."""

RECENT = 4096
"""Ids that we remember, so that what Discord tells twice is not even answered twice; the claims last longer."""

NOT_DONE = "That cannot be done now, and nothing was done: what people ask cannot be written down. Try again later."

_PRIVATE = ("/web", "/chats")
"""Commands whose answers are for the asker's eyes only; Discord has to be told before we do any work."""

_Ready = Callable[[], Coroutine[Any, Any, Deferred | bool]]

_log = structlog.get_logger(__name__)


class Intake:
    """The way from Discord to the desk. Its methods are called in the order of the events, and keep it."""

    def __init__(
        self,
        threads: ThreadStore,
        incoming: Incoming,
        desk: Desk,
        *,
        bot: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`bot` is our own id: keys of claims begin with it."""
        self._threads = threads
        self._incoming = incoming
        self._desk = desk
        self._bot = bot
        self._clock = clock
        self._lanes = Lanes()
        self._tasks = Tasks()
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._closed = False
        self.catching_up = CatchingUp(threads, incoming.outlet, bot=bot, clock=clock)

    def message(self, message: discord.Message, me: discord.abc.User, *, blind: bool) -> None:
        """Somebody wrote."""
        heard = self._read(message, me, blind=blind)
        if heard is not None:
            self._begin(heard, lambda: self._claim(heard))

    async def command(self, interaction: discord.Interaction[Any], text: str, *, answers: str | None = None) -> None:
        """Somebody chose a command."""
        await self._interact(interaction, "command", text, answers=answers)

    async def press(self, interaction: discord.Interaction[Any], pressed: Pressed) -> None:
        """Somebody pressed a button, or chose an option."""
        if not pressed.asks:
            await self._interact(interaction, "press", pressed.command)
        elif self._is_new(str(interaction.id)):
            await interaction.response.send_modal(form(pressed, _label(interaction)))

    async def submitted(self, interaction: discord.Interaction[Any]) -> None:
        """Somebody filled in a form; one that is not ours is left alone."""
        command = filled(interaction.data)
        if command is not None:
            await self._interact(interaction, "press" if interaction.message is not None else "command", command)

    async def catch_up(self, me: discord.abc.User, *, blind: bool) -> None:
        """A session has begun: first comes what was left over, then what was missed, then what happens now."""

        def take(message: discord.Message) -> None:
            heard = self._read(message, me, blind=blind)
            if heard is not None:
                self._line_up(heard, lambda: self._claim(heard))

        with suppress(StoreUnavailable):  # of which the operator has been told
            await self.redo()
        await self.catching_up.run(take)

    def put_out(self, channels: Iterable[str]) -> None:
        """We are put out of a server: who goes from its channels is not told any more."""
        for channel in channels:
            left = Left(surface=Surface.DISCORD, place=channel, user_key=None)
            self._lanes.add(channel, lambda left=left: self._left(left))  # type: ignore[misc]

    async def redo(self) -> None:
        """Begin what was claimed but never begun."""
        for claim in await self._threads.unstarted_claims():
            if claim.surface is Surface.DISCORD and claim.key.startswith(f"{self._bot}:"):
                heard = heard_of(claim.payload)
                if self._is_new(heard.id):
                    self._line_up(heard, _ready_already)

    async def close(self) -> None:
        """Let what has begun come to its end, if it takes not too long; the rest is begun at the next start."""
        if self._closed:
            return
        self._closed = True
        self.catching_up.hold()
        await self._lanes.settle(SETTLE_SECONDS)
        await self._tasks.settle(SETTLE_SECONDS)
        self._lanes.cancel()

    async def _interact(
        self, interaction: discord.Interaction[Any], kind: Kind, text: str, *, answers: str | None = None
    ) -> None:
        hidden = text.split(maxsplit=1)[0] in _PRIVATE
        heard = read_interaction(interaction, kind, text, answers=answers, hidden=hidden and kind == "command")
        if heard is None or not self._is_new(heard.id):
            return
        self._incoming.members.note(heard, interaction.permissions)
        deferring = asyncio.ensure_future(defer(interaction, press=kind == "press", hidden=heard.hidden))
        self._begin(heard, self._deferred(heard, deferring))

    def _deferred(self, heard: Heard, deferring: asyncio.Future[Deferred | None]) -> _Ready:
        async def ready() -> Deferred | bool:
            deferred = await deferring
            if deferred is None:
                return False
            try:
                return deferred if await self._claim(heard) else False
            except Exception:
                await self._tell(heard, NOT_DONE, deferred)
                raise

        return ready

    def _read(self, message: discord.Message, me: discord.abc.User, *, blind: bool) -> Heard | None:
        """A message, if it is for us and new."""
        heard = read_message(message, me, blind=blind)
        if heard is None or not self._is_new(heard.id):
            return None
        if heard.kind != "left":
            self._incoming.members.note(heard, rights(message.channel, message.author))
        return heard

    async def _claim(self, heard: Heard) -> bool:
        key, place = self._key(heard), heard.spot.channel
        return await self._threads.claim(Surface.DISCORD, key, heard.payload(), self._clock(), place=place)

    def _begin(self, heard: Heard, ready: _Ready) -> None:
        """Line it up, once we have caught up with its place."""
        self.catching_up.add(heard.spot.channel, lambda: self._line_up(heard, ready))

    def _line_up(self, heard: Heard, ready: _Ready) -> None:
        """Make it ready at once, and do it when its place has time."""
        begun = asyncio.ensure_future(ready())
        self._lanes.add(heard.spot.channel, lambda: self._guarded(heard, begun))

    async def _guarded(self, heard: Heard, begun: asyncio.Future[Deferred | bool]) -> None:
        try:
            made_ready = await begun
            heard = await self._incoming.at_home(heard)
            if made_ready is not False and heard.kind == "left":
                # Who is gone must not stay in, so it is marked as begun only when it is done; twice does no harm.
                await self._desk.left(Left(surface=Surface.DISCORD, place=heard.spot.channel, user_key=heard.user))
            if made_ready is not False and await self._threads.start_claim(Surface.DISCORD, self._key(heard)):
                self._tasks.start(self._do(heard, made_ready if isinstance(made_ready, Deferred) else None))
        except Exception:  # noqa: BLE001 - one event must not end the work on all others of its place
            _log.exception("event failed", surface=Surface.DISCORD.value, kind=heard.kind)

    async def _left(self, left: Left) -> None:
        try:
            await self._desk.left(left)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("event failed", surface=Surface.DISCORD.value, kind="put out")

    async def _do(self, heard: Heard, deferred: Deferred | None) -> None:
        if heard.unreadable:
            await self._tell(heard, UNREADABLE)
        elif heard.kind == "left":
            return
        elif heard.kind == "press":
            await self._desk.press(self._incoming.press(heard, deferred))
        else:
            await self._desk.message(self._incoming.message(heard, deferred))
        if deferred is not None:
            await deferred.leave()

    async def _tell(self, heard: Heard, words: str, deferred: Deferred | None = None) -> None:
        try:
            await answering(self._incoming.outlet, heard, deferred)(Said(text=words))
        except Exception as error:  # noqa: BLE001 - a hint that nobody gets breaks nothing
            _log.warning("hint not shown", surface=Surface.DISCORD.value, why=type(error).__name__)

    def _is_new(self, event: str) -> bool:
        """Whether Discord tells this for the first time, as far as we remember."""
        if event in self._recent:
            return False
        self._recent[event] = None
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        return True

    def _key(self, heard: Heard) -> str:
        return f"{self._bot}:{heard.id}"


async def _ready_already() -> bool:
    return True


def _label(interaction: discord.Interaction[Any]) -> str:
    """What the button says that was pressed."""
    data: Any = interaction.data or {}
    wanted = data.get("custom_id")
    rows = interaction.message.components if interaction.message is not None else []
    buttons = [child for row in rows for child in getattr(row, "children", [])]
    return next((str(b.label) for b in buttons if getattr(b, "custom_id", None) == wanted and b.label), "")
