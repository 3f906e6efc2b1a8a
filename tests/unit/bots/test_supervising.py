"""An adapter that fails is started again, and the operator is told once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from support.hall import Hall
from support.outlet import Screen
from support.turning import until

from turnback.bots.desk import Desk
from turnback.bots.platform import Down, down_kind
from turnback.bots.presenting import Presenter
from turnback.bots.supervising import supervise
from turnback.core.models import Surface

KIND = down_kind("discord")


class Frail:
    """An adapter that connects when it may, and fails when the test says so."""

    name = "discord"

    def __init__(self) -> None:
        self.outlet = Screen(Surface.DISCORD)
        self.runs = 0
        self.connects = asyncio.Event()
        self.trouble: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, desk: Desk, presenter: Presenter) -> None:
        self.runs += 1
        self.trouble = asyncio.get_running_loop().create_future()
        connecting = asyncio.ensure_future(self.connects.wait())
        waited: set[asyncio.Future[Any]] = {connecting, self.trouble}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        connecting.cancel()
        if not self.trouble.done():
            presenter.add(self.outlet)
        await self.trouble

    async def fail(self, error: Exception) -> None:
        runs = self.runs
        await until(lambda: not self.trouble.done())
        self.trouble.set_exception(error)
        assert runs == self.runs
        await until(lambda: self.trouble.done())
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def supervised(house: Hall) -> AsyncIterator[Frail]:
    adapter = Frail()
    task = asyncio.create_task(supervise(adapter, house.service, house.desk, house.presenter, sleep=house.time.sleep))
    await until(lambda: adapter.runs == 1)
    try:
        yield adapter
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_adapter_that_fails_is_started_again_later_and_later(house: Hall) -> None:
    async with supervised(house) as adapter:
        for wait in (1, 2, 4):
            await adapter.fail(Down("502"))
            runs = adapter.runs
            house.time.advance(wait - 0.5)
            for _ in range(20):
                await asyncio.sleep(0)
            assert adapter.runs == runs
            house.time.advance(0.5)
            await until(lambda runs=runs: adapter.runs == runs + 1)


async def test_operator_is_told_once_and_again_when_it_is_well(house: Hall) -> None:
    told = []
    async with supervised(house) as adapter, house.service.events.listen() as events:
        await adapter.fail(Down("the token was revoked. Set a new one."))
        house.time.advance(1)
        await until(lambda: adapter.runs == 2)
        await adapter.fail(Down("other words"))
        house.time.advance(2)
        await until(lambda: adapter.runs == 3)
        [alert] = house.service.alerts.active
        assert alert.text == (
            "Discord does not work: the token was revoked. Set a new one. It is tried again; all else goes on."
        )
        adapter.connects.set()
        await until(lambda: not house.service.alerts.stands(KIND))
        async for event in events:
            assert event is not None
            told.append(event.data["text"])
            if event.data["text"] is None:
                break
    assert len(told) == 2


async def test_words_of_a_library_are_not_told(house: Hall) -> None:
    async with supervised(house) as adapter:
        await adapter.fail(ValueError("https://host/bot123:secret/getMe"))
        [alert] = house.service.alerts.active
        assert "secret" not in alert.text
        assert "ValueError" in alert.text


async def test_outlet_that_an_adapter_left_behind_is_used_no_more(house: Hall) -> None:
    async with supervised(house) as adapter:
        adapter.connects.set()
        await house.presenter.connected("discord")
        adapter.connects.clear()
        await adapter.fail(RuntimeError())
        house.time.advance(1)
        await until(lambda: adapter.runs == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert house.service.alerts.stands(KIND)


async def test_other_platforms_go_on(house: Hall) -> None:
    async with supervised(house) as adapter:
        await adapter.fail(Down("502"))
        await house.tell(house.walker(), "hello")
