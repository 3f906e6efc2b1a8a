"""What an act is given: who asks, where, about which thread, and the service to ask.

`App` is the part of the composed service (`turnback.core.open_service`) that the chat layer speaks to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from turnback.bots.commands import Command
from turnback.bots.places import Place, Places
from turnback.bots.questions import Questions
from turnback.bots.replies import Reply
from turnback.bots.words import printable
from turnback.core.errors import NotFound
from turnback.core.models import Account, Actor, Gate, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.rewind import RewindService
from turnback.core.steps.store import StepStore
from turnback.core.threads.store import ThreadStore

_NOTHING_YET = "There is no conversation here yet. Write something first."
_IN_THREADS = "The conversations here are in threads: mention me to begin one, and type ! instead of / in it."


class TurnControl(Protocol):
    """Turns, as far as a command touches them."""

    async def stop(self, actor: Actor, thread_id: ThreadId) -> bool: ...
    async def decide(self, actor: Actor, thread_id: str, gate_id: str, approve: bool) -> Gate: ...


class SigningIn(Protocol):
    """People, as far as a command touches them."""

    async def create_link(self, account: Account) -> str: ...


class App(Protocol):
    """The composed service."""

    @property
    def rewind(self) -> RewindService: ...
    @property
    def turns(self) -> TurnControl: ...
    @property
    def people(self) -> SigningIn: ...
    @property
    def steps(self) -> StepStore: ...
    @property
    def threads(self) -> ThreadStore: ...


class SettingsPort(Protocol):
    """The settings, for `/retention`."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One per key: at least `key`, `running` and `help`."""
        ...

    def change_text(self, actor: Actor, name: str, text: str) -> Awaitable[Mapping[str, Any]]:
        """Set a key to what somebody typed; answers its row."""
        ...


class Beside(Protocol):
    """Opens a place beside the one where somebody asks (a topic, a thread), for a chat to go on in."""

    async def __call__(self, title: str, first: str) -> Place | None:
        """Open one, and say `first` there; None where that cannot be done now."""
        ...


class Links(Protocol):
    """Addresses of the web page."""

    def thread_url(self, thread_id: ThreadId) -> str:
        """Where a chat is on the page."""
        ...

    def steps_url(self, thread_id: ThreadId) -> str:
        """Where a chat's steps are on the page."""
        ...

    def sign_in_url(self, link: str) -> str:
        """Where a sign-in link leads."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command in its circumstances. `confirmed`: its question was answered with yes."""

    app: App
    places: Places
    questions: Questions
    links: Links | None
    policy: TimeTravel
    settings: SettingsPort | None
    now: datetime
    actor: Actor
    place: Place
    found: ThreadId | None
    confirmed: bool = False
    beside: Beside | None = None

    @property
    def thread_id(self) -> ThreadId:
        """The thread that the place talks into. NotFound before its first message."""
        if self.found is None:
            raise NotFound(_IN_THREADS if self.place.can.talks_beside else _NOTHING_YET)
        return self.found

    @property
    def by(self) -> str:
        """Who did it, for a group's eyes: ` (by Ana)`."""
        name = printable(self.actor.name, 60)
        return f" (by {name})" if self.place.group and name else ""

    def ask_first(self, command: Command, text: str, yes: str, no: str = "Cancel") -> Reply:
        """Ask before doing `command`."""
        return self.questions.ask(self.actor, self.found, command, text, yes, no)

    def once_confirmed(self, thread_id: ThreadId | None) -> Asked:
        """The same, when the question about `thread_id` was answered with yes."""
        return replace(self, found=thread_id, confirmed=True)
