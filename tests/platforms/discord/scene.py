"""What guilds, channels and people share: the bot's account, the clock, ids, the gateway, the commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from platforms.core import Clock, Json, Signal
from platforms.discord.gateway import Gateway

if TYPE_CHECKING:
    from platforms.discord.channels import Channel
    from platforms.discord.guilds import Guild
    from platforms.discord.interactions import Interaction
    from platforms.discord.people import User

EPOCH_MS = 1_420_070_400_000
"""Discord's first moment: 2015."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits that a test may make smaller."""

    file_bytes: int = 10 << 20
    answer_seconds: float = 3
    token_seconds: float = 15 * 60
    registrations_a_day: int = 200


@dataclass(frozen=True, kw_only=True)
class Account:
    """Whoever can write: a person, a bot or a webhook."""

    id: str
    name: str
    bot: bool = False
    webhook: bool = False

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    def json(self) -> Json:
        body = {"id": self.id, "username": self.name, "avatar": None, "discriminator": "0000" if self.webhook else "0"}
        if self.webhook:
            return body | {"bot": True}
        shown = None if self.bot else self.name.title()
        return body | {"global_name": shown, "bot": self.bot, "public_flags": 0, "flags": 0, "primary_guild": None}


@dataclass(kw_only=True)
class Registered:
    """What was done to application commands so far."""

    made: int = 0
    removed: set[tuple[int, str]] = field(default_factory=set)


class Scene:
    """One simulated Discord, as far as neither channels nor people are concerned."""

    def __init__(
        self, clock: Clock, signal: Signal, *, token: str, limits: Limits, note: Callable[[str, str], None]
    ) -> None:
        self.clock, self.signal, self.token, self.limits = clock, signal, token, limits
        self.note = note
        """Keeps a broken rule that is no answer to a call: what it is about, and a sentence."""
        self.urls: Callable[[], tuple[str, str]] = lambda: ("", "")
        """Where the gateway and the files are."""
        self._last_id = 0
        self.app_id = self.snowflake()
        self.bot = Account(id=self.app_id, name="Turnback", bot=True)
        self.gateway = Gateway(self)
        self.commands: list[Json] = []
        self.registered = Registered()
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.directs: dict[str, Channel] = {}
        """The direct chats by their persons' ids."""
        self.guilds: dict[str, Guild] = {}
        self.interactions: dict[str, Interaction] = {}
        self.changes = 0
        """How many visible changes there have been: a mark that `seen` looks back to."""

    @property
    def gateway_url(self) -> str:
        return self.urls()[0]

    @property
    def files_url(self) -> str:
        return self.urls()[1]

    def change(self) -> int:
        """The number of a visible change that happens now."""
        self.changes += 1
        return self.changes

    def snowflake(self) -> str:
        """An id: above all earlier ones, and telling its time."""
        self._last_id = max(int(self.clock.now() * 1000) - EPOCH_MS << 22, self._last_id + 1)
        return str(self._last_id)

    def now(self) -> str:
        return datetime.fromtimestamp(self.clock.now(), UTC).isoformat()
