"""The Telegram scenarios once more, against another simulated Bot API server: a second opinion on the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from contract.scenarios import telegram as own
from contract.scenarios.driver import Driver, Feature, Setup
from contract.scenarios.nets import Seen, Spot
from contract.scenarios.shared import SharedClock, SharedNet, module

FEATURES = own.FEATURES - {Feature.LIVE_COPIES, Feature.FORMS, Feature.LEAVING}
"""It confirms by numbers alone, so that it cannot hand out an update again to a bot that still runs; and it gives a
wish for an answer (ForceReply) back as if that were a keyboard, which Telegram does not, and the library cannot read.
Nobody leaves its groups.
"""


def telegram(folder: Path, setup: Setup) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return own.telegram(folder, setup, SharedTelegram.open)


@dataclass(frozen=True)
class SharedSeen:
    """A message of that server."""

    sim: Any
    native: Any

    @property
    def id(self) -> int:
        return int(self.native.id)

    @property
    def deleted(self) -> bool:
        return bool(self.native.deleted)

    @property
    def hidden(self) -> bool:
        return False

    @property
    def text(self) -> str:
        document = self.native.raw.get("document")
        return self.sim.files[document["file_id"]][1].decode() if document else str(self.native.text)

    @property
    def buttons(self) -> Sequence[str]:
        return [str(button.text) for button in self.native.buttons]

    @property
    def links(self) -> Sequence[str]:
        return [url for button in self.native.buttons if (url := button.data.get("url"))]

    @property
    def answers(self) -> str | None:
        to = self.native.raw.get("reply_to_message")
        return str(to.get("text", "")) if to else None


class SharedTelegram(SharedNet, own.TelegramNet):
    """That server as a `Net`."""

    features = FEATURES

    def __init__(self, sim: Any) -> None:
        self.sim, self.clock = sim, SharedClock(sim.clock)
        self.bot_name, self.token, self.base_url = str(sim.username), str(sim.token), str(sim.base_url)
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
        async with module("sim_telegram").TelegramSim(username="turnback_bot", privacy_mode=False) as sim:
            yield cls(sim)

    def user(self, name: str) -> Any:
        return self.sim.user(name)

    async def group(self, title: str, people: Sequence[Any], *, topics: bool) -> Spot:
        chat = self.sim.supergroup(title, list(people), forum=topics)
        return Spot(chat=chat.bot_admin() if topics else chat)

    def find_topic(self, spot: Spot, title: str) -> Spot | None:
        topics = spot.chat.topics.items()
        return next((Spot(chat=spot.chat, topic=number) for number, topic in topics if title in topic["name"]), None)

    async def press(self, user: Any, shown: SharedSeen, label: str) -> None:
        await user.click(shown.native.button(label))

    def hear_edits(self) -> None:
        self.sim.allowed = {"message", "edited_message", "callback_query"}

    async def redeliver(self, user: Any) -> None:
        self.sim.updates.append(self._last)

    def said(self, user: Any, spot: Spot) -> Sequence[Seen]:
        mine = [message for message in spot.chat.bot_messages if not message.deleted]
        return [SharedSeen(self.sim, m) for m in mine if spot.topic is None or m.thread == spot.topic]

    async def taken(self) -> None:
        await self.until(lambda: not self.sim.updates, lambda: "the bot takes its updates")

    def unanswered(self) -> Sequence[Any]:
        return list(self.sim.unanswered)
