"""The commands for a bot that you already have.

    bot.turnback = service
    await bot.load_extension("turnback.bots.discord")

or `await bot.add_cog(TimeMachine(bot, service))` adds `/replay`, `/fork`, `/undo` and `/redo`, the entries of a
message's menu, and the buttons under their replies; your next `bot.tree.sync()` registers them. Your agent stays
yours: begin from `await recorded(service, message)` (None: from nothing), and after each answer call
`await record(service, message, state)`. After a restore, `recorded` is the restored state.
docs/examples/discord_bot.py is a whole bot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import discord
from discord.app_commands import Choice
from discord.ext import commands as ext

from turnback.bots.desk import Desk
from turnback.bots.discord.adapter import asking
from turnback.bots.discord.buttons import Pressed, items
from turnback.bots.discord.incoming import Incoming
from turnback.bots.discord.intake import Intake
from turnback.bots.discord.keys import Spot, place_at
from turnback.bots.discord.menu import Asked, commands, menus
from turnback.bots.discord.outlet import DiscordOutlet
from turnback.bots.discord.reading import spot_of
from turnback.bots.dispatch import Dispatch
from turnback.bots.hosting import record_at, recorded_at
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Person
from turnback.bots.presenting import Presenter
from turnback.core.answers import Recorded
from turnback.core.models import State, Surface
from turnback.core.service import Turnback

COMMANDS = ("replay", "fork", "undo", "redo")
EVERYBODY = (f"{Surface.DISCORD.value}:*",)

_Bot = ext.Bot | ext.AutoShardedBot


class TimeMachine(ext.Cog):
    """Our part in somebody else's bot: it answers our commands and buttons, and reads no messages."""

    def __init__(
        self,
        bot: _Bot,
        service: Turnback,
        *,
        words: Sequence[str] = COMMANDS,
        allow: Sequence[str] = EVERYBODY,
        admins: Sequence[str] = (),
    ) -> None:
        """`words` are the commands to add; `allow` and `admins` are as in the settings, `access`."""
        self._bot = bot
        self._service = service
        people = PlatformPeople(service, admins=lambda: admins, allow=lambda: allow)
        self._desk = Desk(service, Dispatch(service), people=people, presenter=Presenter(service))
        self._outlet = DiscordOutlet()
        self._outlet.lend(bot)
        self._incoming = Incoming(self._outlet, lambda: bot.user.name if bot.user is not None else "")
        self._intake: Intake | None = None
        asked = Asked(command=self._command, offer=self._offer)
        self._added = [*commands(asked, words), *menus(asked, words)]
        self._items = items(self._press)

    async def cog_load(self) -> None:
        """Add the commands."""
        for command in self._added:
            self._bot.tree.add_command(command)
        self._bot.add_dynamic_items(*self._items)

    async def cog_unload(self) -> None:
        """Take them away, and let what has begun come to its end."""
        for command in self._added:
            self._bot.tree.remove_command(command.name, type=_type_of(command))
        self._bot.remove_dynamic_items(*self._items)
        if self._intake is not None:
            await self._intake.close()

    @ext.Cog.listener()
    async def on_ready(self) -> None:
        """Begin what was left over from before a restart."""
        await self._taking().redo()

    @ext.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        """Our forms come here."""
        if interaction.type is discord.InteractionType.modal_submit:
            await self._taking().submitted(interaction)

    async def _command(self, interaction: discord.Interaction[Any], text: str, answers: str | None) -> None:
        await self._taking().command(interaction, text, answers=answers)

    async def _press(self, interaction: discord.Interaction[Any], pressed: Pressed) -> None:
        await self._taking().press(interaction, pressed)

    async def _offer(self, interaction: discord.Interaction[Any], typed: str) -> Sequence[Choice[str]]:
        return await asking(self._taking(), self._incoming, self._desk).offer(interaction, typed)

    def _taking(self) -> Intake:
        if self._intake is None:
            assert self._bot.user is not None
            self._intake = Intake(self._service.threads, self._incoming, self._desk, bot=str(self._bot.user.id))
        return self._intake


async def setup(bot: _Bot) -> None:
    """For `load_extension`: the service is the bot's attribute `turnback`."""
    service = getattr(bot, "turnback", None)
    if not isinstance(service, Turnback):
        raise ext.ExtensionFailed("turnback.bots.discord", TypeError("set bot.turnback to what open_service opens"))
    await bot.add_cog(TimeMachine(bot, service))


async def record(
    service: Turnback,
    message: discord.Message,
    state: State,
    *,
    step: int = 0,
    model: str | None = None,
    answer: discord.Message | None = None,
) -> Recorded:
    """Save the state that your agent is in after its answer to `message`, as a step that can be gone back to.

    `state` is a JSON object; its `messages` are what people can read. `step` counts the steps of one turn from
    0, the first of which begins the turn. `answer` is the message that you answered with: people can then choose
    "Rewind to here" in its menu.
    """
    spot = _spot(message)
    scopes = (f"{Surface.DISCORD.value}:guild:{spot.guild}",) if spot.guild else ()
    person = Person(
        surface=Surface.DISCORD, user_key=str(message.author.id), name=message.author.display_name, scopes=scopes
    )
    shown = str(answer.id) if answer is not None else None
    return await record_at(
        service, place_at(spot), person, message.content, state, step=step, model=model, answer=shown
    )


async def recorded(service: Turnback, message: discord.Message) -> State | None:
    """The state that the conversation of `message` stands at: what was recorded last, or gone back to since."""
    return await recorded_at(service, place_at(_spot(message)))


def _spot(message: discord.Message) -> Spot:
    return spot_of(message.channel, message.guild)


def _type_of(command: object) -> discord.AppCommandType:
    if isinstance(command, discord.app_commands.ContextMenu):
        return command.type
    return discord.AppCommandType.chat_input
