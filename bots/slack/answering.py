"""Answers to just what was asked: by the address that came with it, in the channel, or before one person alone.

Slack takes five answers at a `response_url` within half an hour; after that, and where it does not work, the
Web API does. What was asked privately is never shown to others instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slack_sdk.webhook.async_client import AsyncWebhookClient

from turnback.bots.platform import Down, Said, Unreachable
from turnback.bots.slack.keys import Spot, spot_of, user_key
from turnback.bots.slack.markup import Content, Shape, shape
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.trouble import NETWORK

USES = 5
GOOD_SECONDS = 1790.0
POST_SECONDS = 20


@dataclass(slots=True)
class ResponseUrl:
    """An address for answers. It is a secret, so it is kept in memory only."""

    url: str = field(repr=False)
    given_at: float
    uses: int = 0

    @property
    def is_good(self) -> bool:
        """Whether Slack still takes an answer there."""
        return self.uses < USES and asyncio.get_running_loop().time() - self.given_at < GOOD_SECONDS

    async def post(self, body: dict[str, Any]) -> bool:
        """Answer; False where Slack does not take it."""
        self.uses += 1
        try:
            done = await AsyncWebhookClient(self.url, timeout=POST_SECONDS).send_dict(body)
        except NETWORK:
            return False
        return done.status_code == 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asked what where. `by_url_first`: a command, which may come from where we are not.

    What is said by its address nobody can take away or change later, as Slack does not say which message it is.
    """

    spot: Spot
    user: str
    response_url: ResponseUrl | None = None
    by_url_first: bool = False


class Answers:
    """Ways back to who asked."""

    def __init__(self, outlet: SlackOutlet) -> None:
        self._outlet = outlet

    async def __call__(self, asked: Asked, said: Said, *, private: bool = False) -> Sequence[str]:
        """See `platform.Back`."""
        what = await self._linked(asked, said, await shape(said))
        if private and asked.spot.is_group:
            for each in what.contents:
                await self._privately(asked, each)
            if what.file is not None:
                await self._directly(asked, Shape((), what.file))
            return ()
        return await self._openly(asked, what)

    async def _openly(self, asked: Asked, what: Shape) -> Sequence[str]:
        ids = list[str]()
        for number, each in enumerate(what.contents):
            if asked.by_url_first and await self._by_url(asked, each, openly=True):
                continue
            try:
                ids.append(await self._outlet.post(asked.spot, each))
            except Unreachable:
                if not await self._by_url(asked, each, openly=True):
                    return [*ids, *await self._rest(asked, replace(what, contents=what.contents[number:]))]
        if what.file is None:
            return ids
        return [*ids, *await self._rest(asked, Shape((), what.file))]

    async def _rest(self, asked: Asked, what: Shape) -> Sequence[str]:
        """Where it was asked; where we cannot speak there, in the direct chat."""
        try:
            return await self._outlet.show(asked.spot, what)
        except Unreachable:
            await self._directly(asked, what)
            return ()

    async def _privately(self, asked: Asked, what: Content) -> None:
        if asked.by_url_first and await self._by_url(asked, what, openly=False):
            return
        try:
            await self._outlet.whisper(asked.spot, asked.user, what)
        except Unreachable:
            if not await self._by_url(asked, what, openly=False):
                await self._directly(asked, Shape((what,)))

    async def _directly(self, asked: Asked, what: Shape) -> None:
        place = await self._outlet.direct(user_key(asked.spot.team, asked.user))
        if place is None:
            raise Unreachable("neither the place nor the direct chat")
        await self._outlet.show(spot_of(place), what)

    async def _by_url(self, asked: Asked, what: Content, *, openly: bool) -> bool:
        url = asked.response_url
        if url is None or not url.is_good:
            return False
        body: dict[str, Any] = {
            "text": what.text,
            "blocks": list(what.blocks),
            "response_type": "in_channel" if openly else "ephemeral",
            "replace_original": False,
            "unfurl_links": False,
        }
        if asked.spot.thread is not None:
            body["thread_ts"] = asked.spot.thread
        return await url.post(body)

    async def _linked(self, asked: Asked, said: Said, what: Shape) -> Shape:
        """With a link to the message that it is a reply to: Slack's messages answer none."""
        if said.reply_to is None or not what.contents:
            return what
        try:
            link = await self._outlet.permalink(asked.spot, said.reply_to)
        except Down:
            link = None
        if link is None:
            return what
        words = {"type": "mrkdwn", "text": f"<{link}|The message where this chat now stands>"}
        first = what.contents[0]
        text_blocks = [block for block in first.blocks if block["type"] != "actions"]
        rest = [block for block in first.blocks if block["type"] == "actions"]
        context = {"type": "context", "elements": [words]}
        return replace(what, contents=(replace(first, blocks=(*text_blocks, context, *rest)), *what.contents[1:]))
