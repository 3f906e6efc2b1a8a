"""What every adapter is driven by: a person at a place, who does things and sees things.

A driver speaks a platform's own way (a mention in a group, a press on a native button, a typed number in the
terminal), so that a scenario only says what people do and what they see. What a surface does not have it
leaves out of its `features`; scenarios that need it are skipped there by name.

To add a surface: implement `Driver`, and name it in `drivers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

WAIT_SECONDS = 15.0
"""How long anybody waits for something visible before the scenario fails."""


class Feature(Enum):
    """What some surfaces have and others do not. The value names it where it is lacking."""

    GROUPS = "places where several people talk"
    LEAVING = "groups whose platform tells who leaves"
    SIDE_PLACES = "places beside a place, such as topics and threads"
    SINGLE = "direct chats without places beside them"
    REPLIES = "messages that answer a message"
    OLD_BUTTONS = "buttons that stay under their message"
    CHOICES = "a choice of one out of many"
    FORMS = "buttons that ask for a word"
    NAMES = "a name of the bot's own behind a command"
    NOTICES = "a line that says that a message waits"
    EDITS = "messages that people change later"
    DELETES = "messages that the bot takes away again"
    MAILBOX = "messages that wait while the service is away, and may come twice"
    LIVE_COPIES = "a second copy of a message while the service runs"
    LIMITS = "a longest message, so that answers are split or sent as a file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How the service is set up: who its admins are, by the names of people, and settings by their keys."""

    admins: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


class Shown(Protocol):
    """A message of the bot, as people see it now."""

    @property
    def text(self) -> str:
        """Its text as it is read, without markup; of a file its content."""
        ...

    @property
    def buttons(self) -> Sequence[str]:
        """The labels of what can be pressed or chosen under it."""
        ...

    @property
    def links(self) -> Sequence[str]:
        """The addresses that its buttons open."""
        ...

    @property
    def answers(self) -> str | None:
        """The text of the message that it is a reply to."""
        ...


Wanted = str | re.Pattern[str] | Callable[[Shown], bool]


class Driver(Protocol):
    """One person at one place."""

    features: frozenset[Feature]
    bot_name: str
    """What the bot is called behind a command; empty where it has no name."""

    # what people do; each ends what `seen` looks back to

    async def say(self, text: str) -> None:
        """Speak to the bot."""
        ...

    async def command(self, text: str) -> None:
        """Type a command, character by character."""
        ...

    async def reply(self, message: Shown, text: str) -> None:
        """Write an answer to a message."""
        ...

    async def remark(self, text: str) -> None:
        """Say something to the other people here."""
        ...

    async def edit(self, text: str) -> None:
        """Change the last message that this person wrote here."""
        ...

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        """Press a button, or choose an option, by a part of its label: under this message, or the newest that
        has it. `word` is what the button then asks for.
        """
        ...

    async def redeliver(self) -> None:
        """The platform hands out once more what was last done here."""
        ...

    # what people see

    async def seen(self, wanted: Wanted) -> Shown:
        """The first message of the bot, new or changed since the last thing done here, that has this text,
        pattern or property.
        """
        ...

    async def seen_privately(self, wanted: Wanted) -> Shown:
        """The same, where only this person sees it; wherever the bot sends them for that."""
        ...

    async def answers(self) -> Sequence[Shown]:
        """Everything that the bot has said since the last thing done here, once it has said all."""
        ...

    async def gone(self, message: Shown) -> None:
        """Wait until the bot has taken a message of its own away."""
        ...

    # where, who and when

    async def as_(self, name: str) -> Driver:
        """Somebody else: at the same place where it is a group, else at their own."""
        ...

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        """A new group with these people in it. `admin` runs it, else whoever makes it; `topics`: it has places
        beside.
        """
        ...

    async def leave(self) -> None:
        """This person leaves the group."""
        ...

    async def join(self) -> None:
        """They come back."""
        ...

    async def topic(self, title: str) -> Driver:
        """A new place beside this one, made by people."""
        ...

    async def opened(self, title: str) -> Driver:
        """The place beside this one that the bot opened under such a title."""
        ...

    async def stop(self) -> None:
        """The service ends."""
        ...

    async def start(self) -> None:
        """The service begins again, with the same data."""
        ...

    def pass_time(self, *, minutes: float) -> None:
        """The clocks of the service and the platform go on."""
        ...

    async def busy(self) -> None:
        """Wait until a turn runs, or waits at a gate."""
        ...

    async def rest(self) -> None:
        """Wait until no turn runs, and all is shown."""
        ...


Act = Callable[[Driver], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Something that people do and what they see of it; the same on every surface that has what it `needs`."""

    name: str
    act: Act
    needs: frozenset[Feature]
    setup: Setup


def scenario(*needs: Feature, admins: Sequence[str] = (), **settings: Any) -> Callable[[Act], Scenario]:
    """Make a scenario of a function. Settings are written `section__key=value`."""
    flat = {key.replace("__", ".", 1): value for key, value in settings.items()}
    setup = Setup(admins=tuple(admins), settings=flat)

    def make(act: Act) -> Scenario:
        return Scenario(name=act.__name__, act=act, needs=frozenset(needs), setup=setup)

    return make


def fits(message: Shown, wanted: Wanted) -> bool:
    """Whether a message has this text, pattern or property."""
    if isinstance(wanted, str):
        return wanted in message.text
    if isinstance(wanted, re.Pattern):
        return bool(wanted.search(message.text))
    return wanted(message)
