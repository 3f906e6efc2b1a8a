"""A bot at rest: an answer's text can be seen before its step is saved."""

from __future__ import annotations

from typing import Protocol

from turnback.bots.presenting import Presenter
from turnback.core.service import Turnback


class Running(Protocol):
    """A bot in this process, on any platform."""

    @property
    def service(self) -> Turnback: ...
    @property
    def presenter(self) -> Presenter: ...


async def idle(bot: Running) -> None:
    """Wait until no turn runs and all is shown."""
    async with bot.service.events.listen() as events:
        while await bot.service.threads.running():
            await anext(events)
    await bot.presenter.settle(5)
