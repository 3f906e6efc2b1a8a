"""How each chat platform is, as the page shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from support.world import Scripted

from turnback.bots.platform import Outlet, down_kind
from turnback.bots.presenting import Presenter
from turnback.cli.platforms import Platforms
from turnback.core import open_service
from turnback.core.models import Surface
from turnback.core.service import Turnback


class Named:
    """An adapter that is known by its name."""

    name = "telegram"
    surface = Surface.TELEGRAM


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Turnback]:
    async with open_service(tmp_path / "data", agent=Scripted(), maintain=False) as opened:
        yield opened


@pytest.fixture
def platforms(service: Turnback) -> Platforms:
    return Platforms(
        service=service, desk=cast("Any", None), presenter=Presenter(service), adapters=(cast("Any", Named()),)
    )


def states(platforms: Platforms) -> dict[str, str]:
    return {status.surface.value: status.state for status in platforms.statuses()}


def test_platform_without_an_adapter_is_off(platforms: Platforms) -> None:
    assert states(platforms) == {"telegram": "starting", "discord": "off", "slack": "off"}


def test_connected_platform_runs(platforms: Platforms) -> None:
    platforms.presenter.add(cast("Outlet", Named()))
    assert states(platforms)["telegram"] == "running"


def test_platform_that_is_down_says_why(platforms: Platforms, service: Turnback) -> None:
    platforms.presenter.add(cast("Outlet", Named()))
    service.alerts.sound(down_kind("telegram"), "Telegram does not know the token.")
    telegram = platforms.statuses()[0]
    assert (telegram.state, telegram.detail) == ("trouble", "Telegram does not know the token.")
    service.alerts.settle(down_kind("telegram"))
    assert states(platforms)["telegram"] == "running"
