"""The queue of updates: polled with offsets, or handed to a webhook and sent again until it answers 2xx.

An update stays until it is confirmed, so a bot that dies before it asks again gets it once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx2
from platforms.core import WAIT_SECONDS, Clock, Json, Signal, counter
from platforms.telegram.refusals import Refused

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
KEPT_SECONDS = 24 * 3600
DELIVERY_SECONDS = 10.0
FIRST_WAIT, LONGEST_WAIT = 0.05, 1.0

_CLOSED = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
_TERMINATED = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


@dataclass(eq=False)
class _Waiting:
    update: Json
    at: float
    handed_out: bool = False


@dataclass(kw_only=True)
class Webhook:
    """Where updates are posted, and how that went."""

    url: str = ""
    secret: str = ""
    last_error: str = ""
    last_error_at: int = 0


class Updates:
    """What the bot is yet to be told."""

    def __init__(self, clock: Clock, on_answer: Callable[[Json], Awaitable[object]]) -> None:
        """`on_answer` runs a method that a webhook put into its answer."""
        self.allowed: frozenset[str] | None = None
        self.webhook = Webhook()
        self.history: list[Json] = []
        self.handed_at: dict[int, float] = {}
        """When each update was first handed out, by its id."""
        self.refused_deliveries = 0
        self._clock, self._on_answer = clock, on_answer
        self._next_id = counter(100_000_001)
        self._waiting: deque[_Waiting] = deque()
        self._changed = Signal()
        self._poll: asyncio.Future[None] | None = None
        self._delivering: asyncio.Task[None] | None = None

    @property
    def pending(self) -> int:
        return len(self._waiting)

    def push(self, kind: str, payload: Json) -> Json | None:
        """A new update; None when the bot asked not to be told of this kind."""
        wanted = kind in self.allowed if self.allowed else kind not in NOT_BY_DEFAULT
        if not wanted:
            return None
        update: Json = {"update_id": self._next_id(), kind: copy.deepcopy(payload)}
        self.history.append(update)
        self._queue(update)
        return update

    def redeliver(self, update: Json | None = None) -> None:
        """Hand out an update once more, with its old id; the last one unless told which."""
        self._queue(update or self.history[-1])

    async def taken(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the bot has been handed every update."""
        look = lambda: all(waiting.handed_out for waiting in self._waiting)  # noqa: E731
        await self._changed.until(look, lambda: "the bot takes its updates", seconds)

    async def confirmed(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the bot has confirmed every update."""
        await self._changed.until(lambda: not self._waiting, lambda: "the bot confirms its updates", seconds)

    def allow(self, kinds: object) -> None:
        """Keep the kinds that a bot names; naming none at all keeps those of the last time."""
        if isinstance(kinds, list):
            self.allowed = frozenset(map(str, kinds)) or None

    def clear(self) -> None:
        self._waiting.clear()
        self._changed.touch()

    async def poll(self, offset: int, limit: int, seconds: float) -> list[Json]:
        """getUpdates. A second poller ends the first, which is refused with 409."""
        if self.webhook.url:
            raise Refused(409, _CLOSED, violation=True)
        if self._poll and not self._poll.done():
            self._poll.set_exception(Refused(409, _TERMINATED, violation=True))
        self._confirm(offset)
        if not self._waiting and seconds > 0:
            await self._wait_for_one(seconds)
        batch = list(self._waiting)[: min(max(limit, 1), 100)]
        for waiting in batch:
            self._hand_out(waiting)
        self._changed.touch()
        return [waiting.update for waiting in batch]

    def set_webhook(self, url: str, secret: str) -> None:
        self.webhook = Webhook(url=url, secret=secret)
        self._deliver_soon()

    def remove_webhook(self) -> None:
        self.webhook = Webhook()

    def resume(self) -> None:
        """Go on with a webhook after `stop`."""
        self._deliver_soon()

    async def stop(self) -> None:
        if self._delivering:
            self._delivering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._delivering

    def _queue(self, update: Json) -> None:
        self._waiting.append(_Waiting(update, self._clock.now()))
        if self._poll and not self._poll.done():
            self._poll.set_result(None)
        self._deliver_soon()

    def _hand_out(self, waiting: _Waiting) -> None:
        waiting.handed_out = True
        self.handed_at.setdefault(waiting.update["update_id"], self._clock.now())

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self._waiting = deque(list(self._waiting)[offset:])
        old = self._clock.now() - KEPT_SECONDS
        self._waiting = deque(
            waiting
            for waiting in self._waiting
            if waiting.at > old and not (waiting.handed_out and waiting.update["update_id"] < offset)
        )
        self._changed.touch()

    async def _wait_for_one(self, seconds: float) -> None:
        poll = self._poll = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await poll
        except TimeoutError:
            pass
        finally:
            if self._poll is poll:
                self._poll = None

    def _deliver_soon(self) -> None:
        if self.webhook.url and self._waiting and (self._delivering is None or self._delivering.done()):
            self._delivering = asyncio.create_task(self._deliver())

    async def _deliver(self) -> None:
        wait = FIRST_WAIT
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=DELIVERY_SECONDS) as client:
            while self._waiting and self.webhook.url:
                waiting = self._waiting[0]
                self._hand_out(waiting)
                if await self._posted(client, waiting.update):
                    if waiting in self._waiting:
                        self._waiting.remove(waiting)
                    self._changed.touch()
                    wait = FIRST_WAIT
                else:
                    await asyncio.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)

    async def _posted(self, client: httpx2.AsyncClient, update: Json) -> bool:
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.webhook.secret} if self.webhook.secret else {}
        try:
            answer = await client.post(self.webhook.url, json=update, headers=headers)
        except httpx2.HTTPError as error:
            self._note(f"Connection failed: {type(error).__name__}")
            return False
        if not answer.is_success:
            self._note(f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}")
            return False
        if answer.content.strip().startswith(b"{") and "method" in (call := answer.json()):
            await self._on_answer(call)
        return True

    def _note(self, error: str) -> None:
        self.refused_deliveries += 1
        self.webhook.last_error, self.webhook.last_error_at = error, int(self._clock.now())
        self._changed.touch()
