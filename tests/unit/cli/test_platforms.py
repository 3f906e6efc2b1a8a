"""The platforms that the settings name, beside the web server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.outlet import CAN, Screen, Walker
from support.turning import Time, until

from turnback.bots.desk import Desk
from turnback.bots.places import Place
from turnback.bots.platform import Person
from turnback.bots.presenting import Presenter
from turnback.cli.compose import running
from turnback.cli.platforms import configure
from turnback.config import load
from turnback.core.models import Surface


def settings(folder: Path, **environment: str) -> Any:
    names = {f"TURNBACK_{name.upper()}": value for name, value in environment.items()}
    return load(environment=names, options={"storage.path": str(folder)})


class Quiet:
    """An adapter that is connected until it is cancelled."""

    name = "telegram"

    def __init__(self) -> None:
        self.outlet = Screen()
        self.desk: Desk | None = None
        self.left = False

    async def run(self, desk: Desk, presenter: Presenter) -> None:
        self.desk = desk
        presenter.add(self.outlet)
        try:
            await asyncio.Event().wait()
        finally:
            presenter.remove(self.outlet)
            self.left = True


async def test_without_tokens_there_is_no_adapter(tmp_path: Path) -> None:
    async with running(settings(tmp_path), maintain=False) as composed:
        configured = configure(composed.live.settings, composed.service)
        assert (configured.adapters, configured.hooks) == ([], {})


async def test_token_makes_the_adapter_and_a_webhook_its_hook(tmp_path: Path) -> None:
    given: Mapping[str, str] = {"telegram__token": "1:abc", "telegram__webhook_url": "https://x.test/hooks/telegram"}
    async with running(settings(tmp_path, **given), maintain=False) as composed:
        configured = configure(composed.live.settings, composed.service)
        assert [adapter.name for adapter in configured.adapters] == ["telegram"]
        assert list(configured.hooks) == ["/hooks/telegram"]


async def test_turn_that_the_programs_end_interrupts_is_told_where_it_was_asked(tmp_path: Path) -> None:
    adapter = Quiet()
    async with running(settings(tmp_path, access__allow="telegram:*"), maintain=False) as composed:
        async with composed.platforms([adapter]) as platforms:
            await until(lambda: adapter.desk is not None)
            assert adapter.desk is not None
            person = Person(surface=Surface.TELEGRAM, user_key="1", name="Ann")
            place = Place(surface=Surface.TELEGRAM, key="1", can=CAN)
            ann = Walker(adapter.desk, adapter.outlet, person, place, Time())
            await ann.say("slow 60")
            await platforms.finish()
            assert ann.last.text == "Interrupted by a restart. What was finished is kept."
        assert adapter.left
