"""Speaks in Slack's channels: what is said becomes messages within its limits, and edits and deletions of them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from turnback.bots.platform import Down, Said, Unreachable
from turnback.bots.slack.buttons import Block, shortened
from turnback.bots.slack.keys import Spot, spot_of
from turnback.bots.slack.markup import Content, Shape, content, shape
from turnback.bots.slack.pacing import Pacer
from turnback.bots.slack.trouble import NETWORK, TOKEN_REFUSED, MessageGone, Unformatted, sent
from turnback.bots.slack.wire import escaped
from turnback.core.models import Surface

TITLE = 150
THINKING = "is thinking…"

_SHOWN_KEPT = 4096


class SlackOutlet:
    """See `platform.Outlet`. `refused` is set once Slack does not take our token any more."""

    surface = Surface.SLACK
    edit_every = 1.5

    def __init__(self, client: AsyncWebClient, pacer: Pacer) -> None:
        self.client = client
        self.refused = asyncio.Event()
        self._pacer = pacer
        self._shown: OrderedDict[tuple[str, str], Content] = OrderedDict()
        self._direct: dict[str, str] = {}
        self._assistants: OrderedDict[str, None] = OrderedDict()

    async def send(self, place: str, said: Said) -> Sequence[str]:
        """Show something."""
        return await self.show(spot_of(place), await shape(said))

    async def show(self, spot: Spot, what: Shape) -> list[str]:
        """Show what is cut already."""
        ids = [await self.post(spot, each) for each in what.contents]
        return ids if what.file is None else [*ids, *await self._upload(spot, *what.file)]

    async def edit(self, place: str, messages: Sequence[str], said: Said) -> Sequence[str]:
        """Show this instead; deletes messages that are not needed any more, adds those that are missing."""
        spot, what = spot_of(place), await shape(said)
        if what.file is not None:
            new = await self.show(spot, what)
            await self.delete(place, messages)
            return new
        ids = list[str]()
        for number, each in enumerate(what.contents):
            old = messages[number] if number < len(messages) else None
            ids.append(await (self.post(spot, each) if old is None else self._change(spot, old, each)))
        if left := messages[len(what.contents) :]:
            await self.delete(place, left)
        return ids

    async def delete(self, place: str, messages: Sequence[str]) -> None:
        """Delete messages; those that are gone stay so."""
        channel = spot_of(place).channel
        for message in messages:
            with suppress(Unreachable, MessageGone):
                await self._sent(lambda ts=message: self.client.chat_delete(channel=channel, ts=ts))
            self._shown.pop((channel, message), None)

    async def typing(self, place: str) -> None:
        """Slack shows bots writing in an assistant's threads only. It is a courtesy: nothing is said of trouble."""
        spot = spot_of(place)
        if place in self._assistants:
            with suppress(SlackApiError, *NETWORK):
                await self.client.assistant_threads_setStatus(
                    channel_id=spot.channel, thread_ts=str(spot.thread), status=THINKING
                )

    def note_assistant(self, spot: Spot) -> None:
        """This is an assistant's thread."""
        self._assistants[spot.key] = None
        if len(self._assistants) > _SHOWN_KEPT:
            self._assistants.popitem(last=False)

    async def open_beside(self, place: str, title: str) -> str | None:
        """Open a thread in the same channel."""
        spot = spot_of(place)
        channel = Spot(spot.team, spot.channel)
        try:
            root = await self.post(channel, content(shortened(title, TITLE) or "…", []))
        except Unreachable:
            return None
        return Spot(spot.team, spot.channel, root).key

    async def direct(self, user_key: str) -> str | None:
        """The direct chat with a user."""
        team, _, user = user_key.partition(":")
        if not user:
            return None
        if user_key not in self._direct:
            try:
                opened = await self._sent(lambda: self.client.conversations_open(users=user))
            except Unreachable:
                return None
            self._direct[user_key] = Spot(team, opened["channel"]["id"]).key
        return self._direct[user_key]

    async def post(self, spot: Spot, what: Content) -> str:
        """A new message; answers its ts."""

        async def go(blocks: Sequence[Block] | None) -> str:
            async def call() -> Any:
                async with self._pacer.message(spot.channel):
                    return await self.client.chat_postMessage(
                        channel=spot.channel,
                        thread_ts=spot.thread,
                        unfurl_links=False,
                        unfurl_media=False,
                        **_body(what, blocks),
                    )

            return str((await self._sent(call))["ts"])

        ts = str(await _formatted(go, what))
        self._note_shown(spot.channel, ts, what)
        return ts

    async def whisper(self, spot: Spot, user: str, what: Content) -> None:
        """A message that only one person of a channel sees."""

        async def go(blocks: Sequence[Block] | None) -> str:
            async def call() -> Any:
                async with self._pacer.whisper():
                    return await self.client.chat_postEphemeral(
                        channel=spot.channel, thread_ts=spot.thread, user=user, **_body(what, blocks)
                    )

            await self._sent(call)
            return ""

        await _formatted(go, what)

    async def permalink(self, spot: Spot, message: str) -> str | None:
        """The address of a message; None where Slack does not say."""
        try:
            said = await self.client.chat_getPermalink(channel=spot.channel, message_ts=message)
        except (SlackApiError, *NETWORK):
            return None
        return str(said["permalink"])

    async def _change(self, spot: Spot, old: str, what: Content) -> str:
        """Show something in a message, in a new one if it is gone."""
        if self._shown.get((spot.channel, old)) == what:
            return old

        async def go(blocks: Sequence[Block] | None) -> str:
            async def call() -> Any:
                async with self._pacer.edit():
                    return await self.client.chat_update(channel=spot.channel, ts=old, **_body(what, blocks))

            await self._sent(call)
            return old

        try:
            await _formatted(go, what)
        except MessageGone:
            return await self.post(spot, what)
        self._note_shown(spot.channel, old, what)
        return old

    async def _upload(self, spot: Spot, name: str, data: bytes) -> list[str]:
        """Share a file; answers its message, if Slack says by then which one that is."""

        async def call() -> Any:
            async with self._pacer.message(spot.channel):
                return await self.client.files_upload_v2(
                    channel=spot.channel, thread_ts=spot.thread, content=data, filename=name, title=name
                )

        file = (await self._sent(call))["files"][0]
        return [
            str(share["ts"]) for kind in (file.get("shares") or {}).values() for share in kind.get(spot.channel, ())
        ]

    async def _sent(self, call: Any) -> Any:
        try:
            return await sent(call)
        except Down as down:
            if str(down) == TOKEN_REFUSED:
                self.refused.set()
            raise

    def _note_shown(self, channel: str, ts: str, what: Content) -> None:
        self._shown[channel, ts] = what
        self._shown.move_to_end((channel, ts))
        if len(self._shown) > _SHOWN_KEPT:
            self._shown.popitem(last=False)


async def _formatted(go: Any, what: Content) -> Any:
    """With blocks; where Slack takes those not, in plain words."""
    try:
        return await go(what.blocks)
    except Unformatted:
        return await go(None)


def _body(what: Content, blocks: Sequence[Block] | None) -> dict[str, Any]:
    if blocks is None:
        return {"text": escaped(what.plain), "blocks": []}
    return {"text": what.text, "blocks": list(blocks)}
