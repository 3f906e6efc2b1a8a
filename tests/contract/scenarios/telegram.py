"""Telegram as a driver: the adapter with its real library over real HTTP, against a simulated Bot API server.

Which server is a `Net`: the project's own here, another one in `shared_telegram`. No pressed button may be left
without an answer either.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup, Shown, Wanted
from contract.scenarios.nets import QUIET_SECONDS, Net, PersonDriver, Seen, Spot, beginning
from platforms.telegram.chats import Message
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import HASTY

from turnback.bots.platform import Adapter
from turnback.bots.telegram import TelegramAdapter
from turnback.bots.telegram.pacing import Pacer
from turnback.cli.compose import Composed

T = TypeVar("T")

FEATURES = frozenset(Feature)


class TelegramNet(Net):
    """How people speak on Telegram."""

    surface = "telegram"
    features = FEATURES
    token: str
    base_url: str

    def adapter(self, composed: Composed) -> Adapter:
        threads, clock = composed.service.threads, composed.clock
        return TelegramAdapter(self.token, threads, api_base_url=self.base_url, pacer=Pacer(HASTY), clock=clock)

    def private(self, user: Any) -> Spot:
        return Spot(chat=user.private, group=False)

    @property
    def mention(self) -> str:
        return f"@{self.bot_name}"

    @abstractmethod
    def hear_edits(self) -> None:
        """Tell the bot of edited messages, whether it asks for them or not."""
        ...

    async def topic(self, user: Any, spot: Spot, title: str) -> Spot:
        return Spot(chat=spot.chat, topic=spot.chat.topic(title))

    async def write(self, user: Any, spot: Spot, text: str, reply_to: Any = None) -> Any:
        replied = reply_to.native if reply_to else None
        return await user.say(text, spot.chat, topic=spot.topic, reply_to=replied)

    async def edit(self, user: Any, message: Any, text: str) -> None:
        self.hear_edits()
        await user.edit(message, text)

    async def finished(self) -> None:
        await self.until(lambda: not self.unanswered(), lambda: f"an answer to {self.unanswered()}")

    @abstractmethod
    def unanswered(self) -> Sequence[Any]:
        """Presses that still wait."""
        ...


class TelegramDriver(PersonDriver):
    """One person at one place on Telegram."""

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        await super().press(label, message)
        if word is not None:
            await self.reply(await self.seen("answer this message"), word)

    async def seen_privately(self, wanted: Wanted) -> Shown:
        if not self._spot.group:
            return await self.seen(wanted)
        door = await self.seen(lambda shown: any("?start=" in link for link in shown.links))
        start = parse_qs(urlsplit(door.links[0]).query)["start"][0]
        private = self._world.person(self._user.name)
        await private.command(f"/start {start}")
        return await private.seen(wanted)


@dataclass(frozen=True)
class OwnSeen:
    """A message of the project's own server."""

    native: Message

    @property
    def id(self) -> int:
        return self.native.id

    @property
    def deleted(self) -> bool:
        return self.native.deleted

    @property
    def hidden(self) -> bool:
        return False

    @property
    def text(self) -> str:
        data = self.native.data
        return data.decode() if data is not None else self.native.text

    @property
    def buttons(self) -> Sequence[str]:
        return [button.text for button in self.native.buttons]

    @property
    def links(self) -> Sequence[str]:
        return [button.url for button in self.native.buttons if button.url]

    @property
    def answers(self) -> str | None:
        return self.native.reply_to.text if self.native.reply_to else None


class OwnNet(TelegramNet):
    """The project's own simulated server."""

    def __init__(self, server: TelegramServer) -> None:
        self.server, self.clock = server, server.clock
        self.bot_name, self.token, self.base_url = server.bot.username, server.token, server.base_url

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """A server whose bot hears everything in groups."""
        async with TelegramServer(flood="off") as server:
            server.bot.privacy = False
            yield cls(server)

    def user(self, name: str) -> User:
        return self.server.user(name)

    async def group(self, title: str, people: Sequence[User], *, topics: bool) -> Spot:
        chat = self.server.supergroup(title, people, forum=topics)
        return Spot(chat=chat.make_bot_admin() if topics else chat)

    def find_topic(self, spot: Spot, title: str) -> Spot | None:
        topics = spot.chat.topics.values()
        return next((Spot(chat=spot.chat, topic=topic) for topic in topics if title in topic.name), None)

    async def press(self, user: User, shown: OwnSeen, label: str) -> None:
        await user.press(shown.native.button(label))

    async def leave(self, user: User, spot: Spot) -> None:
        await user.leave(spot.chat)

    async def join(self, user: User, spot: Spot) -> None:
        await user.join(spot.chat)

    def hear_edits(self) -> None:
        self.server.updates.allowed = frozenset({"message", "edited_message", "callback_query"})

    async def redeliver(self, user: User) -> None:
        self.server.redeliver()

    def said(self, user: User, spot: Spot) -> Sequence[Seen]:
        return [OwnSeen(message) for message in spot.chat.said(spot.topic)]

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        return await self.server.signal.until(look, what, WAIT_SECONDS)

    async def quiet(self) -> None:
        await self.server.signal.settled(QUIET_SECONDS)

    async def taken(self) -> None:
        await self.server.updates.taken(WAIT_SECONDS)

    def complaints(self) -> Sequence[str]:
        return self.server.violations

    def unanswered(self) -> Sequence[Any]:
        return self.server.unanswered


def telegram(
    folder: Path, setup: Setup, net: Callable[[], AbstractAsyncContextManager[Net]] = OwnNet.open
) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return beginning(folder, setup, net(), TelegramDriver)
