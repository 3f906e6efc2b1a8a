"""The Discord scenarios once more, against another simulated server: a second opinion on the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from contract.scenarios import discord as own
from contract.scenarios.driver import Driver, Setup
from contract.scenarios.nets import Seen, Spot
from contract.scenarios.shared import SharedClock, SharedNet, module
from platforms.core import ClientRefused
from platforms.discord.picking import read_options
from platforms.discord.server import pointing_at

FEATURES = own.FEATURES

_BUTTON, _SELECT, _INPUT, _THREAD = 2, 3, 4, 11
_GUILDS = 1
_READS_MESSAGES = 1 << 18
"""An application's flag: its portal allows the Message Content intent."""
_HEARTBEAT = 1


def discord(folder: Path, setup: Setup) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return own.discord(folder, setup, SharedDiscord.open)


@dataclass(frozen=True)
class SharedSeen:
    """A message of that server."""

    native: Any

    @property
    def id(self) -> str:
        return str(self.native.id)

    @property
    def deleted(self) -> bool:
        return bool(self.native.deleted)

    @property
    def hidden(self) -> bool:
        return bool(self.native.ephemeral)

    @property
    def text(self) -> str:
        for data in self.native.files.values():
            return str(data.decode())
        return own.read(self.native.text)

    @property
    def buttons(self) -> Sequence[str]:
        options = [option["label"] for _, option in self.options()]
        return [button["label"] for button in self.pressable()] + options

    @property
    def links(self) -> Sequence[str]:
        return [url for url in self._urls() if not own.STANDS.match(url)]

    @property
    def answers(self) -> str | None:
        if replied := self.native.raw.get("referenced_message"):
            return own.read(replied["content"])
        found = next((found for url in self._urls() if (found := own.STANDS.match(url))), None)
        return own.read(self.native.channel.messages[found[2]].text) if found else None

    def pressable(self) -> list[Any]:
        return [each for each in self.native.components if each["type"] == _BUTTON]

    def options(self) -> list[tuple[Any, Any]]:
        """Each choice behind its menu."""
        menus = [each for each in self.native.components if each["type"] == _SELECT]
        return [(menu, option) for menu in menus for option in menu["options"]]

    def _urls(self) -> list[str]:
        return [button["url"] for button in self.pressable() if button.get("url")]


class SharedDiscord(SharedNet, own.DiscordNet):
    """That server as a `Net`.

    It hands out no news of a world that changes while the bot is there, and says of what goes in a direct chat that
    its guild is null, where Discord says nothing of one: the library cannot read that. Both are seen to here.
    """

    features = FEATURES

    def __init__(self, sim: Any) -> None:
        self.sim, self.clock = sim, SharedClock(sim.clock)
        self.token, self.bot_name = sim.token, sim.bot.name
        self._dispatch = sim.dispatch
        sim.dispatch = self._tell

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """A server whose portal lets the bot read what people say."""
        async with module("sim_discord").DiscordSim(tls=False) as sim:
            application = sim.rest.app

            async def reading(*request: Any) -> Any:
                return await application(*request) | {"flags": _READS_MESSAGES}

            sim.rest.app = reading
            with pointing_at(sim.base):
                yield cls(sim)

    def user(self, name: str) -> Any:
        return self.sim.user(name)

    def private(self, user: Any) -> Spot:
        return Spot(chat=user.dm, group=False)

    async def group(self, title: str, people: Sequence[Any], *, topics: bool) -> Spot:
        """The last member owns a guild there; that everybody may do everything in it is taken back."""
        del topics  # every channel has room for threads
        world = module("discord_world")
        plain = world.ALL & ~(1 << world.PERMS["MANAGE_MESSAGES"])
        for user in people[1:]:
            user.permissions = plain
        guild = self.sim.guild(title, list(reversed(people)))
        whole = guild.json

        def strict() -> Any:
            body = whole()
            body["roles"][0]["permissions"] = str(plain)
            return body

        guild.json = strict
        channel = guild.channel("general")
        await self.sim.dispatch("GUILD_CREATE", guild.json(), _GUILDS)
        return Spot(chat=channel)

    async def topic(self, user: Any, spot: Spot, title: str) -> Spot:
        guild = spot.chat.guild
        thread = module("discord_world").Channel(self.sim, guild, _THREAD, title, spot.chat)
        guild.channels.append(thread)
        await self.sim.dispatch("THREAD_CREATE", thread.json(), _GUILDS)
        return Spot(chat=thread)

    @property
    def mention(self) -> str:
        return f"<@{self.sim.bot.id}>"

    async def registered(self) -> None:
        look = lambda: any(command["name"] == own.LAST_COMMAND for command in self.sim.commands)  # noqa: E731
        await self.until(look, lambda: "our commands")

    async def pick(self, user: Any, channel: Any, text: str) -> bool:
        """That client wants the names of the options."""
        words, specs = text.removeprefix("/").split(" "), self.sim.commands_for(channel)
        picked = list[str]()
        while words and (spec := next((spec for spec in specs if spec["name"] == words[0]), None)):
            picked.append(words.pop(0))
            specs = spec.get("options") or []
            if not specs or specs[0]["type"] not in (1, 2):
                break
        refused = module("core").ClientRefused, ClientRefused
        try:
            await user.command(f"/{' '.join(picked)}", channel, **read_options(specs, " ".join(words)))
        except refused:
            return False
        return True

    async def write(self, user: Any, spot: Spot, text: str, reply_to: SharedSeen | None = None) -> Any:
        return await user.say(text, spot.chat, reply_to=reply_to.native if reply_to else None)

    async def edit(self, user: Any, message: Any, text: str) -> None:
        await user.edit(message, text)

    async def press(self, user: Any, shown: SharedSeen, label: str) -> Any:
        for button in shown.pressable():
            if label in button["label"]:
                return await user.click(button)
        menu, option = next(found for found in shown.options() if label in found[1]["label"])
        return await user.select(shown.native, menu["custom_id"], [option["value"]])

    async def fill_in(self, user: Any, asked: Any, word: str) -> None:
        form = await self.until(lambda: asked.modal, lambda: "a form")
        inputs = [each for each, _ in module("discord_rules").walk(form["components"], []) if each["type"] == _INPUT]
        await user.submit(asked, {inputs[0]["custom_id"]: word})

    async def redeliver(self, user: Any) -> None:
        if self.away:
            return  # nothing is told again to a session that begins later
        for session in list(self.sim.sessions.values()):  # none while the bot is away
            packet = next(packet for packet in reversed(session["buffer"]) if _is_theirs(packet))
            await self.sim.dispatch(packet["t"], packet["d"])

    def said(self, user: Any, spot: Spot) -> Sequence[Seen]:
        mine = [m for m in spot.chat.bot_messages if not m.deleted and m.visible_to in (None, user)]
        return [SharedSeen(message) for message in mine]

    async def taken(self) -> None:
        """Ask for a heartbeat, which the bot answers after all that it was told before."""
        for link in list(self.sim.links):
            beats = link["beats"]
            await self.sim.send(link, {"op": _HEARTBEAT, "d": None, "s": None, "t": None})
            answered = lambda link=link, beats=beats: link["beats"] > beats or link not in self.sim.links  # noqa: E731
            await self.until(answered, lambda: "a heartbeat")

    async def _tell(self, event: str, data: Any, intents: int = 0) -> None:
        if event == "MESSAGE_DELETE":
            data = {name: value for name, value in data.items() if value is not None}
        await self._dispatch(event, data, intents)


def _is_theirs(packet: Any) -> bool:
    """Whether a person did it."""
    written = packet["t"] == "MESSAGE_CREATE" and not packet["d"]["author"]["bot"]
    return written or packet["t"] == "INTERACTION_CREATE"
