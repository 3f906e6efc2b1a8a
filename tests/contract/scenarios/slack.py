"""Slack as a driver: the adapter with its real library over real HTTP and WebSocket, against a simulated workspace.

A group is a thread of a channel, as people use Slack; somebody else has begun it. Where slash commands cannot be
typed, in threads, people type `!replay`. Which workspace is a `Net`: the project's own here, another one in
`shared_slack`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup
from contract.scenarios.nets import QUIET_SECONDS, Net, Seen, Spot, beginning
from platforms.slack.channels import Channel, Message
from platforms.slack.deliveries import Delivery
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import defaults, server

from turnback.bots.platform import Adapter
from turnback.bots.slack import SlackAdapter
from turnback.cli.compose import Composed

T = TypeVar("T")

FEATURES = frozenset(Feature) - {Feature.REPLIES, Feature.NAMES, Feature.SINGLE}
"""Slack's messages answer none (its shortcuts do that), its commands belong to one app, and threads are everywhere."""


class SlackNet(Net):
    """How people speak on Slack. A spot's `topic` is the message that its thread begins with."""

    surface = "slack"
    features = FEATURES

    def __init__(self) -> None:
        self._opener: Any = None

    def adapter(self, composed: Composed) -> Adapter:
        threads, clock = composed.service.threads, composed.clock
        return SlackAdapter(self.token, threads, **{**self.options, "clock": clock})

    @property
    @abstractmethod
    def token(self) -> str: ...

    @property
    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """How an adapter reaches it."""
        ...

    async def group(self, title: str, people: Sequence[Any], *, topics: bool) -> Spot:
        del topics  # threads are everywhere
        if self._opener is None:
            self._opener = self.user("Opener")
        channel = self.channel(title.lower(), [*people, self._opener])
        return await self._thread(channel, title)

    async def topic(self, user: Any, spot: Spot, title: str) -> Spot:
        return await self._thread(spot.chat, title)

    def find_topic(self, spot: Spot, title: str) -> Spot | None:
        roots = [root for root in self.roots(spot.chat) if title in root.text]
        return Spot(chat=spot.chat, topic=roots[-1]) if roots else None

    async def command(self, user: Any, spot: Spot, text: str) -> None:
        if spot.topic is not None:
            await self.write(user, spot, text.replace("/", "!", 1))
        elif self.away:
            await self.write(user, spot, f" {text}")  # as a message, which waits: nobody is there to take a command
        elif not await self.run(user, spot.chat, text):
            await self.write(user, spot, text)

    @abstractmethod
    def channel(self, name: str, people: Sequence[Any]) -> Any:
        """A new channel, which the first of them made."""
        ...

    @abstractmethod
    def roots(self, channel: Any) -> Sequence[Any]:
        """The messages of the bot that begin threads."""
        ...

    @abstractmethod
    async def run(self, user: Any, channel: Any, text: str) -> bool:
        """Type a slash command; whether it is one."""
        ...

    async def _thread(self, channel: Any, title: str) -> Spot:
        spot = Spot(chat=channel)
        return Spot(chat=channel, topic=await self.write(self._opener, spot, title))


@dataclass(frozen=True)
class OwnSeen:
    """A message in the project's own workspace."""

    native: Message

    @property
    def id(self) -> str:
        return self.native.ts

    @property
    def deleted(self) -> bool:
        return self.native.deleted

    @property
    def hidden(self) -> bool:
        return self.native.ephemeral

    @property
    def text(self) -> str:
        data = self.native.data
        return data.decode() if data is not None else self.native.text

    @property
    def buttons(self) -> Sequence[str]:
        options = [option["text"]["text"] for menu in self.native.selects for option in menu["options"]]
        return [*(button.text for button in self.native.buttons), *options]

    @property
    def links(self) -> Sequence[str]:
        return [button.url for button in self.native.buttons if button.url]

    @property
    def answers(self) -> str | None:
        return None


class OwnNet(SlackNet):
    """The project's own simulated workspace."""

    def __init__(self, slack: SlackServer) -> None:
        super().__init__()
        self.slack, self.clock = slack, slack.clock

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        async with server() as running:
            yield cls(running)

    @property
    def token(self) -> str:
        return self.slack.bot_token

    @property
    def options(self) -> Mapping[str, Any]:
        return defaults(self.slack)

    def user(self, name: str) -> User:
        return self.slack.user(name)

    def private(self, user: User) -> Spot:
        return Spot(chat=user.private, group=False)

    def channel(self, name: str, people: Sequence[User]) -> Channel:
        return self.slack.channel(name, people)

    def roots(self, channel: Channel) -> Sequence[Message]:
        return [message for message in channel.said() if message.thread_ts is None]

    @property
    def mention(self) -> str:
        return f"@{self.slack.app.manifest.username}"

    async def run(self, user: User, channel: Channel, text: str) -> bool:
        if text.split(" ", maxsplit=1)[0] not in self.slack.app.manifest.commands:
            return False
        await user.command(text, channel)
        return True

    async def write(self, user: User, spot: Spot, text: str, reply_to: Any = None) -> Message:
        assert reply_to is None
        return await user.say(text, spot.chat, thread=spot.topic)

    async def edit(self, user: User, message: Message, text: str) -> None:
        await user.edit(message, text)

    async def press(self, user: User, shown: OwnSeen, label: str) -> Any:
        if any(label in button.text for button in shown.native.buttons):
            return await user.press(shown.native.button(label))
        return await user.select(label, shown.native)

    async def fill_in(self, user: User, asked: Any, word: str) -> None:
        view = await user.modal()
        await user.submit({view["blocks"][0]["element"]["action_id"]: word})

    async def leave(self, user: User, spot: Spot) -> None:
        await user.leave(spot.chat)

    async def join(self, user: User, spot: Spot) -> None:
        await user.join(spot.chat)

    async def redeliver(self, user: User) -> None:
        def is_theirs(delivery: Delivery) -> bool:
            event = delivery.payload.get("event") or {}
            return delivery.kind == "events_api" and event.get("user") == user.id

        self.slack.redeliver(next(d for d in reversed(self.slack.deliveries.history) if is_theirs(d)))

    def said(self, user: User, spot: Spot) -> Sequence[Seen]:
        return [OwnSeen(message) for message in spot.chat.said(spot.topic) if message.only_for in (None, user.id)]

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        return await self.slack.signal.until(look, what, WAIT_SECONDS)

    async def quiet(self) -> None:
        await self.slack.signal.settled(QUIET_SECONDS)

    async def taken(self) -> None:
        await self.slack.deliveries.settled(WAIT_SECONDS)

    def complaints(self) -> Sequence[str]:
        return self.slack.violations


def slack(
    folder: Path, setup: Setup, net: Callable[[], AbstractAsyncContextManager[Net]] = OwnNet.open
) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return beginning(folder, setup, net())
