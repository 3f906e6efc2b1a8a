"""Channels and messages, and how a test waits for what the bot says in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from platforms.core import WAIT_SECONDS, ClientRefused, Json, Signal
from platforms.slack import blocks as kit
from platforms.slack.scene import Scene
from platforms.slack.wire import decode, pings

Kind = Literal["channel", "group", "im", "mpim"]
"""A public channel, a private one, a direct chat with the bot, a direct chat of several."""

Wanted = str | re.Pattern[str] | Callable[["Message"], bool]

QUIET_SECONDS = 0.15
"""The bot has said all when nothing changed for so long."""


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button as it is on a message now."""

    message: Message = field(repr=False)
    text: str
    value: str | None
    action_id: str
    url: str | None
    raw: Json = field(repr=False)


@dataclass(eq=False, kw_only=True)
class Message:
    """A message; `raw` is what Slack says of it, `text` what people read."""

    channel: Channel = field(repr=False)
    raw: Json
    only_for: str | None = None
    """Whom an ephemeral message is shown to."""
    from_bot: bool = False
    data: bytes | None = field(default=None, repr=False)
    deleted: bool = False
    edits: list[str] = field(default_factory=list)
    """Its earlier texts."""
    reactions: dict[str, set[str]] = field(default_factory=dict)
    created: int = 0
    changed: int = 0

    @property
    def ts(self) -> str:
        return str(self.raw["ts"])

    @property
    def thread_ts(self) -> str | None:
        """The ts of the message that its thread begins with; None outside threads."""
        return self.raw.get("thread_ts")

    @property
    def root(self) -> str:
        """The thread that an answer in its thread belongs to."""
        return self.thread_ts or self.ts

    @property
    def ephemeral(self) -> bool:
        return self.only_for is not None

    @property
    def blocks(self) -> list[Json]:
        return [block for block in self.raw.get("blocks") or [] if block["type"] != "rich_text"]

    @property
    def wire(self) -> str:
        """The top-level text as it was sent: what notifications and screen readers take."""
        return str(self.raw.get("text", ""))

    @property
    def text(self) -> str:
        names = self.channel.scene.names
        if not self.blocks:
            return decode(self.wire, names)
        found = kit.texts(self.blocks)
        return "\n".join(
            each["text"] if each["type"] == "plain_text" else decode(each["text"], names) for each in found
        )

    @property
    def pings(self) -> set[str]:
        """Whom it calls."""
        found = [each["text"] for each in kit.texts(self.blocks) if each["type"] != "plain_text"]
        return pings(" ".join([self.wire, *found]))

    @property
    def buttons(self) -> list[Button]:
        return [
            Button(
                message=self,
                text=raw["text"]["text"],
                value=raw.get("value"),
                action_id=raw.get("action_id", ""),
                url=raw.get("url"),
                raw=raw,
            )
            for raw in kit.elements(self.blocks)
            if raw["type"] == "button"
        ]

    @property
    def selects(self) -> list[Json]:
        """Its menus, each with "options"."""
        return [raw for raw in kit.elements(self.blocks) if raw["type"] in kit.OPTIONS]

    @property
    def files(self) -> list[Json]:
        return list(self.raw.get("files") or [])

    def button(self, wanted: str) -> Button:
        """The one button with that label, value or action_id, or whose label alone has it as a part."""
        exact = [button for button in self.buttons if wanted in (button.text, button.value, button.action_id)]
        found = exact or [button for button in self.buttons if wanted in button.text]
        if len(found) != 1:
            labels = [button.text for button in self.buttons]
            raise ClientRefused(f"{len(found)} buttons {wanted!r} among {labels} of {self.text[:80]!r}")
        return found[0]

    def option(self, wanted: str) -> tuple[Json, Json]:
        """The one menu and its option with that label or value, or whose label alone has it as a part."""
        every = [(menu, option) for menu in self.selects for option in menu["options"]]
        exact = [each for each in every if wanted in (each[1]["text"]["text"], each[1]["value"])]
        found = exact or [each for each in every if wanted in each[1]["text"]["text"]]
        if len(found) != 1:
            labels = [option["text"]["text"] for _, option in every]
            raise ClientRefused(f"{len(found)} options {wanted!r} among {labels} of {self.text[:80]!r}")
        return found[0]


class Channel:
    """A channel, or a direct chat."""

    def __init__(self, scene: Scene, channel_id: str, kind: Kind, *, name: str = "", creator: str = "") -> None:
        self.scene, self.id, self.kind, self.name, self.creator = scene, channel_id, kind, name, creator
        self.signal = Signal()
        self.members: list[str] = []
        self.bot_in = True
        self.archived = False
        self.messages: dict[str, Message] = {}
        self.statuses: list[tuple[str, str]] = []
        """What assistant.threads.setStatus showed, each with its thread_ts; an empty text takes it away."""
        self.titles: dict[str, str] = {}
        """Of assistant threads, by thread_ts."""
        self._last_act: dict[str | None, int] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name or self.id}>"

    def json(self) -> Json:
        body: Json = {
            "id": self.id,
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "group",
            "is_im": self.kind == "im",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel",
            "is_archived": self.archived,
            "created": 1_700_000_000,
            "context_team_id": self.scene.app.team,
        }
        if self.kind == "im":
            return body | {"user": self.members[0]}
        return body | {"name": self.name, "creator": self.creator, "is_member": self.bot_in}

    def add(
        self, raw: Json, *, only_for: str | None = None, from_bot: bool = False, data: bytes | None = None
    ) -> Message:
        """Put a message into the channel."""
        raw = {"type": "message", "ts": self.scene.ts(), **raw}
        for number, block in enumerate(raw.get("blocks") or []):
            block.setdefault("block_id", f"b{number}.{raw['ts']}")
        change = self.scene.change()
        message = Message(
            channel=self, raw=raw, only_for=only_for, from_bot=from_bot, data=data, created=change, changed=change
        )
        self.messages[message.ts] = message
        if not from_bot:
            self.acted(message.thread_ts, counted=False)
        self.touch()
        return message

    def show_instead(self, message: Message, content: Json) -> None:
        """Change a message: its text and blocks become `content`."""
        message.edits.append(message.text)
        kept = {name: value for name, value in message.raw.items() if name not in ("text", "blocks")}
        message.raw = kept | content
        for number, block in enumerate(message.raw.get("blocks") or []):
            block.setdefault("block_id", f"b{number}.{self.scene.changes}")
        message.changed = self.scene.change()
        self.touch()

    def remove(self, message: Message) -> None:
        message.deleted = True
        self.scene.change()
        self.touch()

    def touch(self) -> None:
        self.signal.touch()
        self.scene.signal.touch()

    def acted(self, thread_ts: str | None, *, counted: bool = True) -> None:
        """Somebody did something here, maybe without writing, such as pressing a button."""
        if counted:
            self.scene.change()
        self._last_act[None] = self._last_act[thread_ts] = self.scene.changes

    def find_message(self, ts: str) -> Message | None:
        """A message that everybody here can see."""
        message = self.messages.get(ts)
        return message if message and not message.deleted and not message.ephemeral else None

    def mark(self) -> int:
        """Now, for `since`."""
        return self.scene.changes

    async def seen(
        self, wanted: Wanted, *, thread: Message | None = None, since: int | None = None, seconds: float = WAIT_SECONDS
    ) -> Message:
        """The first message of the bot, new or edited since, that has that text, pattern or property."""
        mark = self._since(thread) if since is None else since

        def look() -> Message | None:
            return next((m for m in self._of_bot(thread) if m.changed > mark and _fits(m, wanted)), None)

        return await self.signal.until(look, lambda: f"{wanted!r} in {self}; {self._told(thread)}", seconds)

    async def replies(
        self, count: int = 1, *, thread: Message | None = None, since: int | None = None, seconds: float = WAIT_SECONDS
    ) -> list[Message]:
        """All new messages of the bot, when there are `count` at least and it has said all."""
        mark = self._since(thread) if since is None else since

        def look() -> list[Message]:
            return [message for message in self._of_bot(thread) if message.created > mark]

        what = f"{count} messages in {self}"
        await self.signal.until(lambda: len(look()) >= count, lambda: f"{what}; {self._told(thread)}", seconds)
        await self.signal.settled(QUIET_SECONDS)
        return look()

    async def no_replies(self, *, thread: Message | None = None, since: int | None = None) -> None:
        """Fail if the bot says anything once it has been told everything."""
        since = self._since(thread) if since is None else since
        await self.scene.deliveries.settled()
        await self.signal.settled(QUIET_SECONDS)
        said = [m.text for m in self._of_bot(thread) if m.changed > since]
        assert not said, f"the bot said in {self}: {said}"

    async def gone(self, message: Message, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until it is deleted."""
        await self.signal.until(lambda: message.deleted, lambda: f"{message} is deleted", seconds)

    async def status(self, wanted: str, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until an assistant's status has shown that text."""
        look = lambda: any(wanted in text for text, _ in self.statuses)  # noqa: E731
        await self.signal.until(look, lambda: f"the status {wanted!r}: {self.statuses}", seconds)

    def said(self, thread: Message | None = None) -> list[Message]:
        """All that the bot said here and did not delete."""
        return list(self._of_bot(thread))

    def find(self, text: str) -> Message:
        """The last message with that text, whoever wrote it."""
        return next(m for m in reversed(self.messages.values()) if text in m.text and not m.deleted)

    def _of_bot(self, thread: Message | None) -> Iterator[Message]:
        for message in list(self.messages.values()):
            if message.from_bot and not message.deleted and (thread is None or message.thread_ts == thread.root):
                yield message

    def _since(self, thread: Message | None) -> int:
        return self._last_act.get(thread.root if thread else None, 0)

    def _told(self, thread: Message | None) -> str:
        return f"the bot's last messages: {[message.text[:200] for message in self._of_bot(thread)][-4:]}"


def tell(message: Message, change: Json | None = None) -> None:
    """Send the event of a message, or of a change to it, if the app is told of it."""
    channel = message.channel
    if message.ephemeral or not channel.bot_in:
        return
    event = {**(message.raw if change is None else change), "channel": channel.id, "channel_type": channel.kind}
    channel.scene.deliveries.event(f"message.{_EVENTS[channel.kind]}", {"event_ts": event["ts"], **event})


def tell_changed(message: Message, before: Json) -> None:
    change = {"message": message.raw, "previous_message": before, "hidden": True}
    tell(message, _hidden(message, "message_changed", change))


def tell_deleted(message: Message) -> None:
    change = {"previous_message": message.raw, "deleted_ts": message.ts, "hidden": True}
    tell(message, _hidden(message, "message_deleted", change))


def _hidden(message: Message, subtype: str, change: Json) -> Json:
    return {"type": "message", "subtype": subtype, **change, "ts": message.channel.scene.ts()}


def _fits(message: Message, wanted: Wanted) -> bool:
    if isinstance(wanted, str):
        return wanted in message.text
    if isinstance(wanted, re.Pattern):
        return bool(wanted.search(message.text))
    return wanted(message)


_EVENTS: dict[Kind, str] = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
