"""People with Discord's own client: what they do reaches the bot through the gateway.

What the client would not let them do raises ClientRefused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from platforms.core import ClientRefused, Json
from platforms.discord import permissions, picking
from platforms.discord.channels import Channel, Kind
from platforms.discord.command_rules import MESSAGE
from platforms.discord.components import BUTTON, LABEL, ROW, SELECT, TEXT_INPUT, walk
from platforms.discord.guilds import Guild
from platforms.discord.interactions import AUTOCOMPLETE, COMMAND, COMPONENT, SUBMIT, Interaction
from platforms.discord.messages import (
    DEFAULT,
    REMOVED,
    REPLY,
    THREAD_CREATED,
    THREAD_STARTER,
    Button,
    Choice,
    Message,
    Select,
)
from platforms.discord.rules import CONTENT_LIMIT
from platforms.discord.scene import Account, Scene


@dataclass(frozen=True, kw_only=True, eq=False)
class User(Account):
    """A person, or another bot that writes."""

    scene: Scene = field(repr=False)

    @property
    def private(self) -> Channel:
        """The direct chat with the bot."""
        if self.id not in self.scene.directs:
            self.scene.directs[self.id] = Channel(self.scene, Kind.DM, self.name, recipient=self)
        return self.scene.directs[self.id]

    async def say(
        self,
        text: str,
        channel: Channel | None = None,
        *,
        reply_to: Message | None = None,
        ping: bool = True,
        files: Mapping[str, bytes] | None = None,
    ) -> Message:
        """Write in a channel; in the direct chat with the bot unless told where. `ping`: a reply tells its author."""
        channel = channel or self.private
        if len(text.strip()) > CONTENT_LIMIT or not (text.strip() or files):
            raise ClientRefused(f"a message has 1 to {CONTENT_LIMIT} characters")
        self._check_may_write(channel)
        if reply_to and (reply_to.deleted or reply_to.channel is not channel):
            raise ClientRefused("there is no such message to reply to")
        channel.archived = False
        allowed = {"parse": ["users", "roles", "everyone"], "replied_user": ping}
        kind = REPLY if reply_to else DEFAULT
        channel.acted()
        return channel.add(self, text, files=files, allowed_mentions=allowed, type=kind, reply_to=reply_to)

    async def send_document(
        self, name: str, data: bytes, channel: Channel | None = None, *, caption: str = ""
    ) -> Message:
        return await self.say(caption, channel, files={name: data})

    async def edit(self, message: Message, text: str) -> None:
        if message.deleted or message.author is not self:
            raise ClientRefused("only one's own messages can be edited")
        message.edits.append(message.text)
        message.text, message.edited_at = text, self.scene.now()
        message.channel.acted()
        message.channel.tell("MESSAGE_UPDATE", message)

    async def delete(self, message: Message) -> None:
        may = permissions.has(message.channel.permissions_of(self), "manage_messages") and message.channel.guild
        if message.deleted or not (message.author is self or may):
            raise ClientRefused("this message is not theirs to delete")
        message.deleted = True
        message.channel.tell("MESSAGE_DELETE", message)

    async def command(self, text: str, channel: Channel | None = None) -> Interaction:
        """Type a slash command with its options in one line."""
        return await self.slash(text, channel)

    async def slash(self, text: str, channel: Channel | None = None, /, **options: object) -> Interaction:
        """Pick a slash command, such as "/replay restore", and fill in its options."""
        channel = channel or self.private
        self._check_sees(channel)
        picked = picking.pick(self, channel, text, options)
        return self._interact(channel, COMMAND, picked.data(), name=f"/{picked.name}")

    async def autocomplete(self, text: str, channel: Channel | None = None, /, **options: object) -> list[Choice]:
        """What is offered while the last of the options is being typed."""
        channel = channel or self.private
        self._check_sees(channel)
        picked = picking.pick(self, channel, text, options)
        focus = list(options)[-1]
        spec = next((spec for spec in picked.specs if spec["name"] == focus), {})
        if not spec.get("autocomplete"):
            raise ClientRefused(f"/{picked.name} completes no {focus!r}")
        asked = self._interact(channel, AUTOCOMPLETE, picked.data(focus=focus), name=f"/{picked.name} {focus}")
        await asked.answered(seconds=self.scene.limits.answer_seconds)
        return asked.choices

    async def context_menu(self, name: str, message: Message) -> Interaction:
        """Choose an entry of the bot in a message's menu."""
        self._check_sees_message(message)
        data = picking.pick_menu(self, message.channel, MESSAGE, name)
        data |= {"target_id": message.id, "resolved": {"messages": {message.id: message.json()}}}
        return self._interact(message.channel, COMMAND, data, name=name)

    async def press(self, button: str | Button, message: Message | None = None) -> Interaction:
        """Press a button by its label or custom id."""
        if isinstance(button, str):
            if message is None:
                raise ClientRefused("a label needs its message")
            button = message.button(button)
        self._check_sees_message(button.message)
        if button.data is None:
            raise ClientRefused(f"{button.text!r} opens {button.url}; the bot is not told")
        if button.disabled or button.data not in {other.data for other in button.message.buttons}:
            raise ClientRefused(f"{button.text!r} cannot be pressed any more")
        data = {"custom_id": button.data, "component_type": BUTTON}
        return self._interact(button.message.channel, COMPONENT, data, name=button.text, message=button.message)

    async def select(self, value: str | Choice, menu: Message | Select, *more: str | Choice) -> Interaction:
        """Choose of a select, by value or label; a message must have just one."""
        if isinstance(menu, Message):
            if len(menu.selects) != 1:
                raise ClientRefused(f"{len(menu.selects)} selects on {menu.text[:80]!r}")
            menu = menu.selects[0]
        self._check_sees_message(menu.message)
        values = [_value(menu, wanted) for wanted in (value, *more)]
        if not menu.fewest <= len(values) <= menu.most or menu.kind != SELECT:
            raise ClientRefused(f"one cannot choose {values}")
        data = {"custom_id": menu.data, "component_type": menu.kind, "values": values}
        return self._interact(menu.message.channel, COMPONENT, data, name=menu.data, message=menu.message)

    async def submit(self, asked: Interaction, values: Mapping[str, str]) -> Interaction:
        """Fill in the modal that an interaction opened, by labels or custom ids, and send it."""
        modal = await asked.opened()
        if unknown := values.keys() - {key for field in modal.inputs for key in (field.text, field.data)}:
            raise ClientRefused(f"no inputs {sorted(unknown)} in {modal}")
        filled: dict[str, str] = {}
        for entry in modal.inputs:
            value = values.get(entry.text, values.get(entry.data, entry.value))
            if (entry.required and not value) or (value and not entry.shortest <= len(value) <= entry.longest):
                raise ClientRefused(f"{entry.text!r} cannot be {value!r}")
            filled[entry.data] = value
        data = {"custom_id": modal.data, "components": [_filled(row, filled) for row in modal.raw["components"]]}
        return self._interact(asked.channel, SUBMIT, data, name=modal.title, message=asked.message)

    async def open_thread(
        self, name: str, start: Channel | Message, *, private: bool = False, bot: bool = True
    ) -> Channel:
        """Open a thread in a channel or from a message. `bot`: whether a private one has the bot in it."""
        parent = start.channel if isinstance(start, Message) else start
        self._check_sees(parent)
        kind = Kind.PRIVATE_THREAD if private else Kind.PUBLIC_THREAD
        thread = open_thread(self, parent, kind, name, start=start if isinstance(start, Message) else None)
        if private and bot:
            thread.inside.add(self.scene.bot.id)
            self.scene.gateway.tell("THREAD_CREATE", thread.json(), intents=1)
        return thread

    async def open_post(self, name: str, text: str, forum: Channel) -> Channel:
        """Open a post in a forum; its first message has the id of the thread."""
        if forum.kind is not Kind.FORUM:
            raise ClientRefused(f"{forum} is no forum")
        thread = open_thread(self, forum, Kind.PUBLIC_THREAD, name)
        thread.acted()
        thread.add(self, text, message_id=thread.id)
        return thread

    async def join(self, guild: Guild) -> None:
        guild.join(self)

    async def leave(self, guild: Guild) -> None:
        guild.leave(self)

    async def remove(self, other: User, thread: Channel) -> None:
        """Put somebody out of a thread, which all see there."""
        if not thread.is_thread or not permissions.has(thread.permissions_of(self), "manage_messages"):
            raise ClientRefused(f"{self.name} cannot put anybody out of {thread}")
        thread.inside.discard(other.id)
        thread.add(self, "", type=REMOVED, removed=other)

    async def block_bot(self) -> None:
        self.private.blocked = True

    async def unblock_bot(self) -> None:
        self.private.blocked = False

    def _interact(
        self, channel: Channel, kind: int, data: Json, *, name: str, message: Message | None = None
    ) -> Interaction:
        channel.acted()
        asked = Interaction(self, channel, kind, data, name=name, message=message)
        self.scene.interactions[asked.token] = asked
        if self.scene.gateway.tell("INTERACTION_CREATE", asked.json()):
            asked.watch()
        return asked

    def _check_may_write(self, channel: Channel) -> None:
        self._check_sees(channel)
        right = "send_messages_in_threads" if channel.is_thread else "send_messages"
        if channel.kind is Kind.FORUM or not permissions.has(channel.permissions_of(self), right):
            raise ClientRefused(f"{self.name} cannot write in {channel}")
        if channel.locked and not permissions.has(channel.permissions_of(self), "manage_threads"):
            raise ClientRefused(f"{channel} is locked")

    def _check_sees(self, channel: Channel) -> None:
        if channel.deleted or not permissions.has(channel.permissions_of(self), "view_channel"):
            raise ClientRefused(f"{self.name} does not see {channel}")
        if channel.recipient not in (None, self):
            raise ClientRefused(f"{channel} is private")

    def _check_sees_message(self, message: Message) -> None:
        self._check_sees(message.channel)
        if not message.shown or message.visible_to not in (None, self):
            raise ClientRefused(f"{self.name} does not see {message}")


def open_thread(owner: Account, parent: Channel, kind: Kind, name: str, *, start: Message | None = None) -> Channel:
    """A new thread, and the messages with which the platform itself tells of it."""
    guild = parent.guild
    if guild is None or parent.is_thread or (start and start.thread):
        raise ClientRefused(f"no thread can be opened in {parent}")
    thread = Channel(
        parent.scene, kind, name, guild=guild, parent=parent, owner=owner, channel_id=start.id if start else ""
    )
    guild.add_thread(thread)
    if start is not None:
        start.thread = thread
        parent.tell("MESSAGE_UPDATE", start)
        thread.add(start.author, "", type=THREAD_STARTER)
    elif kind is Kind.PUBLIC_THREAD and parent.kind is Kind.TEXT:
        parent.add(owner, name, type=THREAD_CREATED)
    return thread


def _value(menu: Select, wanted: str | Choice) -> str:
    wanted = wanted.value if isinstance(wanted, Choice) else wanted
    found = [option.value for option in menu.options if wanted in (option.value, option.name)]
    found = found or [option.value for option in menu.options if wanted in option.name]
    if len(found) != 1:
        raise ClientRefused(f"{len(found)} options {wanted!r} among {[option.name for option in menu.options]}")
    return found[0]


def _filled(row: Json, values: Mapping[str, str]) -> Json:
    """A row or label of a modal as it is sent back."""
    entries = [
        {"type": TEXT_INPUT, "custom_id": entry["custom_id"], "value": values[entry["custom_id"]]}
        for entry, _ in walk([row])
        if entry["type"] == TEXT_INPUT
    ]
    if row["type"] == LABEL:
        return {"type": LABEL, "component": entries[0]} if entries else {"type": LABEL}
    return {"type": ROW, "components": entries}
