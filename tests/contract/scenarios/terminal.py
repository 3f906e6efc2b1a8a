"""The terminal as a driver: `turnback chat`'s session over real HTTP, each person with a token of their own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup, Shown, Wanted, fits
from contract.scenarios.house import House
from platforms.core import Clock, Signal

from turnback.bots.terminal.client import Client
from turnback.bots.terminal.screens import Kind
from turnback.bots.terminal.session import Session

QUIET_SECONDS = 0.1

_NUMBERED = re.compile(r"/(\d+) (?P<label>.*?)(?:  (?P<url>\S+))?")
_ANSWERS = {"Approve": "y", "Deny": "n"}


@dataclass(eq=False)
class Lines:
    """Lines that belong together on the screen, and the numbered buttons under them."""

    text: str
    numbers: dict[str, str] = field(default_factory=dict)
    """What to type for each label."""
    links: list[str] = field(default_factory=list)

    @property
    def buttons(self) -> Sequence[str]:
        return list(self.numbers)

    @property
    def answers(self) -> str | None:
        return None


class Paper:
    """A screen that keeps what it shows."""

    def __init__(self) -> None:
        self.shown: list[Lines] = []
        self.signal = Signal()
        self._streamed: Lines | None = None

    def say(self, text: str, kind: Kind) -> None:
        """Show whole lines; hints about numbers are the buttons of what stands above them."""
        self.end()
        numbered = _NUMBERED.fullmatch(text) if kind is Kind.HINT else None
        if numbered and self.shown:
            self.shown[-1].numbers[numbered["label"]] = numbered[0].split()[0]
            self.shown[-1].links += [numbered["url"]] if numbered["url"] else []
        elif kind is not Kind.CARD or text.startswith("Approval:"):
            self.shown.append(Lines(text, dict(_ANSWERS) if kind is Kind.CARD else {}))
        self.signal.touch()

    def stream(self, text: str) -> None:
        """Show a piece of an answer."""
        if self._streamed is None:
            self._streamed = Lines("")
            self.shown.append(self._streamed)
        self._streamed.text += text
        self.signal.touch()

    def end(self) -> None:
        """The streamed answer is complete."""
        self._streamed = None


class TerminalDriver:
    """One person at a terminal."""

    features: frozenset[Feature] = frozenset({Feature.SINGLE})
    bot_name = ""

    def __init__(self, hall: Hall, session: Session, paper: Paper) -> None:
        self._hall, self._session, self._paper = hall, session, paper
        self._mark = 0

    async def say(self, text: str) -> None:
        self._mark = len(self._paper.shown)
        await self._session.handle(text, wait=False)

    async def command(self, text: str) -> None:
        await self.say(text)

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        shown = message or next(s for s in reversed(self._paper.shown) if _label(s, label))
        assert isinstance(shown, Lines)
        found = _label(shown, label)
        assert found, f"no button {label!r} among {shown.buttons}"
        await self.say(shown.numbers[found])

    async def seen(self, wanted: Wanted) -> Shown:
        def look() -> Shown | None:
            return next((lines for lines in self._new if fits(lines, wanted)), None)

        return await self._paper.signal.until(look, lambda: f"{wanted!r} among {self._told}", WAIT_SECONDS)

    async def seen_privately(self, wanted: Wanted) -> Shown:
        return await self.seen(wanted)

    async def answers(self) -> Sequence[Shown]:
        await self._paper.signal.settled(QUIET_SECONDS)
        return self._new

    async def as_(self, name: str) -> Driver:
        return await self._hall.person(name)

    async def stop(self) -> None:
        await self._hall.house.stop()

    async def start(self) -> None:
        await self._hall.house.start()

    def pass_time(self, *, minutes: float) -> None:
        self._hall.clock.advance(minutes * 60)

    async def busy(self) -> None:
        await self._hall.house.until(busy=True)

    async def rest(self) -> None:
        await self._hall.house.until(busy=False)
        await self._session.idle()

    async def reply(self, message: Shown, text: str) -> None:
        raise NotImplementedError(Feature.REPLIES)

    async def remark(self, text: str) -> None:
        raise NotImplementedError(Feature.GROUPS)

    async def edit(self, text: str) -> None:
        raise NotImplementedError(Feature.EDITS)

    async def gone(self, message: Shown) -> None:
        raise NotImplementedError(Feature.DELETES)

    async def redeliver(self) -> None:
        raise NotImplementedError(Feature.MAILBOX)

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        raise NotImplementedError(Feature.GROUPS)

    async def leave(self) -> None:
        raise NotImplementedError(Feature.LEAVING)

    async def join(self) -> None:
        raise NotImplementedError(Feature.LEAVING)

    async def topic(self, title: str) -> Driver:
        raise NotImplementedError(Feature.SIDE_PLACES)

    async def opened(self, title: str) -> Driver:
        raise NotImplementedError(Feature.SIDE_PLACES)

    @property
    def _new(self) -> list[Lines]:
        return self._paper.shown[self._mark :]

    @property
    def _told(self) -> list[str]:
        return [lines.text[:200] for lines in self._paper.shown[-6:]]


class Hall:
    """The people at their terminals, and the service that all of them talk to."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        self.clock, self._admins = Clock(), setup.admins
        self.house = House(folder, setup, clock=self.clock, web=True)
        self._people: dict[str, TerminalDriver] = {}
        self._open: list[tuple[Session, Client]] = []

    async def person(self, name: str) -> TerminalDriver:
        """Somebody at a terminal, in a new conversation at first."""
        if name not in self._people:
            people = self.house.composed.service.people
            account = await people.ensure_account(name, admin=name in self._admins)
            paper, client = Paper(), Client(self.house.url, await people.create_token(account))
            session = Session(client, paper)
            self._open.append((session, client))
            await session.open(None, new=False)
            self._people[name] = TerminalDriver(self, session, paper)
        return self._people[name]

    async def close(self) -> None:
        for session, client in self._open:
            await session.close()
            await client.close()
        await self.house.stop()


@asynccontextmanager
async def terminal(folder: Path, setup: Setup) -> AsyncIterator[Driver]:
    """Ann at a terminal."""
    hall = Hall(folder, setup)
    await hall.house.start()
    try:
        yield await hall.person("Ann")
    finally:
        await hall.close()


def _label(lines: Lines, part: str) -> str | None:
    exact = [label for label in lines.buttons if label == part]
    return next(iter(exact or [label for label in lines.buttons if part in label]), None)
