"""People with Slack's own client: what they do reaches the app as events, commands and interactions.

What the client would not let them do raises ClientRefused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from platforms.core import ClientRefused, Json
from platforms.slack.channels import Button, Channel, Message, tell, tell_changed, tell_deleted
from platforms.slack.deliveries import Delivery
from platforms.slack.modals import filled_in, take_answer
from platforms.slack.payloads import container, message_payload, opener, response_url, user_payload
from platforms.slack.scene import Scene
from platforms.slack.wire import encode, escape

TEXT_LIMIT = 12_000
"""The client makes a snippet of more."""


class User:
    """A person, or the bot of another app."""

    def __init__(
        self, scene: Scene, user_id: str, name: str, *, handle: str, private: Channel, bot: bool = False
    ) -> None:
        """`private` is the direct chat with our bot."""
        self.scene, self.id, self.name, self.handle, self.private = scene, user_id, name, handle, private
        self.bot_id = f"B{user_id[1:]}" if bot else ""
        self.is_admin = self.is_owner = self.deactivated = False
        self.views: list[Json] = []
        """The open modals, the last one on top."""

    def __repr__(self) -> str:
        return f"<user {self.name}>"

    def json(self) -> Json:
        return {
            "id": self.id,
            "team_id": self.scene.app.team,
            "name": self.handle,
            "real_name": self.name,
            "deleted": self.deactivated,
            "is_bot": bool(self.bot_id),
            "is_admin": self.is_admin,
            "is_owner": self.is_owner,
            "is_primary_owner": self.is_owner,
            "tz": "Europe/London",
            "profile": {"real_name": self.name, "display_name": self.name},
        }

    async def say(
        self, text: str, channel: Channel | None = None, *, thread: Message | None = None, broadcast: bool = False
    ) -> Message:
        """Write in a channel, or in a thread of it; in the direct chat with the bot unless told where."""
        if text.split(" ", maxsplit=1)[0] in self.scene.app.manifest.commands:
            raise ClientRefused("the client would run this as a slash command")
        return self._send(text, channel, thread, {"subtype": "thread_broadcast"} if broadcast else {})

    async def mention(self, text: str, channel: Channel | None = None, *, thread: Message | None = None) -> Message:
        """Write to the bot by its name."""
        return await self.say(f"@{self.scene.app.manifest.username} {text}", channel, thread=thread)

    async def command(self, text: str, channel: Channel | None = None, *, thread: Message | None = None) -> Delivery:
        """Type a slash command. In a thread the client refuses it, and one that no app declares anywhere."""
        channel = channel or self.private
        self._check_inside(channel)
        word, _, rest = text.partition(" ")
        if word not in self.scene.app.manifest.commands:
            raise ClientRefused(f"{word} is not a valid command")
        if thread is not None:
            raise ClientRefused(f"{word} is not supported in threads. Sorry!")
        escaped = self.scene.app.manifest.commands[word]
        payload = {
            **opener(self.scene, self, channel),
            "command": word,
            "text": encode(rest, self.scene.names, named=True) if escaped else escape(rest),
        }
        channel.acted(None)
        return self.scene.deliveries.command(payload, self, channel)

    async def press(self, button: str | Button, message: Message | None = None) -> Delivery:
        """Press a button by its label, value or action_id.

        A Button that was taken before may have been changed or deleted since: a press that was on its way.
        """
        if isinstance(button, str):
            if message is None:
                raise ClientRefused("a label needs its message")
            if message.deleted:
                raise ClientRefused("the message is gone")
            button = message.button(button)
        action = {name: button.raw[name] for name in _PRESSED if name in button.raw}
        return self._act(button.message, action)

    async def select(self, option: str, message: Message) -> Delivery:
        """Choose an option of a message's menu by its label or value."""
        if message.deleted:
            raise ClientRefused("the message is gone")
        menu, chosen = message.option(option)
        action = {name: menu[name] for name in ("type", "action_id", "block_id", "placeholder") if name in menu}
        return self._act(message, action | {"selected_option": chosen})

    async def submit(self, values: Mapping[str, str] | None = None) -> Delivery:
        """Send off the modal on top, with values by action_id; `answered()` is what the app said to it."""
        await self.modal()
        view = filled_in(self.views[-1], values or {})
        payload: Json = {
            "type": "view_submission",
            **self._context(),
            "trigger_id": self.scene.trigger(self),
            "view": view,
            "response_urls": [],
        }
        delivery = self.scene.deliveries.interaction(payload, self, None)
        take_answer(self.views, view, await delivery.answered())
        return delivery

    async def modal(self) -> Json:
        """The modal on top, when there is one."""
        await self.scene.signal.until(lambda: self.views, lambda: f"a modal before {self.name}")
        return self.views[-1]

    async def close_modal(self) -> None:
        """Dismiss the modal on top; the app is told if it asked for that."""
        view = self.views.pop()
        if view.get("notify_on_close"):
            payload: Json = {"type": "view_closed", **self._context(), "view": view, "is_cleared": False}
            self.scene.deliveries.interaction(payload, self, None)

    async def shortcut(self, message: Message, callback_id: str) -> Delivery:
        """Choose one of the app's shortcuts from the menu of a message."""
        self._check_sees(message)
        if self.scene.app.manifest.shortcuts.get(callback_id) != "message":
            raise ClientRefused(f"no shortcut {callback_id!r} is declared for messages")
        if message.ephemeral:
            raise ClientRefused("a message that only one sees has no shortcuts")
        channel = message.channel
        payload: Json = {
            "type": "message_action",
            **self._context(),
            "callback_id": callback_id,
            "trigger_id": self.scene.trigger(self),
            "response_url": response_url(self.scene, self, channel),
            "action_ts": self.scene.ts(),
            "message_ts": message.ts,
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            "message": message_payload(message),
        }
        channel.acted(message.thread_ts)
        return self.scene.deliveries.interaction(payload, self, channel)

    async def edit(self, message: Message, text: str) -> None:
        """Change one's own message. With the same text: Slack changed something about it, such as a preview."""
        self._check_own(message)
        before = dict(message.raw)
        wire = encode(text, self.scene.names)
        message.channel.show_instead(message, {"text": wire, "blocks": [_rich(text)]})
        message.raw["edited"] = {"user": self.id, "ts": self.scene.ts()}
        message.channel.acted(message.thread_ts)
        tell_changed(message, before)

    async def delete(self, message: Message) -> None:
        self._check_own(message)
        message.channel.remove(message)
        tell_deleted(message)

    async def send_file(
        self,
        name: str,
        data: bytes,
        channel: Channel | None = None,
        *,
        comment: str = "",
        mime: str = "text/plain",
        thread: Message | None = None,
    ) -> Message:
        """Send a file, with words to it or without."""
        channel = channel or self.private
        stored = self.scene.store(name, len(data), self.id, mime=mime, data=data)
        more: Json = {"subtype": "file_share", "files": [self.scene.file_json(stored)]}
        message = self._send(comment, channel, thread, more, data=data)
        stored.shared, stored.shares = True, {channel.id: [{"ts": message.ts}]}
        return message

    async def open_assistant(self, beside: Channel | None = None) -> Message:
        """Open the assistant's panel, maybe while looking at a channel; answers the thread's first message."""
        app = self.scene.app
        raw = {**app.author(), "text": "New Assistant Thread", "subtype": "assistant_app_thread"}
        root = self.private.add(raw)
        root.raw["thread_ts"] = root.ts
        context: Json = {"channel_id": beside.id, "team_id": app.team, "enterprise_id": None} if beside else {}
        thread = {"user_id": self.id, "context": context, "channel_id": self.private.id, "thread_ts": root.ts}
        event = {"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": self.scene.ts()}
        self.private.acted(root.ts)
        self.scene.deliveries.event("assistant_thread_started", event)
        return root

    async def add_bot(self, channel: Channel) -> None:
        """Invite the bot into a channel."""
        self._check_inside(channel)
        channel.bot_in = True
        self._moved("member_joined_channel", channel, self.scene.app.user_id, inviter=self.id)

    async def kick_bot(self, channel: Channel) -> None:
        self._check_inside(channel)
        channel.bot_in = False
        kind = "group_left" if channel.kind == "group" else "channel_left"
        event = {"type": kind, "channel": channel.id, "actor_id": self.id, "event_ts": self.scene.ts()}
        self.scene.deliveries.event(kind, event)

    async def join(self, channel: Channel) -> None:
        channel.members.append(self.id)
        self._moved("member_joined_channel", channel, self.id)

    async def leave(self, channel: Channel) -> None:
        self._check_inside(channel)
        channel.members.remove(self.id)
        self._moved("member_left_channel", channel, self.id)

    async def archive(self, channel: Channel) -> None:
        self._check_inside(channel)
        channel.archived = True
        event = {"type": "channel_archive", "channel": channel.id, "user": self.id, "event_ts": self.scene.ts()}
        self.scene.deliveries.event("channel_archive", event)

    def _send(
        self, text: str, channel: Channel | None, thread: Message | None, more: Json, *, data: bytes | None = None
    ) -> Message:
        channel = channel or self.private
        self._check_may_write(channel, thread)
        if not (text.strip() or data is not None) or len(text) > TEXT_LIMIT:
            raise ClientRefused(f"a message has 1 to {TEXT_LIMIT} characters")
        raw: Json = {
            "user": self.id,
            "text": encode(text, self.scene.names),
            "team": self.scene.app.team,
            "client_msg_id": self.scene.new_id("client-"),
            "blocks": [_rich(text)] if text else [],
            **more,
        }
        if self.bot_id:
            raw |= {"bot_id": self.bot_id, "app_id": f"A{self.id[1:]}"}
        if thread is not None:
            parent = channel.messages.get(thread.root)
            raw |= {"thread_ts": thread.root, "parent_user_id": parent.raw.get("user") if parent else None}
        message = channel.add(raw, data=data)
        tell(message)
        if f"<@{self.scene.app.user_id}>" in message.wire and channel.kind != "im" and channel.bot_in:
            mention = {**message.raw, "type": "app_mention", "channel": channel.id, "event_ts": message.ts}
            self.scene.deliveries.event("app_mention", mention)
        return message

    def _act(self, message: Message, action: Json) -> Delivery:
        self._check_sees(message)
        channel = message.channel
        payload: Json = {
            "type": "block_actions",
            **self._context(),
            "trigger_id": self.scene.trigger(self),
            "response_url": response_url(self.scene, self, channel, message),
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            "container": container(message),
            "state": {"values": {}},
            "actions": [action | {"action_ts": self.scene.ts()}],
        }
        if not message.ephemeral:
            payload["message"] = message_payload(message)
        channel.acted(message.thread_ts)
        return self.scene.deliveries.interaction(payload, self, channel)

    def _context(self) -> Json:
        app = self.scene.app
        return {
            "user": user_payload(self),
            "api_app_id": app.id,
            "token": "verification-token",
            "team": {"id": app.team, "domain": app.domain},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _moved(self, kind: str, channel: Channel, user_id: str, **more: Any) -> None:
        if not channel.bot_in:
            return
        place = {"channel": channel.id, "channel_type": "G" if channel.kind == "group" else "C"}
        team = {"team": self.scene.app.team, "event_ts": self.scene.ts()}
        self.scene.deliveries.event(kind, {"type": kind, "user": user_id, **place, **team, **more})

    def _check_may_write(self, channel: Channel, thread: Message | None) -> None:
        self._check_inside(channel)
        if channel.archived:
            raise ClientRefused(f"{channel} is archived")
        if channel.kind == "im" and not self.scene.app.manifest.direct:
            raise ClientRefused("Sending messages to this app has been turned off.")
        if thread is not None and (thread.channel is not channel or thread.ephemeral):
            raise ClientRefused("there is no such thread")

    def _check_inside(self, channel: Channel) -> None:
        if self.id not in channel.members or self.deactivated:
            raise ClientRefused(f"{self.name} is not in {channel}")

    def _check_sees(self, message: Message) -> None:
        self._check_inside(message.channel)
        if message.only_for not in (None, self.id):
            raise ClientRefused(f"only {message.only_for} sees that message")

    def _check_own(self, message: Message) -> None:
        if message.deleted or message.raw.get("user") != self.id:
            raise ClientRefused("only one's own messages can be changed")


class Webhook:
    """Writes into channels without being anybody: messages of the subtype bot_message, without a user."""

    def __init__(self, scene: Scene, bot_id: str, name: str) -> None:
        self.scene, self.bot_id, self.name = scene, bot_id, name

    async def say(self, text: str, channel: Channel) -> Message:
        raw = {"subtype": "bot_message", "bot_id": self.bot_id, "username": self.name}
        message = channel.add({**raw, "text": encode(text, self.scene.names)})
        tell(message)
        return message


def _rich(text: str) -> Json:
    """The blocks of what people write, which say the same as its text."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


_PRESSED = ("type", "action_id", "block_id", "text", "value", "url", "style")
