"""Interactions: what a person did with the bot's commands and components, and how it was answered."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from platforms.core import WAIT_SECONDS, Json
from platforms.discord.channels import QUIET_SECONDS, Channel
from platforms.discord.components import TEXT_INPUT, walk
from platforms.discord.messages import Choice, Message, Wanted, fits

if TYPE_CHECKING:
    from platforms.discord.people import User

COMMAND, COMPONENT, AUTOCOMPLETE, SUBMIT = 2, 3, 4, 5
"""Types of interactions."""


class Answer(IntEnum):
    """Types of the first answer."""

    MESSAGE = 4
    DEFERRED = 5
    DEFERRED_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


@dataclass(frozen=True, kw_only=True)
class Input:
    """A text input of a modal."""

    data: str
    text: str
    """Its label."""
    value: str
    required: bool
    shortest: int
    longest: int


@dataclass(frozen=True, kw_only=True)
class Modal:
    """A form that the bot opened."""

    data: str
    title: str
    raw: Json = field(repr=False)

    @property
    def inputs(self) -> list[Input]:
        found = []
        labels: Json = {}
        for component, path in walk(self.raw["components"]):
            labels[str(path)] = component.get("label")
            if component["type"] == TEXT_INPUT:
                found.append(_input(component, str(labels.get(str(path[:-1])) or component.get("label") or "")))
        return found


class Interaction:
    """Something that a person did, as that person sees it."""

    def __init__(
        self, user: User, channel: Channel, kind: int, data: Json, *, name: str, message: Message | None = None
    ) -> None:
        self.scene, self.user, self.channel, self.kind, self.data = channel.scene, user, channel, kind, data
        self.name, self.message = name, message
        self.id, self.token = self.scene.snowflake(), secrets.token_urlsafe(48)
        self.at = self.scene.clock.now()
        self.called_at: float | None = None
        """When the bot's first answer arrived at the server."""
        self.answer: Answer | None = None
        self.choices: list[Choice] = []
        self.modal: Modal | None = None
        self.original: Message | None = None
        """The message of the first answer, or the one that the component is on."""
        self.messages: list[Message] = []
        """What the bot answered with: messages of its own, and those that it changed."""
        self.late = False
        self._began = self.scene.changes

    def __repr__(self) -> str:
        return f"<interaction {self.name}>"

    @property
    def failed(self) -> bool:
        """Whether the person sees "The application did not respond"."""
        return self.answer is None and self.scene.clock.now() - self.at > self.scene.limits.answer_seconds

    async def answered(self, *, seconds: float = WAIT_SECONDS) -> Answer:
        """Wait for the first answer of the bot."""
        return await self.scene.signal.until(lambda: self.answer, lambda: f"an answer to {self}", seconds)

    async def seen(self, wanted: Wanted, *, seconds: float = WAIT_SECONDS) -> Message:
        """The first message of this interaction that has that text, pattern or property."""

        def look() -> Message | None:
            return next((m for m in self._shown() if m.changed > self._began and fits(m, wanted)), None)

        return await self.scene.signal.until(look, lambda: f"{wanted!r} in {self}; {self._told()}", seconds)

    async def replies(self, count: int = 1, *, seconds: float = WAIT_SECONDS) -> list[Message]:
        """All that the bot answered with, when there are `count` at least and it has said all."""
        what = f"{count} messages of {self}"
        await self.scene.signal.until(lambda: len(self._shown()) >= count, lambda: f"{what}; {self._told()}", seconds)
        await self.scene.signal.settled(QUIET_SECONDS)
        return self._shown()

    async def opened(self, *, seconds: float = WAIT_SECONDS) -> Modal:
        """The modal that the bot answers with."""
        return await self.scene.signal.until(lambda: self.modal, lambda: f"a modal for {self}", seconds)

    def watch(self) -> None:
        """Count it when the bot is told now and has not answered in time."""
        asyncio.get_running_loop().call_later(self.scene.limits.answer_seconds, self._check_answered)

    def json(self) -> Json:
        """INTERACTION_CREATE."""
        guild = self.channel.guild
        body: Json = {
            "id": self.id,
            "application_id": self.scene.app_id,
            "type": self.kind,
            "data": self.data,
            "token": self.token,
            "version": 1,
            "channel_id": self.channel.id,
            "channel": self.channel.json() | {"permissions": str(self.channel.permissions_of(self.user))},
            "app_permissions": str(self.channel.bot_permissions),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": guild.id if guild else "0"},
            "context": 0 if guild else 1,
            "attachment_size_limit": self.scene.limits.file_bytes,
        }
        if guild is None:
            body["user"] = self.user.json()
        else:
            member = guild.members[self.user.id].json()
            member["permissions"] = str(self.channel.permissions_of(self.user))
            body |= {"guild_id": guild.id, "guild_locale": "en-US", "member": member}
            body["guild"] = {"id": guild.id, "locale": "en-US", "features": []}
        return body | ({"message": self.message.json()} if self.message else {})

    def _check_answered(self) -> None:
        if self.called_at is None and self.scene.gateway.connected:
            self.late = True
            self.scene.note(f"INTERACTION {self.name}", f"no answer within {self.scene.limits.answer_seconds:g} s")
        self.channel.touch()

    def _shown(self) -> list[Message]:
        return [message for message in self.messages if message.shown]

    def _told(self) -> str:
        answer = self.answer.name if self.answer else "none"
        return f"the first answer: {answer}, messages: {[message.text[:200] for message in self._shown()]}"


def _input(raw: Json, label: str) -> Input:
    return Input(
        data=raw["custom_id"],
        text=label,
        value=raw.get("value") or "",
        required=raw.get("required", True),
        shortest=raw.get("min_length") or 0,
        longest=raw.get("max_length") or 4000,
    )
