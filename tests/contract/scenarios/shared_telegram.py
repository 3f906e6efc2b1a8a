"""The Telegram scenarios once more, against another simulated Bot API server: a second opinion on the rules.

That server lies beside the project, in ../shared/platform_sim; where it does not, these runs are skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from contract.scenarios import telegram as own
from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup
from platforms.core import Clock

T = TypeVar("T")

FOLDER = Path(__file__).parents[4] / "shared" / "platform_sim"

FEATURES = own.FEATURES - {Feature.LIVE_COPIES, Feature.FORMS}
"""It confirms by numbers alone, so that it cannot hand out an update again to a bot that still runs; and it gives a
wish for an answer (ForceReply) back as if that were a keyboard, which Telegram does not, and the library cannot read.
"""


def missing() -> str:
    """Why it cannot be had; empty if it can."""
    return "" if FOLDER.is_dir() else "there is no ../shared/platform_sim here"


def telegram(folder: Path, setup: Setup) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return own.telegram(folder, setup, SharedNet.open)


class SharedClock(Clock):
    """The server's clock."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now(self) -> float:
        return float(self._clock.time())

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)


class SharedNet:
    """That server as a `Net`."""

    features = FEATURES

    def __init__(self, sim: Any) -> None:
        self.sim, self.clock = sim, _clock(sim)
        self.name, self.token, self.base_url = str(sim.username), str(sim.token), str(sim.base_url)
        self._last: Any = None
        push = sim.push

        def push_and_keep(kind: str, payload: Any) -> None:
            push(kind, payload)
            self._last = sim.updates[-1] if sim.updates else self._last

        sim.push = push_and_keep

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """A server whose bot hears everything in groups."""
        async with _module().TelegramSim(username="turnback_bot", privacy_mode=False) as sim:
            yield cls(sim)

    def user(self, name: str) -> Any:
        return self.sim.user(name)

    def room(self, title: str, people: Sequence[Any], *, forum: bool) -> Any:
        chat = self.sim.supergroup(title, list(people), forum=forum)
        return chat.bot_admin() if forum else chat

    def topic(self, chat: Any, title: str) -> Any:
        return chat.topic(title)

    def find_topic(self, chat: Any, title: str) -> Any | None:
        return next((number for number, topic in chat.topics.items() if title in topic["name"]), None)

    def said(self, chat: Any, topic: Any) -> Sequence[Any]:
        mine = [message for message in chat.bot_messages if not message.deleted]
        return [message for message in mine if topic is None or message.thread == topic]

    def file(self, message: Any) -> bytes | None:
        document = message.raw.get("document")
        return self.sim.files[document["file_id"]][1] if document else None

    def address(self, button: Any) -> str | None:
        url: str | None = button.data.get("url")
        return url

    def answered(self, message: Any) -> str | None:
        to = message.raw.get("reply_to_message")
        return str(to.get("text", "")) if to else None

    async def press(self, user: Any, button: Any) -> None:
        await user.click(button)

    def hear_edits(self) -> None:
        self.sim.allowed = {"message", "edited_message", "callback_query"}

    def redeliver(self) -> None:
        self.sim.updates.append(self._last)

    async def taken(self) -> None:
        await self.until(lambda: not self.sim.updates, lambda: "the bot takes its updates")

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        try:
            return await self.sim.until(look, WAIT_SECONDS)  # type: ignore[no-any-return]
        except TimeoutError:
            raise AssertionError(f"not within {WAIT_SECONDS} s: {what()}") from None

    async def quiet(self) -> None:
        await self.sim.quiet()

    def complaints(self) -> Sequence[str]:
        return [f"{call.method if call else ''}: {sentence}" for call, sentence in self.sim.violations]

    def unanswered(self) -> Sequence[Any]:
        return list(self.sim.unanswered)


def _clock(sim: Any) -> Clock:
    return SharedClock(sim.clock)


@cache
def _module() -> Any:
    """Its module, by path: it is no package that is installed, and nothing is written beside it."""
    spec = importlib.util.spec_from_file_location(
        "platform_sim", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None
    assert spec.loader is not None
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        sys.modules["platform_sim"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        return importlib.import_module("platform_sim.sim_telegram")
    finally:
        sys.dont_write_bytecode = before
