"""Telegram as a driver: the adapter with its real library over real HTTP, against a simulated Bot API server.

Which server is a `Net`: the project's own here, another one in `shared_telegram`. After every scenario no rule of
the platform may have been broken, and no pressed button may be left without an answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup, Shown, Wanted, fits
from contract.scenarios.house import House
from platforms.core import Clock
from platforms.telegram.chats import Chat, Message, Topic
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import HASTY

from turnback.bots.platform import Adapter
from turnback.bots.telegram import TelegramAdapter
from turnback.bots.telegram.pacing import Pacer
from turnback.cli.compose import Composed

T = TypeVar("T")

FEATURES = frozenset(Feature)


@dataclass(frozen=True)
class Seen:
    """A message in a chat of a server; `native` is the server's."""

    net: Net
    native: Any

    @property
    def text(self) -> str:
        data = self.net.file(self.native)
        return data.decode() if data is not None else str(self.native.text)

    @property
    def buttons(self) -> Sequence[str]:
        return [str(button.text) for button in self.native.buttons]

    @property
    def links(self) -> Sequence[str]:
        return [url for button in self.native.buttons if (url := self.net.address(button))]

    @property
    def answers(self) -> str | None:
        return self.net.answered(self.native)


class Net(Protocol):
    """What the driver needs of a simulated server. Chats, topics, users and messages are the server's own."""

    name: str
    token: str
    base_url: str
    clock: Clock
    features: frozenset[Feature]

    def user(self, name: str) -> Any: ...
    def room(self, title: str, people: Sequence[Any], *, forum: bool) -> Any: ...
    def topic(self, chat: Any, title: str) -> Any: ...
    def find_topic(self, chat: Any, title: str) -> Any | None: ...
    def said(self, chat: Any, topic: Any) -> Sequence[Any]:
        """The bot's messages there that are not deleted, in order."""
        ...

    def file(self, message: Any) -> bytes | None: ...
    def address(self, button: Any) -> str | None: ...
    def answered(self, message: Any) -> str | None: ...
    async def press(self, user: Any, button: Any) -> None: ...
    def hear_edits(self) -> None:
        """Tell the bot of edited messages, whether it asks for them or not."""
        ...

    def redeliver(self) -> None: ...
    async def taken(self) -> None:
        """Wait until the bot has been handed everything."""
        ...

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T: ...
    async def quiet(self) -> None: ...
    def complaints(self) -> Sequence[str]:
        """Every broken rule."""
        ...

    def unanswered(self) -> Sequence[Any]: ...


@dataclass(eq=False, kw_only=True)
class Spot:
    """A place, and what the bot had said there when something was last done there."""

    chat: Any
    topic: Any = None
    group: bool = True
    before: dict[int, tuple[object, ...]] = field(default_factory=dict)


class TelegramDriver:
    """One person at one place on Telegram."""

    def __init__(self, world: World, user: Any, spot: Spot) -> None:
        self._world, self._net, self._user, self._spot = world, world.net, user, spot
        self.features, self.bot_name = world.net.features, world.net.name
        self._wrote: Any = None

    async def say(self, text: str) -> None:
        await self._write(f"@{self._net.name} {text}" if self._spot.group else text)

    async def command(self, text: str) -> None:
        await self._write(text)

    async def remark(self, text: str) -> None:
        await self._write(text)

    async def reply(self, message: Shown, text: str) -> None:
        assert isinstance(message, Seen)
        await self._write(text, reply_to=message.native)

    async def edit(self, text: str) -> None:
        self._net.hear_edits()
        self._act()
        await self._user.edit(self._wrote, text)

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        shown = message or next(s for s in reversed(self._said()) if any(label in text for text in s.buttons))
        assert isinstance(shown, Seen)
        self._act()
        await self._net.press(self._user, shown.native.button(label))
        if word is not None:
            await self.reply(await self.seen("answer this message"), word)

    async def redeliver(self) -> None:
        self._act()
        self._net.redeliver()

    async def seen(self, wanted: Wanted) -> Shown:
        def look() -> Seen | None:
            return next((shown for shown in self._new() if fits(shown, wanted)), None)

        return await self._net.until(look, lambda: f"{wanted!r} among {[s.text[:200] for s in self._said()][-6:]}")

    async def seen_privately(self, wanted: Wanted) -> Shown:
        if not self._spot.group:
            return await self.seen(wanted)
        door = await self.seen(lambda shown: any("?start=" in link for link in shown.links))
        start = parse_qs(urlsplit(door.links[0]).query)["start"][0]
        private = await self._world.person(self._user.name)
        await private.command(f"/start {start}")
        return await private.seen(wanted)

    async def answers(self) -> Sequence[Shown]:
        await self._net.taken()
        await self._net.quiet()
        return self._new()

    async def gone(self, message: Shown) -> None:
        assert isinstance(message, Seen)
        native = message.native
        await self._net.until(lambda: bool(native.deleted), lambda: f"{native} goes")

    async def as_(self, name: str) -> Driver:
        if not self._spot.group:
            return await self._world.person(name)
        return TelegramDriver(self._world, self._world.user(name), self._spot)

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        names = dict.fromkeys([*([admin] if admin else []), self._user.name, *others])
        chat = self._net.room(title, [self._world.user(name) for name in names], forum=topics)
        return TelegramDriver(self._world, self._user, Spot(chat=chat))

    async def topic(self, title: str) -> Driver:
        topic = self._net.topic(self._spot.chat, title)
        return TelegramDriver(self._world, self._user, Spot(chat=self._spot.chat, topic=topic))

    async def opened(self, title: str) -> Driver:
        chat = self._spot.chat
        topic = await self._net.until(lambda: self._net.find_topic(chat, title), lambda: f"a topic {title!r}")
        return TelegramDriver(self._world, self._user, Spot(chat=chat, topic=topic))

    async def stop(self) -> None:
        await self._world.house.stop()

    async def start(self) -> None:
        await self._world.house.start()

    def pass_time(self, *, minutes: float) -> None:
        self._net.clock.advance(minutes * 60)

    async def busy(self) -> None:
        await self._world.house.until(busy=True)

    async def rest(self) -> None:
        await self._world.house.until(busy=False)

    async def _write(self, text: str, reply_to: Any = None) -> None:
        self._act()
        self._wrote = await self._user.say(text, self._spot.chat, topic=self._spot.topic, reply_to=reply_to)

    def _act(self) -> None:
        self._spot.before = {shown.native.id: _look(shown) for shown in self._said()}

    def _said(self) -> list[Seen]:
        return [Seen(self._net, message) for message in self._net.said(self._spot.chat, self._spot.topic)]

    def _new(self) -> list[Seen]:
        before = self._spot.before
        return [shown for shown in self._said() if before.get(shown.native.id) != _look(shown)]


class World:
    """Everybody on a simulated Telegram, and the service that the bot belongs to."""

    def __init__(self, folder: Path, setup: Setup, net: Net) -> None:
        self.net = net
        self._users: dict[str, Any] = {}
        self._private: dict[str, Spot] = {}
        admins = [f"telegram:{self.user(name).id}" for name in setup.admins]
        settings = {"access.allow": ["telegram:*"], "access.admins": admins}
        self.house = House(folder, setup, clock=net.clock, adapters=self._adapters, settings=settings)

    def user(self, name: str) -> Any:
        if name not in self._users:
            self._users[name] = self.net.user(name)
        return self._users[name]

    async def person(self, name: str) -> TelegramDriver:
        """Somebody in their direct chat with the bot."""
        user = self.user(name)
        spot = self._private.setdefault(name, Spot(chat=user.private, group=False))
        return TelegramDriver(self, user, spot)

    def _adapters(self, composed: Composed) -> Sequence[Adapter]:
        threads, clock = composed.service.threads, composed.clock
        return [
            TelegramAdapter(self.net.token, threads, api_base_url=self.net.base_url, pacer=Pacer(HASTY), clock=clock)
        ]


class OwnNet:
    """The project's own simulated server."""

    features = FEATURES

    def __init__(self, server: TelegramServer) -> None:
        self.server, self.clock = server, server.clock
        self.name, self.token, self.base_url = server.bot.username, server.token, server.base_url

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """A server whose bot hears everything in groups."""
        async with TelegramServer(flood="off") as server:
            server.bot.privacy = False
            yield cls(server)

    def user(self, name: str) -> User:
        return self.server.user(name)

    def room(self, title: str, people: Sequence[User], *, forum: bool) -> Chat:
        chat = self.server.supergroup(title, people, forum=forum)
        return chat.make_bot_admin() if forum else chat

    def topic(self, chat: Chat, title: str) -> Topic:
        return chat.topic(title)

    def find_topic(self, chat: Chat, title: str) -> Topic | None:
        return next((topic for topic in chat.topics.values() if title in topic.name), None)

    def said(self, chat: Chat, topic: Topic | None) -> Sequence[Message]:
        return chat.said(topic)

    def file(self, message: Message) -> bytes | None:
        return message.data

    def address(self, button: Any) -> str | None:
        return str(button.url) if button.url else None

    def answered(self, message: Message) -> str | None:
        return message.reply_to.text if message.reply_to else None

    async def press(self, user: User, button: Any) -> None:
        await user.press(button)

    def hear_edits(self) -> None:
        self.server.updates.allowed = frozenset({"message", "edited_message", "callback_query"})

    def redeliver(self) -> None:
        self.server.redeliver()

    async def taken(self) -> None:
        await self.server.updates.taken(WAIT_SECONDS)

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        return await self.server.signal.until(look, what, WAIT_SECONDS)

    async def quiet(self) -> None:
        await self.server.signal.settled(0.15)

    def complaints(self) -> Sequence[str]:
        return self.server.violations

    def unanswered(self) -> Sequence[Any]:
        return self.server.unanswered


@asynccontextmanager
async def telegram(
    folder: Path, setup: Setup, net: Callable[[], AbstractAsyncContextManager[Net]] = OwnNet.open
) -> AsyncIterator[Driver]:
    """Ann in her direct chat with the bot."""
    async with net() as opened:
        world = World(folder, setup, opened)
        await world.house.start()
        try:
            yield await world.person("Ann")
            await opened.until(lambda: not opened.unanswered(), lambda: f"an answer to {opened.unanswered()}")
        finally:
            await world.house.stop()
        assert list(opened.complaints()) == []


def _look(shown: Seen) -> tuple[object, ...]:
    return shown.text, tuple(shown.buttons)
