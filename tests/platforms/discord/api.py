"""A call as the routes see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from platforms.core import Call, Json
from platforms.discord import permissions
from platforms.discord.channels import Channel, Kind
from platforms.discord.guilds import Guild
from platforms.discord.messages import Message
from platforms.discord.refusals import forbidden, missing, wrong
from platforms.discord.rules import LOADING, check_message
from platforms.discord.scene import Scene


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call: where, and with what. `body` is JSON of any shape; `path` are the parts that a route names."""

    scene: Scene
    call: Call
    body: Any
    path: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    count_pings: bool = True

    @property
    def form(self) -> Json:
        return self.body if isinstance(self.body, dict) else {}

    @property
    def items(self) -> list[Json]:
        return self.body if isinstance(self.body, list) else []

    def guild(self) -> Guild:
        guild = self.scene.guilds.get(self.path["guild"])
        if guild is None or not guild.has_bot:
            raise missing(10004, "Guild")
        return guild

    def channel(self, *needed: str) -> Channel:
        """The channel of the path, in which the bot has these permissions."""
        channel = self.scene.channels.get(self.path["channel"])
        if channel is None:
            raise missing(10003, "Channel")
        if not channel.bot_sees:
            raise forbidden(50001, "Missing Access")
        swaps = {"send_messages": "send_messages_in_threads"} if channel.is_thread else {}
        if not all(permissions.has(channel.bot_permissions, swaps.get(name, name)) for name in needed):
            raise forbidden(50013, "Missing Permissions")
        return channel

    def message(self, channel: Channel) -> Message:
        """The message of the path; what only one person sees is not there."""
        message = channel.messages.get(self.path["message"])
        if message is None or message.deleted or message.ephemeral:
            raise missing(10008, "Message")
        return message

    def sendable(self, form: Json) -> Json:
        """The fields of a new message, once they are found to be in order."""
        check_message(form, self.files)
        fields: Json = {
            "text": form.get("content") or "",
            "embeds": [{"type": "rich", **embed} for embed in form.get("embeds") or []],
            "components": numbered(form.get("components") or []),
            "flags": form.get("flags") or 0,
        }
        if not (fields["text"].strip() or fields["embeds"] or fields["components"] or self.files):
            raise wrong(50006, "Cannot send an empty message")
        return fields

    def sent(self, message: Message) -> Json:
        """Count whom a new message of the bot notifies, and answer it."""
        quiet = message.channel.kind is Kind.DM or message.ephemeral
        if message.pings and self.count_pings and not quiet:
            self.call.violations.append(f"notifies {sorted(message.pings)}: allowed_mentions lets it")
        return message.json()

    def edit(self, message: Message, form: Json) -> Json:
        """Change a message of the bot; what is not named stays."""
        check_message(form, self.files)
        text = (form["content"] or "") if "content" in form else message.text
        embeds = form.get("embeds", message.embeds) or []
        components = numbered(form["components"] or []) if "components" in form else message.components
        attachments = message.attachments
        if form.get("attachments") is not None:
            kept = {str(attachment["id"]) for attachment in form["attachments"]}
            attachments = [attachment for attachment in attachments if attachment["id"] in kept]
        if not (text.strip() or embeds or components or attachments or self.files):
            raise wrong(50006, "Cannot send an empty message")
        if not message.loading:
            message.edits.append(message.text)
            message.edited_at = self.scene.now()
        message.text, message.embeds, message.components = text.strip(), embeds, components
        message.attachments = attachments
        message.attach(self.files)
        show(message)
        message.channel.tell("MESSAGE_UPDATE", message)
        return message.json()


Handler = Callable[[Request], Any]
"""Answers JSON, or None for 204."""


def show(message: Message) -> None:
    """A message changed, or stands now where the bot was only thinking."""
    change = message.channel.scene.change()
    if message.loading:
        message.flags &= ~LOADING
        message.created = change
    message.changed = change
    message.channel.touch()


def numbered(components: list[Json], start: int = 1) -> list[Json]:
    """Every component with the number that the server gives it."""
    result = []
    for component in components:
        copy = {"id": start, **component}
        start += 1
        if component.get("components"):
            copy["components"] = numbered(component["components"], start)
            start += len(component["components"])
        result.append(copy)
    return result
