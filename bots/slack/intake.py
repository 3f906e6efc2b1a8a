"""Takes in what Slack tells: each thing once, claimed with its payload before anything runs, and in order for each
place.

What was claimed but had not begun when the program ended is begun at the next start, without the addresses and
triggers that came with it: those are secrets, and old by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from turnback.bots.desk import Desk
from turnback.bots.lanes import Lanes
from turnback.bots.slack.answering import ResponseUrl
from turnback.bots.slack.directory import Directory
from turnback.bots.slack.hosts import is_slacks
from turnback.bots.slack.incoming import Incoming
from turnback.bots.slack.keys import Spot
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.reading import Heard, Kind, claim_key, form, hear, kept
from turnback.bots.slack.trouble import NETWORK
from turnback.core.models import Surface
from turnback.core.tasks import Tasks
from turnback.core.threads.store import ThreadStore

SETTLE_SECONDS = 1.0
"""How long what has begun may take to end, when the program does."""

FORM_SECONDS = 3.0
"""A modal can be opened for so long after a press."""

_log = structlog.get_logger(__name__)


class Intake:
    """The way of something from Slack to the desk, which is handed it in order, and keeps it where it matters."""

    def __init__(
        self,
        outlet: SlackOutlet,
        threads: ThreadStore,
        directory: Directory,
        desk: Desk,
        *,
        api_base_url: str | None = None,
        is_allowed: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._outlet = outlet
        self._threads = threads
        self._directory = directory
        self._incoming = Incoming(outlet, directory, api_base_url)
        self._desk = desk
        self._api_base_url = api_base_url
        self._is_allowed = is_allowed
        self._clock = clock
        self._lanes = Lanes()
        self._tasks = Tasks()

    def take(self, kind: Kind, body: Mapping[str, Any]) -> asyncio.Task[bool] | None:
        """Begin what is for us. The task ends when it is claimed: True if it is new. None: it is not for us."""
        heard, key = hear(kind, body, self._directory.me, self._is_allowed), claim_key(kind, body)
        if heard is None or key is None:
            return None
        if heard.asks:
            self._tasks.start(self._ask(heard, str(body.get("trigger_id"))))
            return None
        now = self._clock()
        payload = {"kind": kind, "body": kept(body)}
        claiming = self._tasks.start(self._claim(heard, key, payload, now))
        self._begin(heard, key, now, self._url(body), claiming)
        return claiming

    def note_assistant(self, body: Mapping[str, Any]) -> None:
        """Somebody opens an assistant's thread."""
        thread = (body.get("event") or {}).get("assistant_thread") or {}
        if thread.get("channel_id") and thread.get("thread_ts"):
            team = self._directory.me.team
            self._outlet.note_assistant(Spot(team, str(thread["channel_id"]), str(thread["thread_ts"])))

    async def redo(self) -> None:
        """Begin what was claimed but never begun."""
        for claim in await self._threads.unstarted_claims():
            if claim.surface is not Surface.SLACK or not claim.key.startswith(f"{self._directory.me.team}:"):
                continue
            heard = hear(claim.payload["kind"], claim.payload["body"], self._directory.me, self._is_allowed)
            if heard is not None:
                self._begin(heard, claim.key, claim.created_at, None, None)

    async def close(self) -> None:
        """Let what has begun come to its end, if it takes not too long; the rest is begun at the next start."""
        await self._lanes.settle(SETTLE_SECONDS)
        await self._tasks.settle(SETTLE_SECONDS)
        self._lanes.cancel()

    def _begin(
        self, heard: Heard, key: str, at: datetime, url: ResponseUrl | None, claiming: asyncio.Task[bool] | None
    ) -> None:
        async def work() -> None:
            try:
                if claiming is None or await claiming:
                    await self._hand_over(heard, key, at, url)
            except Exception:  # noqa: BLE001 - one thing must not end the work on all others of its place
                _log.exception("update failed", surface=Surface.SLACK.value)

        self._lanes.add(heard.spot.key, work, within=heard.kind == "left")

    async def _claim(self, heard: Heard, key: str, payload: Mapping[str, Any], now: datetime) -> bool:
        """Whether it is for us and new. What people say to one another is not even kept."""
        if heard.doubtful and not await self._is_for_us(heard):
            return False
        if heard.kind == "message":
            self._directory.note_writer(heard.spot, heard.user)
        return await self._threads.claim(Surface.SLACK, key, payload, now)

    async def _is_for_us(self, heard: Heard) -> bool:
        """Whether somebody who does not name us speaks to us: in a thread of ours that nobody else writes in."""
        if await self._threads.bound(Surface.SLACK, heard.spot.key) is None:
            return False
        return await self._directory.is_alone(heard.spot, heard.user)

    async def _hand_over(self, heard: Heard, key: str, at: datetime, url: ResponseUrl | None) -> None:
        if heard.kind == "left":
            # Who is gone must not stay in, so it is marked as begun only when it is done; twice does no harm.
            await self._desk.left(self._incoming.left(heard))
            await self._threads.start_claim(Surface.SLACK, key)
            return
        if not await self._threads.start_claim(Surface.SLACK, key):
            return
        if heard.perhaps and await self._threads.bound(Surface.SLACK, heard.perhaps.key) is not None:
            heard = replace(heard, spot=heard.perhaps)
        if heard.kind == "press":
            self._tasks.start(self._desk.press(await self._incoming.press(heard, at, url)))
        else:
            heard = replace(heard, addressed=heard.addressed or heard.doubtful)
            message = await self._incoming.message(heard, key, at, url)
            self._tasks.start(self._desk.message(message))

    async def _ask(self, heard: Heard, trigger: str) -> None:
        """Open the modal that asks for a command's last word, at once or not at all."""
        try:
            async with asyncio.timeout(FORM_SECONDS):
                await self._outlet.client.views_open(trigger_id=trigger, view=form(heard))
        except (SlackApiError, *NETWORK) as error:
            _log.warning("form not opened", surface=Surface.SLACK.value, reason=type(error).__name__)

    def _url(self, body: Mapping[str, Any]) -> ResponseUrl | None:
        url = body.get("response_url")
        if not isinstance(url, str) or not is_slacks(url, self._api_base_url):
            return None
        return ResponseUrl(url, asyncio.get_running_loop().time())
