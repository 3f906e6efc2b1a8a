"""A platform in memory: what is shown at each place, and people who write and press there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from turnback.bots.capabilities import Capabilities
from turnback.bots.desk import Desk
from turnback.bots.places import Place
from turnback.bots.platform import Attachment, Back, Message, Person, Press, Said, Unreachable
from turnback.core.models import Surface

CAN = Capabilities(side_places=True, max_text=4096)


@dataclass
class Shown:
    """A message that is shown now. `versions` are all that it has shown."""

    id: str
    said: Said
    versions: list[Said] = field(default_factory=list)
    private: bool = False

    @property
    def text(self) -> str:
        return self.said.text

    def button(self, label: str) -> str:
        """The command under the button that begins like that."""
        (command,) = [b.command for b in self.said.buttons if b.label.startswith(label)]
        assert command is not None
        return command


class Screen:
    """An outlet that keeps what is shown at each place. The test may break it or hold it up."""

    edit_every = 1.0

    def __init__(self, surface: Surface = Surface.TELEGRAM) -> None:
        self.surface = surface
        self.places: dict[str, list[Shown]] = {}
        self.typed: list[str] = []
        self.calls: list[str] = []
        self.unreachable: set[str] = set()
        self.broken: Exception | None = None
        self.beside: str | None = None
        self.directs: dict[str, str] = {}
        self.held: dict[str, asyncio.Event] = {}
        self._ids = count(1)
        self._changed = asyncio.Condition()

    # what the product does

    async def send(self, place: str, said: Said) -> Sequence[str]:
        await self._reach(place, "send")
        return [await self._show(place, said)]

    async def edit(self, place: str, messages: Sequence[str], said: Said) -> Sequence[str]:
        await self._reach(place, "edit")
        for shown in self.at(place):
            if shown.id == messages[0]:
                shown.said = said
                shown.versions.append(said)
        await self._tell()
        return list(messages)

    async def delete(self, place: str, messages: Sequence[str]) -> None:
        await self._reach(place, "delete")
        self.places[place] = [shown for shown in self.at(place) if shown.id not in messages]
        await self._tell()

    async def typing(self, place: str) -> None:
        self.typed.append(place)
        await self._tell()

    async def open_beside(self, place: str, title: str) -> str | None:
        self.calls.append(f"open {place}: {title}")
        return self.beside

    async def direct(self, user_key: str) -> str | None:
        return self.directs.get(user_key)

    async def back(self, place: str, said: Said, *, private: bool) -> Sequence[str]:
        """A native answer."""
        if place in self.unreachable:
            raise Unreachable("gone")
        return [await self._show(place, said, private=private)]

    # what a test looks at

    def at(self, place: str) -> list[Shown]:
        """The messages at a place, oldest first."""
        return self.places.setdefault(place, [])

    def texts(self, place: str) -> list[str]:
        return [shown.text for shown in self.at(place)]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until what is shown makes this true."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(true)

    async def reads(self, place: str, *texts: str) -> None:
        """Wait until these are the newest texts at a place."""
        try:
            await self.until(lambda: self.texts(place)[-len(texts) :] == list(texts))
        except TimeoutError:
            raise AssertionError(f"{self.texts(place)} does not end with {texts}") from None

    def hold(self, place: str) -> asyncio.Event:
        """Hold up whatever is said at a place until the event is set."""
        return self.held.setdefault(place, asyncio.Event())

    async def _reach(self, place: str, what: str) -> None:
        self.calls.append(f"{what} {place}")
        await self._tell()
        if place in self.held:
            await self.held[place].wait()
        if place in self.unreachable:
            raise Unreachable("blocked")
        if self.broken is not None:
            raise self.broken

    async def _show(self, place: str, said: Said, *, private: bool = False) -> str:
        shown = Shown(f"m{next(self._ids)}", said, [said], private)
        self.at(place).append(shown)
        await self._tell()
        return shown.id

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@dataclass
class Walker:
    """A person who writes and presses at a place."""

    desk: Desk
    screen: Screen
    person: Person
    place: Place
    clock: Callable[[], datetime]
    admin: bool = False
    _numbers: count[int] = field(default_factory=lambda: count(100))

    @property
    def key(self) -> str:
        assert self.place.key is not None
        return self.place.key

    async def say(
        self,
        text: str,
        *,
        addressed: bool | None = None,
        reply_to: str | None = None,
        at: datetime | None = None,
        files: tuple[Attachment, ...] = (),
        mentioned: bool = False,
        names: tuple[str, ...] = (),
    ) -> str:
        """Write; answers the message's id."""
        message = f"u{next(self._numbers)}"
        await self.desk.message(
            Message(
                person=self.person,
                place=self.place,
                at=at or self.clock(),
                back=self._back(),
                is_admin=self._is_admin,
                id=message,
                text=text,
                addressed=not self.place.group if addressed is None else addressed,
                reply_to=reply_to,
                files=files,
                mentioned=mentioned,
                names=names,
            )
        )
        return message

    async def press(self, shown: Shown, label: str) -> None:
        """Press the button that begins like that."""
        await self.desk.press(
            Press(
                person=self.person,
                place=self.place,
                at=self.clock(),
                back=self._back(),
                is_admin=self._is_admin,
                command=shown.button(label),
                message=None if shown.private else shown.id,
            )
        )

    @property
    def last(self) -> Shown:
        """The newest message at the place."""
        return self.screen.at(self.key)[-1]

    @property
    def texts(self) -> list[str]:
        return self.screen.texts(self.key)

    async def reads(self, *texts: str) -> None:
        await self.screen.reads(self.key, *texts)

    def _back(self) -> Back:
        async def back(said: Said, *, private: bool = False) -> Sequence[str]:
            return await self.screen.back(self.key, said, private=private)

        return back

    async def _is_admin(self) -> bool:
        return self.admin
