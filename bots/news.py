"""What people are told although they did not ask: a move from elsewhere, a message that did not run, alerts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from turnback.bots.platform import Outlet, Said, down_kind
from turnback.bots.stage import Stage
from turnback.bots.words import printable
from turnback.core.models import Surface
from turnback.core.service import Turnback
from turnback.core.tasks import Tasks

_FROM = {Surface.WEB: "the web page", Surface.API: "the API", Surface.TERMINAL: "the terminal"}


def moved(data: Mapping[str, Any]) -> str:
    """Who took a chat where, from where: one line for its other places. `data` is that of `rewound`."""
    who, turn = printable(str(data["by"]), 60), data["turn_index"]
    number = data["number"]
    spot = f"turn {turn}, step {number}" if number else f"turn {turn}" if turn else "the beginning"
    did = {
        "restore": f"restored {spot}",
        "undo": f"went back to {spot}",
        "redo": f"brought back {spot}",
        "reset": "started this chat again",
    }.get(str(data["action"]), f"moved this chat to {spot}")
    surface = Surface(data["surface"])
    return f"{who} {did} from {_FROM.get(surface, surface.value.capitalize())}."


def returned(status: str, reply: str) -> str:
    """Why a message did not run."""
    if status == "returned":
        return "This message did not run: the chat was moved or deleted while it waited. Send it again if you like."
    return reply or "This message did not run. Send it again."


class Alarm:
    """Operator alerts, told in the admins' private chats: once for each platform, and once when it is well again."""

    def __init__(self, service: Turnback, stage: Stage) -> None:
        self._service = service
        self._stage = stage
        self._told: dict[tuple[Surface, str], str] = {}
        self._tasks = Tasks()

    async def tell(self, kind: str, text: str | None) -> None:
        """An alert began to stand, or (without text) does no more."""
        for outlet in self._stage.outlets:
            await self._tell(outlet, kind, text)

    async def catch_up(self, outlet: Outlet) -> None:
        """A platform can be spoken through (again): tell what stands, but not that it could not be."""
        for alert in self._service.alerts.active:
            if alert.kind != down_kind(outlet.surface.value):
                await self._tell(outlet, alert.kind, alert.text)

    async def _tell(self, outlet: Outlet, kind: str, text: str | None) -> None:
        key = (outlet.surface, kind)
        before = self._told.get(key)
        if before == text:
            return
        if text is None:
            del self._told[key]
        else:
            self._told[key] = text
        said = Said(text=f"Alert: {text}" if text else f"Well again: {before}")
        for user_key in await self._service.threads.admins(outlet.surface):
            self._tasks.start(self._say(outlet, user_key, said))

    async def _say(self, outlet: Outlet, user_key: str, said: Said) -> None:
        try:
            place = await outlet.direct(user_key)
            if place is not None:
                async with asyncio.timeout(60):
                    await self._stage.say(outlet.surface, place, said)
        except Exception as error:  # noqa: BLE001 - the log has the alert, and the page
            self._stage.failed(outlet.surface, error, "alert")
