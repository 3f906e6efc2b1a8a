"""What an adapter and the chat layer say to each other: who wrote what where, and what is shown there.

An adapter makes `Message` and `Press` of what its platform tells and hands them to the `Desk`. What the
Desk has to say goes back by `Incoming.back`, the native way to answer just that; what happens later or
elsewhere (streaming answers, approvals, news of a restore) goes through the platform's `Outlet`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from turnback.bots.places import Place
from turnback.bots.replies import Button, Select
from turnback.core.models import Surface

if TYPE_CHECKING:
    from turnback.bots.desk import Desk
    from turnback.bots.presenting import Presenter


class Unreachable(Exception):
    """Nothing can be said at that place (any more): blocked, kicked, deleted. Its text is for the log."""


class Down(Exception):
    """A platform cannot be worked with now. Its text, one line without secrets, tells the operator what to do."""


def down_kind(name: str) -> str:
    """The kind of the operator alert that stands while the platform `name` is down."""
    return f"platform_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who writes on a platform.

    `user_key` is unique on its surface. `scopes` are what `access.allow` may name beside the user
    (`discord:guild:123`, `slack:T0`).
    """

    surface: Surface
    user_key: str
    name: str
    scopes: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """`surface:user_key`."""
        return f"{self.surface.value}:{self.user_key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with a message; `size` in bytes, 0 where it is not known. `fetch` may raise OSError."""

    name: str
    mime: str
    size: int
    fetch: Callable[[], Awaitable[bytes]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Something to be shown at a place.

    `text` is plain, as in `replies`; with `markdown` it is an agent's answer. An adapter escapes it, splits it
    within its platform's limits and puts buttons and select under the last part; over 5 parts become a
    file. `reply_to` is a message of that place.
    """

    text: str
    markdown: bool = False
    buttons: tuple[Button, ...] = ()
    select: Select | None = None
    reply_to: str | None = None


class Back(Protocol):
    """The native way to answer a message or press: a reply, a follow-up, an ephemeral message.

    What is `private` only the asker sees; where the platform cannot do that here, it says so and leads to
    where it can. Answers the ids of the messages that everybody at the place sees. It may be called more
    than once, or not at all: a press may only change the message that it was under, or an approval's card.
    """

    async def __call__(self, said: Said, *, private: bool = False) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """Somebody did something at a place. `is_admin` asks the platform, anew or cached for a minute."""

    person: Person
    place: Place
    at: datetime
    back: Back = field(repr=False)
    is_admin: Callable[[], Awaitable[bool]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Incoming):
    """Somebody wrote. `addressed`: to us (a DM, a mention, a reply to us), so that what is no command is for
    the agent. `reply_to` is the message of ours that it answers. `bang`: `!replay` is a command here.
    `mentioned`: it began with a mention of us, which is no longer in `text`, so that `replay list` is a
    command, too. `names` are our own, for `/replay@name`; a command that names somebody else is not for us.
    """

    id: str
    text: str
    addressed: bool
    reply_to: str | None = None
    bang: bool = False
    mentioned: bool = False
    names: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Press(Incoming):
    """Somebody pressed a button or chose an option: the command that it stands for, under the message `message`
    (None where that cannot be edited through the outlet, as with a message that only the asker sees).
    """

    command: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Somebody is no more in the place `place`, nor in those in it, whose keys go on behind a slash.

    `user_key` None: we were put out ourselves, and do not hear any more who goes.
    """

    surface: Surface
    place: str
    user_key: str | None


class Outlet(Protocol):
    """Speaks at the places of one platform.

    Every method waits as long as the platform's limits ask for and tries again where that helps. It raises
    `Unreachable` where nothing can be said at that place, and `Down` (or whatever its library raises while the
    outlet is being removed) where the platform is away: then it is asked again later, or the outlet that comes
    instead. Places are named by their keys, messages by their ids there.
    """

    surface: Surface

    edit_every: float
    """Seconds between two edits of a message that grows."""

    async def send(self, place: str, said: Said) -> Sequence[str]:
        """Show something; answers the ids of its messages, in order."""
        ...

    async def edit(self, place: str, messages: Sequence[str], said: Said) -> Sequence[str]:
        """Show this instead of what these messages show, which may take more of them or fewer."""
        ...

    async def delete(self, place: str, messages: Sequence[str]) -> None:
        """Delete messages of ours, those that the platform lets us."""
        ...

    async def typing(self, place: str) -> None:
        """Show for some seconds that an answer is being written."""
        ...

    async def open_beside(self, place: str, title: str) -> str | None:
        """Open a place beside this one (a topic, a thread); its key, None where that cannot be done now."""
        ...

    async def direct(self, user_key: str) -> str | None:
        """The key of the private chat with a user; None where we may not begin one."""
        ...


class Adapter(Protocol):
    """One platform: hears for the Desk, and lends the Presenter its outlet.

    `name` is the outlet's `surface` as text. `run` works until it is cancelled: it calls `presenter.add(outlet)`
    once it is connected, which tells that the platform works, and `presenter.remove(outlet)` at the latest when
    it ends. What a new try may help it raises, as `Down` where it can say what is wrong; it is run again after
    a while (`supervising`).
    """

    @property
    def name(self) -> str: ...

    async def run(self, desk: Desk, presenter: Presenter) -> None: ...
