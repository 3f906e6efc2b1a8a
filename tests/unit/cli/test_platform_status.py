"""How each chat platform is, as the page shows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from support.outlet import Screen
from support.world import Scripted

from turnback.bots.platform import Down, down_kind
from turnback.bots.presenting import Presenter
from turnback.cli.platforms import Platforms
from turnback.core import open_service
from turnback.core.service import Turnback


class Telegram:
    """An adapter that connects when the test says so, and breaks when it says so."""

    name = "telegram"

    def __init__(self) -> None:
        self.connect = asyncio.Event()
        self.end = asyncio.Event()

    async def run(self, desk: object, presenter: Presenter) -> None:
        del desk
        await self.connect.wait()
        presenter.add(Screen())
        await self.end.wait()
        raise Down("it does not know the token")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Turnback]:
    async with open_service(tmp_path / "data", agent=Scripted(), maintain=False) as opened:
        yield opened


@pytest.fixture
def adapter() -> Telegram:
    return Telegram()


@pytest.fixture
async def platforms(service: Turnback, adapter: Telegram) -> AsyncIterator[Platforms]:
    made = Platforms(service=service, desk=cast("Any", None), presenter=Presenter(service), adapters=(adapter,))
    async with made:
        yield made


def states(platforms: Platforms) -> dict[str, str]:
    return {status.surface.value: status.state for status in platforms.statuses()}


def test_platform_without_an_adapter_is_off(platforms: Platforms) -> None:
    assert states(platforms) == {"telegram": "starting", "discord": "off", "slack": "off"}


async def test_connected_platform_runs(platforms: Platforms, adapter: Telegram) -> None:
    adapter.connect.set()
    await platforms.presenter.connected("telegram")
    assert states(platforms)["telegram"] == "running"


async def test_platform_that_is_down_says_why(platforms: Platforms, service: Turnback, adapter: Telegram) -> None:
    adapter.connect.set()
    await platforms.presenter.connected("telegram")
    adapter.end.set()
    async with asyncio.timeout(10):
        while not service.alerts.stands(down_kind("telegram")):  # noqa: ASYNC110 - an alert is no event to wait for
            await asyncio.sleep(0)  # the supervisor has its turn
    telegram = platforms.statuses()[0]
    assert telegram.state == "trouble"
    assert "it does not know the token" in telegram.detail
