"""The adapter: connects to Discord, takes in what its gateway tells, and lends out its outlet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import discord
import structlog
from discord import app_commands
from discord.app_commands import Choice

from turnback.bots.desk import Desk
from turnback.bots.discord.buttons import items
from turnback.bots.discord.incoming import Incoming
from turnback.bots.discord.intake import Intake
from turnback.bots.discord.menu import CHOICE, CHOICES, Asked, commands, menus
from turnback.bots.discord.outlet import NOBODY, DiscordOutlet
from turnback.bots.discord.pacing import Pacer
from turnback.bots.discord.reading import read_interaction
from turnback.bots.discord.registering import register
from turnback.bots.discord.trouble import NETWORK, TOKEN_REFUSED, unreachable
from turnback.bots.platform import Down
from turnback.bots.presenting import Presenter
from turnback.bots.words import printable
from turnback.core.models import Surface
from turnback.core.threads.store import ThreadStore

PATIENCE_SECONDS = 30.0
"""How long the gateway may be away before the operator is told; the library tries to come back by itself."""

GUILDS_SECONDS = 0.5
"""How long the next guild may be on its way before we begin without waiting for more."""

_REFUSED_CODE, _INTENTS_CODE = 4004, 4014
_INTENTS = "Discord refuses an intent that the bot asks for: allow Message Content in its developer portal (Bot)."
_BLIND = "the Message Content intent is off: replies that do not ping the bot cannot be read"

discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody misses voice in a bot that writes

_log = structlog.get_logger(__name__)


class TurnbackClient(discord.Client):
    """The library's client, which hands all that happens to the intake."""

    def __init__(self, *, proxy: str | None = None, on_ready: Callable[[], None] = lambda: None) -> None:
        self.wanted = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
        super().__init__(
            intents=self.wanted,
            allowed_mentions=NOBODY,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            guild_ready_timeout=GUILDS_SECONDS,
            proxy=proxy,
        )
        self.tree = app_commands.CommandTree(self)
        self.intake: Intake | None = None
        self.away = asyncio.Event()
        self._on_ready = on_ready

    async def setup_hook(self) -> None:
        """Ask to read what people write to each other only where the developer portal allows it."""
        flags = self.application.flags if self.application is not None else None
        self.wanted.message_content = flags is not None and bool(
            flags.gateway_message_content or flags.gateway_message_content_limited
        )
        if not self.wanted.message_content:
            _log.warning(_BLIND, surface=Surface.DISCORD.value)

    async def on_connect(self) -> None:
        """A new session, which tells nothing of what happened before it."""
        if self.intake is not None:
            self.intake.catching_up.hold()

    async def on_ready(self) -> None:
        """The session is complete."""
        self.away.clear()
        self._on_ready()
        if self.intake is not None and self.user is not None:
            await self.intake.catch_up(self.user, blind=not self.wanted.message_content)

    async def on_resumed(self) -> None:
        """The old session goes on; what was missed is told."""
        self.away.clear()

    async def on_disconnect(self) -> None:
        """The gateway is away."""
        self.away.set()

    async def on_message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        if self.intake is not None and self.user is not None:
            self.intake.message(message, self.user, blind=not self.wanted.message_content)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """We are put out of a server."""
        if self.intake is not None:
            self.intake.put_out([str(channel.id) for channel in (*guild.channels, *guild.threads)])

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        """Forms come here; commands and buttons find their way by themselves."""
        if self.intake is not None and interaction.type is discord.InteractionType.modal_submit:
            await self.intake.submitted(interaction)


class DiscordAdapter:
    """See `platform.Adapter`. `allow` are the entries of access.allow: the servers among them are looked up."""

    name = Surface.DISCORD.value

    def __init__(
        self,
        token: str,
        threads: ThreadStore,
        *,
        proxy: str | None = None,
        allow: Callable[[], Sequence[str]] = tuple,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        pacer: Pacer | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.outlet = DiscordOutlet(pacer)
        self._token = token
        self._threads = threads
        self._proxy = proxy
        self._clock = clock
        self._patience = patience
        self._intake: Intake | None = None
        self._incoming = Incoming(self.outlet, self._our_name, allow)
        self._registered = False

    async def run(self, desk: Desk, presenter: Presenter) -> None:
        """Work until cancelled. Raises `Down` when Discord cannot be worked with for the time being."""
        client = TurnbackClient(proxy=self._proxy, on_ready=lambda: presenter.add(self.outlet))
        try:
            async with client:
                await client.login(self._token)
                intake = self._intake = self._intake or self._make_intake(client, desk)
                self._equip(client, intake, desk)
                await self._work(client, intake, presenter)
        except asyncio.CancelledError:
            if self._intake is not None:
                await self._intake.close()
            raise
        except Exception as error:  # noqa: BLE001 - the library lets through whatever ends a connection
            raise down(error) from None  # its words may hold the token
        raise unreachable(ConnectionError())

    async def _work(self, client: TurnbackClient, intake: Intake, presenter: Presenter) -> None:
        """Work until the connection is gone. The outlet is taken back before the client is closed."""
        self.outlet.lend(client)
        beginning = asyncio.create_task(self._begin(client))
        try:
            await self._connected(client)
        except asyncio.CancelledError:
            await intake.close()
            raise
        finally:
            presenter.remove(self.outlet)
            self.outlet.lend(None)
            beginning.cancel()

    def _make_intake(self, client: discord.Client, desk: Desk) -> Intake:
        """One for all runs: what it has begun goes on while Discord is away."""
        assert client.user is not None
        _log.info("connected", surface=self.name, bot=client.user.name)
        return Intake(self._threads, self._incoming, desk, bot=str(client.user.id), clock=self._clock)

    def _equip(self, client: TurnbackClient, intake: Intake, desk: Desk) -> None:
        client.intake = intake
        client.add_dynamic_items(*items(intake.press))
        asked = asking(intake, self._incoming, desk)
        for command in (*commands(asked), *menus(asked)):
            client.tree.add_command(command)

    async def _begin(self, client: TurnbackClient) -> None:
        """Once connected: see to the commands, once."""
        await client.wait_until_ready()
        if not self._registered:
            try:
                written = await register(client, client.tree)
                self._registered = True
                _log.info("commands are known", surface=self.name, written=written)
            except (discord.HTTPException, *NETWORK) as error:
                _log.warning("commands not registered", surface=self.name, why=type(error).__name__)

    async def _connected(self, client: TurnbackClient) -> None:
        """Listen until the connection is gone for good, or for longer than it may."""
        listening = asyncio.create_task(client.connect())
        watching = asyncio.create_task(self._watch(client))
        try:
            await asyncio.wait({listening, watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in (listening, watching):
                if task.done():
                    task.result()
        finally:
            for task in (listening, watching):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _watch(self, client: TurnbackClient) -> None:
        while True:
            await client.away.wait()
            left = asyncio.get_running_loop().time() + self._patience
            while client.away.is_set():
                if asyncio.get_running_loop().time() > left:
                    raise unreachable(ConnectionError())
                await asyncio.sleep(min(1.0, self._patience / 4))

    def _our_name(self) -> str:
        user = self.outlet.client.user
        return user.name if user is not None else ""


def asking(intake: Intake, incoming: Incoming, desk: Desk) -> Asked:
    """What is done about commands."""

    async def command(interaction: discord.Interaction[Any], text: str, answers: str | None) -> None:
        await intake.command(interaction, text, answers=answers)

    async def offer(interaction: discord.Interaction[Any], typed: str) -> Sequence[Choice[str]]:
        heard = read_interaction(interaction, "command", typed)
        if heard is None:
            return ()
        incoming.members.note(heard, interaction.permissions)
        heard = await incoming.at_home(replace(heard, id="0"))
        options = await desk.offer_steps(incoming.message(heard, None), typed, CHOICES)
        return [Choice(name=printable(option.label, CHOICE), value=option.command) for option in options]

    return Asked(command=command, offer=offer)


def down(error: Exception) -> Down:
    """What the operator has to know of it, without the library's words."""
    if isinstance(error, Down):
        return error
    if isinstance(error, discord.LoginFailure) or _code(error) == _REFUSED_CODE:
        return Down(TOKEN_REFUSED)
    if isinstance(error, discord.HTTPException) and error.status == 401:
        return Down(TOKEN_REFUSED)
    if isinstance(error, discord.PrivilegedIntentsRequired) or _code(error) == _INTENTS_CODE:
        return Down(_INTENTS)
    if not isinstance(error, discord.DiscordException | aiohttp.ClientError | OSError):
        _log.error("connection ended", surface=Surface.DISCORD.value, why=type(error).__name__)
    return unreachable(error)


async def probe(token: str, proxy: str | None = None) -> str:
    """The bot's name, for `turnback check`. Raises `Down`."""
    client = discord.Client(intents=discord.Intents(guilds=True), proxy=proxy)
    try:
        async with client:
            await client.login(token)
            return str(client.user)
    except (discord.DiscordException, *NETWORK) as error:
        raise down(error) from None


def _code(error: Exception) -> int | None:
    return error.code if isinstance(error, discord.ConnectionClosed) else None
