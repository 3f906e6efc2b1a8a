"""What the methods of the Web API share: reading parameters, and finding what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from platforms.core import Call, Json
from platforms.slack import blocks as kit
from platforms.slack.channels import Channel, Kind, Message
from platforms.slack.rates import Rates
from platforms.slack.refusals import missing, too_many, wrong
from platforms.slack.wire import unescaped
from platforms.slack.world import World

TEXT_LIMIT, TEXT_ADVISED, UPDATE_LIMIT = 40_000, 4000, 4000
BLOCKS_TEXT_LIMIT, BLOCKS_TEXT_SAFE = 12_000, 9500
"""Slack refuses some messages between the two: https://github.com/slackapi/bolt-js/issues/2509."""

_FAMILIES: dict[Kind, str] = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
_TS = re.compile(r"\d{9,12}\.\d{6}")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a test may make smaller, so that it need not move megabytes or wait."""

    upload_bytes: int = 1 << 30
    answer_seconds: float = 1800.0
    """How long a response_url is good."""
    answer_uses: int = 5


class Params:
    """The parameters of one call; JSON comes as text from forms."""

    def __init__(self, values: Json) -> None:
        self._values = values

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return "" if value is None else str(value)

    def needed(self, name: str) -> str:
        if not (value := self.text(name)):
            raise wrong("invalid_arguments", f"[ERROR] missing required field: {name}")
        return value

    def number(self, name: str, default: int = 0) -> int:
        raw = self.text(name).strip() or str(default)
        if not raw.isdigit():
            raise wrong("invalid_arguments", f"[ERROR] must be a number: {name}")
        return int(raw)

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in ("true", "1")

    def json(self, name: str, error: str = "invalid_arguments") -> Any:
        value = self._values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise wrong(error) from None

    def ts(self, name: str, error: str) -> str:
        """A message's id, which is a text that looks like a number; "" where there is none."""
        value = self._values.get(name)
        if value in (None, ""):
            return ""
        if not isinstance(value, str) or not _TS.fullmatch(value):
            raise wrong(error, f"{name} {value!r} is no ts of a message as text")
        return value


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call, in the world that it is about."""

    world: World
    rates: Rates
    limits: Limits
    call: Call
    params: Params

    @property
    def violations(self) -> list[str]:
        return self.call.violations

    def need_scope(self, *scopes: str) -> None:
        """One of these must have been granted."""
        granted = self.world.scene.app.manifest.scopes
        if not granted & set(scopes):
            raise wrong("missing_scope", needed=scopes[0], provided=",".join(sorted(granted)))

    def need_family(self, channel: Channel, act: str) -> None:
        """The scope for that kind of channel, such as "groups:read"."""
        self.need_scope(f"{_FAMILIES[channel.kind]}:{act}")

    def channel(self, name: str = "channel", *, write: bool = False) -> Channel:
        """The channel of that id. A private one that the bot is not in does not exist for it."""
        channel_id = self.params.text(name)
        channel = self.world.channels.get(channel_id)
        if channel is None and write:
            channel = self.world.direct(channel_id)
        if channel is None:
            raise wrong("channel_not_found")
        if channel.kind != "channel" and not channel.bot_in:
            raise missing("channel_not_found")
        if write:
            self._check_writable(channel)
        return channel

    def message(self, channel: Channel, name: str = "ts", error: str = "message_not_found") -> Message:
        """A message that all can see; gone is gone, but a ts never given is a mistake."""
        ts = self.params.ts(name, error)
        message = channel.messages.get(ts)
        if message is None or message.ephemeral:
            raise wrong(error)
        if message.deleted:
            raise missing(error)
        return message

    def thread(self, channel: Channel) -> str:
        """The thread to write in; "" where none is named."""
        ts = self.params.ts("thread_ts", "invalid_thread_ts")
        if not ts:
            return ""
        parent = channel.messages.get(ts)
        if parent is None:
            raise wrong("invalid_thread_ts")
        if parent.ephemeral:
            raise wrong("cannot_reply_to_message")
        if parent.root != ts:
            self.violations.append("thread_ts names a reply, not the message that its thread begins with")
        replied = any(each.thread_ts == parent.root and not each.deleted for each in channel.messages.values())
        if parent.deleted and not replied:
            raise missing("thread_not_found")
        return parent.root

    def content(self, *, update: bool = False) -> Json:
        """The checked text and blocks."""
        values = {name: self.params.json(name, "invalid_blocks_format") for name in ("blocks", "attachments")}
        values |= {name: self.params.text(name) for name in ("text", "markdown_text")}
        return read_content(values, self.violations, update=update)

    def count_post(self, channel: Channel) -> None:
        """One message more for the rate limit of its channel."""
        over = self.rates.take_post(channel.id)
        if over is not None:
            sentence, seconds = over
            self.violations.append(sentence)
            if self.rates.mode == "enforce":
                raise too_many(seconds)

    def count_call(self) -> None:
        over = self.rates.take_call(self.call.method)
        if over is not None:
            sentence, seconds = over
            self.violations.append(sentence)
            if self.rates.methods == "enforce":
                raise too_many(seconds)

    def _check_writable(self, channel: Channel) -> None:
        if channel.archived:
            raise missing("is_archived")
        if channel.kind == "im" and not self.world.scene.app.manifest.direct:
            raise wrong("messages_tab_disabled")
        if not channel.bot_in and "chat:write.public" not in self.world.scene.app.manifest.scopes:
            raise missing("not_in_channel")


def read_content(values: Json, violations: list[str], *, update: bool = False, api: bool = True) -> Json:
    """The checked text and blocks of a message; what Slack lets pass but a good app avoids is a violation.

    `api`: whether it came over the Web API, where all text of the blocks together is limited.
    """
    text, blocks, markdown = str(values.get("text") or ""), values.get("blocks"), values.get("markdown_text")
    if values.get("attachments"):
        raise wrong("invalid_attachments", "this project sends none")
    if markdown:
        return {"text": "", "blocks": [_markdown_block(str(markdown), text, blocks)]}
    if not text.strip() and not blocks:
        raise wrong("no_text")
    if blocks is not None:
        _check_blocks(blocks, violations, api=api)
        if not text.strip():
            violations.append("blocks without a text for notifications and screen readers")
    text = _checked_text(text, violations, update=update)
    return {"text": text, "blocks": blocks} if blocks else {"text": text}


def _markdown_block(markdown: str, text: str, blocks: Any) -> Json:
    if text or blocks:
        raise wrong("markdown_text_conflict")
    if len(markdown) > kit.MARKDOWN_LIMIT:
        raise wrong("msg_too_long")
    return {"type": "markdown", "text": markdown}


def _check_blocks(blocks: Any, violations: list[str], *, api: bool) -> None:
    problems = kit.Problems()
    kit.check_blocks(blocks, problems)
    if problems.sentences:
        raise wrong("invalid_blocks", *problems.sentences)
    size = kit.text_size(blocks)
    if api and size > BLOCKS_TEXT_LIMIT:
        raise wrong("msg_blocks_too_long")
    if api and size > BLOCKS_TEXT_SAFE:
        violations.append(f"{size} characters in all blocks, where Slack may refuse over {BLOCKS_TEXT_SAFE}")
    for each in kit.texts(blocks):
        if each["type"] == "mrkdwn":
            violations += unescaped(each["text"])


def _checked_text(text: str, violations: list[str], *, update: bool) -> str:
    violations += unescaped(text)
    if update and len(text) > UPDATE_LIMIT:
        raise wrong("msg_too_long")
    if len(text) > TEXT_LIMIT:
        violations.append(f"a text of {len(text)} characters, of which Slack keeps {TEXT_LIMIT}")
        return text[:TEXT_LIMIT]
    if len(text) > TEXT_ADVISED:
        violations.append(f"a text of {len(text)} characters, where Slack advises {TEXT_ADVISED}")
    return text


Handler = Callable[[Request], Json]
