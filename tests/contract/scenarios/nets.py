"""What the drivers of chat platforms share: people at the places of a simulated server, and the service behind.

Which server that is, and how people speak on its platform, a `Net` knows. After every scenario no rule of the
platform may have been broken, and nothing that people did may be left without an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from contract.scenarios.driver import Driver, Feature, Setup, Shown, Wanted, fits
from contract.scenarios.house import House
from platforms.core import Clock

from turnback.bots.platform import Adapter
from turnback.cli.compose import Composed

T = TypeVar("T")

QUIET_SECONDS = 0.15
"""The bot has said all when nothing changed for so long."""


class Seen(Shown, Protocol):
    """A message of the bot, as one person sees it."""

    @property
    def id(self) -> Hashable: ...

    @property
    def deleted(self) -> bool: ...

    @property
    def hidden(self) -> bool:
        """Whether only this person sees it."""
        ...


@dataclass(eq=False, kw_only=True)
class Spot:
    """A place, and what the bot had said there when something was last done there.

    `chat` and `topic` are the server's own.
    """

    chat: Any
    topic: Any = None
    group: bool = True
    before: dict[Hashable, tuple[object, ...]] = field(default_factory=dict)


class Net(ABC):
    """A simulated server, and how people speak there. Users and the messages that they write are the server's own."""

    surface: ClassVar[str]
    features: frozenset[Feature]
    bot_name = ""
    clock: Clock
    away = False
    """Whether the service is stopped."""

    @abstractmethod
    def adapter(self, composed: Composed) -> Adapter: ...

    # where people are

    @abstractmethod
    def user(self, name: str) -> Any: ...

    @abstractmethod
    def private(self, user: Any) -> Spot: ...

    @abstractmethod
    async def group(self, title: str, people: Sequence[Any], *, topics: bool) -> Spot:
        """A new group, which the first of them runs."""
        ...

    @abstractmethod
    async def topic(self, user: Any, spot: Spot, title: str) -> Spot: ...

    @abstractmethod
    def find_topic(self, spot: Spot, title: str) -> Spot | None: ...

    # what they do

    def spoken(self, spot: Spot, text: str) -> str:
        """What is written to say that to the bot."""
        return f"{self.mention} {text}" if spot.group else text

    @property
    @abstractmethod
    def mention(self) -> str: ...

    async def command(self, user: Any, spot: Spot, text: str) -> None:
        """Type a command."""
        await self.write(user, spot, text)

    @abstractmethod
    async def write(self, user: Any, spot: Spot, text: str, reply_to: Any = None) -> Any:
        """Write a message, as an answer to a `Seen` if one is given; the message."""
        ...

    @abstractmethod
    async def edit(self, user: Any, message: Any, text: str) -> None: ...

    @abstractmethod
    async def press(self, user: Any, shown: Any, label: str) -> Any:
        """Press the button, or choose the option, whose label has that as a part; what `fill_in` needs."""
        ...

    async def fill_in(self, user: Any, asked: Any, word: str) -> None:
        """Give the word that a press asked for."""
        raise NotImplementedError

    async def leave(self, user: Any, spot: Spot) -> None:
        """Leave a group."""
        raise NotImplementedError(Feature.LEAVING)

    async def join(self, user: Any, spot: Spot) -> None:
        """Come back into a group."""
        raise NotImplementedError(Feature.LEAVING)

    @abstractmethod
    async def redeliver(self, user: Any) -> None:
        """Hand out once more what somebody did last."""
        ...

    # what they see

    @abstractmethod
    def said(self, user: Any, spot: Spot) -> Sequence[Seen]:
        """What the bot said there that is not deleted and that this person sees, in order."""
        ...

    @abstractmethod
    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T: ...

    @abstractmethod
    async def quiet(self) -> None: ...

    @abstractmethod
    async def taken(self) -> None:
        """Wait until the bot has been handed everything."""
        ...

    async def finished(self) -> None:
        """Wait until nothing that people did is without an answer."""
        await self.taken()

    @abstractmethod
    def complaints(self) -> Sequence[str]:
        """Every broken rule."""
        ...


class PersonDriver:
    """One person at one place of a platform."""

    def __init__(self, world: World, user: Any, spot: Spot) -> None:
        self._world, self._net, self._user, self._spot = world, world.net, user, spot
        self.features, self.bot_name = world.net.features, world.net.bot_name
        self._wrote: Any = None

    async def say(self, text: str) -> None:
        await self._write(self._net.spoken(self._spot, text))

    async def command(self, text: str) -> None:
        self._act()
        await self._net.command(self._user, self._spot, text)

    async def remark(self, text: str) -> None:
        await self._write(text)

    async def reply(self, message: Shown, text: str) -> None:
        await self._write(text, message)

    async def edit(self, text: str) -> None:
        self._act()
        await self._net.edit(self._user, self._wrote, text)

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        shown = message or next(s for s in reversed(self._said()) if any(label in text for text in s.buttons))
        self._act()
        asked = await self._net.press(self._user, shown, label)
        if word is not None:
            await self._net.fill_in(self._user, asked, word)

    async def redeliver(self) -> None:
        self._act()
        await self._net.redeliver(self._user)

    async def seen(self, wanted: Wanted) -> Shown:
        def look() -> Shown | None:
            return next((shown for shown in self._new() if fits(shown, wanted)), None)

        return await self._net.until(look, lambda: f"{wanted!r} among {[s.text[:200] for s in self._said()][-6:]}")

    async def seen_privately(self, wanted: Wanted) -> Shown:
        def look() -> Shown | None:
            group = self._spot.group
            return next((s for s in self._new() if fits(s, wanted) and (s.hidden or not group)), None)

        return await self._net.until(look, lambda: f"{wanted!r} for them alone among {[s.text for s in self._said()]}")

    async def answers(self) -> Sequence[Shown]:
        await self._net.taken()
        await self._net.quiet()
        return self._new()

    async def gone(self, message: Shown) -> None:
        shown: Any = message
        await self._net.until(lambda: bool(shown.deleted), lambda: f"{shown.text[:80]!r} goes")

    async def as_(self, name: str) -> Driver:
        if not self._spot.group:
            return self._world.person(name)
        return self._at(self._spot, self._world.user(name))

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        names = dict.fromkeys([*([admin] if admin else []), self._user.name, *others])
        return self._at(await self._net.group(title, [self._world.user(name) for name in names], topics=topics))

    async def leave(self) -> None:
        self._act()
        await self._net.leave(self._user, self._spot)

    async def join(self) -> None:
        self._act()
        await self._net.join(self._user, self._spot)

    async def topic(self, title: str) -> Driver:
        return self._at(await self._net.topic(self._user, self._spot, title))

    async def opened(self, title: str) -> Driver:
        look = lambda: self._net.find_topic(self._spot, title)  # noqa: E731
        return self._at(await self._net.until(look, lambda: f"a place {title!r}"))

    async def stop(self) -> None:
        await self._net.taken()
        self._net.away = True
        await self._world.house.stop()

    async def start(self) -> None:
        self._net.away = False
        await self._world.house.start()

    def pass_time(self, *, minutes: float) -> None:
        self._net.clock.advance(minutes * 60)

    async def busy(self) -> None:
        await self._world.house.until(busy=True)

    async def rest(self) -> None:
        await self._world.house.until(busy=False)

    def _at(self, spot: Spot, user: Any = None) -> PersonDriver:
        return type(self)(self._world, user or self._user, spot)

    async def _write(self, text: str, reply_to: Any = None) -> None:
        self._act()
        self._wrote = await self._net.write(self._user, self._spot, text, reply_to)

    def _act(self) -> None:
        self._spot.before = {shown.id: _look(shown) for shown in self._said()}

    def _said(self) -> Sequence[Seen]:
        return self._net.said(self._user, self._spot)

    def _new(self) -> list[Seen]:
        before = self._spot.before
        return [shown for shown in self._said() if before.get(shown.id) != _look(shown)]


class World:
    """Everybody on a simulated platform, and the service that the bot belongs to."""

    def __init__(self, folder: Path, setup: Setup, net: Net, driver: type[PersonDriver]) -> None:
        self.net = net
        self._driver = driver
        self._users: dict[str, Any] = {}
        self._private: dict[str, Spot] = {}
        admins = [f"{net.surface}:{self.user(name).id}" for name in setup.admins]
        settings = {"access.allow": [f"{net.surface}:*"], "access.admins": admins}
        adapters = lambda composed: [net.adapter(composed)]  # noqa: E731
        self.house = House(folder, setup, clock=net.clock, adapters=adapters, settings=settings)

    def user(self, name: str) -> Any:
        if name not in self._users:
            self._users[name] = self.net.user(name)
        return self._users[name]

    def person(self, name: str) -> PersonDriver:
        """Somebody in their direct chat with the bot."""
        user = self.user(name)
        if name not in self._private:
            self._private[name] = self.net.private(user)
        return self._driver(self, user, self._private[name])


@asynccontextmanager
async def beginning(
    folder: Path, setup: Setup, net: AbstractAsyncContextManager[Net], driver: type[PersonDriver] = PersonDriver
) -> AsyncIterator[Driver]:
    """Ann in her direct chat with the bot."""
    async with net as opened:
        world = World(folder, setup, opened, driver)
        await world.house.start()
        try:
            yield world.person("Ann")
            await opened.finished()
        finally:
            await world.house.stop()
        assert list(opened.complaints()) == []


def _look(shown: Shown) -> tuple[object, ...]:
    return shown.text, tuple(shown.buttons)
