"""The Slack scenarios once more, against another simulated workspace: a second opinion on the rules."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from contract.scenarios import slack as own
from contract.scenarios.driver import Driver, Feature, Setup
from contract.scenarios.nets import Seen, Spot
from contract.scenarios.shared import SharedClock, SharedNet, module
from platforms.slack import blocks as kit
from platforms.slack.wire import decode
from support.slack_bot import HASTY, PING_SECONDS, manifest

from turnback.bots.slack.pacing import Pacer

FEATURES = own.FEATURES - {Feature.MAILBOX, Feature.LEAVING}
"""It keeps nothing for a bot that is away for longer than a few seconds: whoever writes then is told that it
failed. Nor does it tell who leaves a channel.
"""


def slack(folder: Path, setup: Setup) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return own.slack(folder, setup, SharedSlack.open)


@dataclass(frozen=True)
class SharedSeen:
    """A message in that workspace."""

    native: Any

    @property
    def id(self) -> str:
        return str(self.native.ts)

    @property
    def deleted(self) -> bool:
        return bool(self.native.deleted)

    @property
    def hidden(self) -> bool:
        return bool(self.native.ephemeral)

    @property
    def text(self) -> str:
        if self.native.file is not None:
            return str(self.native.file.decode())
        if not self.native.blocks:
            return str(self.native.shown)
        names = self.native.channel.sim.names
        pieces = kit.texts(self.native.blocks)
        return "\n".join(p["text"] if p["type"] == "plain_text" else decode(p["text"], names) for p in pieces)

    @property
    def buttons(self) -> Sequence[str]:
        return [*(each["text"]["text"] for each in self.pressable()), *(o["text"]["text"] for _, o in self.options())]

    @property
    def links(self) -> Sequence[str]:
        return [each["url"] for each in self.pressable() if each.get("url")]

    @property
    def answers(self) -> str | None:
        return None

    def pressable(self) -> list[Any]:
        return [each for each in self.native.elements if each["type"] == "button"]

    def options(self) -> list[tuple[Any, Any]]:
        """Each choice behind its menu."""
        return [(menu, option) for menu in self.native.elements for option in menu.get("options") or []]


class SharedSlack(SharedNet, own.SlackNet):
    """That workspace as a `Net`, with the app as our manifest declares it."""

    features = FEATURES

    def __init__(self, sim: Any) -> None:
        super().__init__()
        self.sim, self.clock = sim, SharedClock(sim.clock)

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        declared = manifest()
        scopes = set(declared["oauth_config"]["scopes"]["bot"])
        events = set(declared["settings"]["event_subscriptions"]["bot_events"])
        async with module("sim_slack").SlackSim(scopes=scopes, events=events) as sim:
            for each in declared["features"]["slash_commands"]:
                sim.register_command(each["command"], each["should_escape"])
            yield cls(sim)

    @property
    def token(self) -> str:
        return str(self.sim.bot_token)

    @property
    def options(self) -> Mapping[str, Any]:
        return {
            "app_token": self.sim.app_token,
            "api_base_url": self.sim.base_url,
            "pacer": Pacer(HASTY),
            "ping_seconds": PING_SECONDS,
        }

    def user(self, name: str) -> Any:
        return self.sim.user(name)

    def private(self, user: Any) -> Spot:
        return Spot(chat=user.dm, group=False)

    def channel(self, name: str, people: Sequence[Any]) -> Any:
        """It does not say who made a channel, which Slack does."""
        channel = self.sim.channel(name, list(people))
        whole = channel.json
        channel.json = lambda: whole() | {"creator": people[0].id}
        return channel

    def roots(self, channel: Any) -> Sequence[Any]:
        return [message for message in channel.bot_messages if message.thread_ts is None and not message.deleted]

    @property
    def mention(self) -> str:
        return f"@{self.sim.bot_name}"

    async def run(self, user: Any, channel: Any, text: str) -> bool:
        """Its client takes any white space for the end of the command's name."""
        found = re.match(r"/\w+", text)
        if found is None or found[0] not in self.sim.commands:
            return False
        await user.command(f"{found[0]} {text[found.end() :].removeprefix(' ')}", channel)
        return True

    async def write(self, user: Any, spot: Spot, text: str, reply_to: Any = None) -> Any:
        assert reply_to is None
        return await user.say(text, spot.chat, thread=spot.topic)

    async def edit(self, user: Any, message: Any, text: str) -> None:
        await user.edit(message, text)

    async def press(self, user: Any, shown: SharedSeen, label: str) -> Any:
        for button in shown.pressable():
            if label in button["text"]["text"]:
                return await user.click(button)
        menu, option = next(found for found in shown.options() if label in found[1]["text"]["text"])
        return await user.click(menu, value=option["value"])

    async def fill_in(self, user: Any, asked: Any, word: str) -> None:
        (view,) = await self.until(lambda: user.views, lambda: "a form")
        await user.submit({view["blocks"][0]["element"]["action_id"]: word})

    async def redeliver(self, user: Any) -> None:
        def is_theirs(delivery: Any) -> bool:
            event = delivery.payload.get("event") or {}
            return bool(delivery.kind == "events_api" and event.get("user") == user.id)

        last: Any = next(delivery for delivery in reversed(self.sim.deliveries) if is_theirs(delivery))
        await self.sim.deliver(last.kind, last.payload, last.user, last.channel)

    def said(self, user: Any, spot: Spot) -> Sequence[Seen]:
        root = spot.topic and (spot.topic.thread_ts or spot.topic.ts)
        there = [m for m in spot.chat.bot_messages if root is None or m.thread_ts == root]
        return [SharedSeen(m) for m in there if not m.deleted and m.visible_to in (None, user)]

    async def taken(self) -> None:
        await self.until(
            lambda: all(each.ok or each.error for each in self.sim.deliveries), lambda: "everything is acknowledged"
        )
