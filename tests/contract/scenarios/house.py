"""The service under the drivers: composed as `turnback serve` composes it, in this process, and restarted at will."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contract.scenarios.driver import WAIT_SECONDS, Setup
from platforms.core import Clock

from turnback.bots.platform import Adapter
from turnback.cli.compose import Composed, running
from turnback.cli.platforms import Platforms
from turnback.config import load
from turnback.web.server import serve

_GROUND: Mapping[str, Any] = {"agent.shell": "unconfined", "web.public_url": "http://127.0.0.1:8765"}


class House:
    """A service over a folder. `adapters` makes those of its platforms; `web` serves HTTP too."""

    def __init__(
        self,
        folder: Path,
        setup: Setup,
        *,
        clock: Clock,
        adapters: Callable[[Composed], Sequence[Adapter]] = lambda _: (),
        settings: Mapping[str, Any] | None = None,
        web: bool = False,
    ) -> None:
        self._clock, self._adapters, self._web = clock, adapters, web
        file = folder / "turnback.toml"
        file.touch()
        options = {**_GROUND, "storage.path": str(folder / "data"), **(settings or {}), **setup.settings}
        self._loaded = load(file, environment={}, options=options)
        self._stack: AsyncExitStack | None = None
        self._composed: Composed | None = None
        self._platforms: Platforms | None = None
        self._port = 0

    @property
    def composed(self) -> Composed:
        assert self._composed is not None, "the service is away"
        return self._composed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Open everything, and wait until it can be spoken to."""
        self._stack = stack = AsyncExitStack()
        composed = self._composed = await stack.enter_async_context(
            running(self._loaded, maintain=False, clock=lambda: datetime.fromtimestamp(self._clock.now(), UTC))
        )
        adapters = self._adapters(composed)
        self._platforms = await stack.enter_async_context(composed.platforms(adapters))
        async with asyncio.timeout(WAIT_SECONDS):
            for adapter in adapters:
                await self._platforms.presenter.connected(adapter.name)
            if self._web:
                await self._listen(stack, composed)

    async def stop(self) -> None:
        """End it as SIGTERM does."""
        if self._stack is None or self._platforms is None:
            return
        stack, self._stack, self._composed = self._stack, None, None
        await self._platforms.finish()
        await stack.aclose()

    async def until(self, *, busy: bool) -> None:
        """Wait until a turn runs, or until none does."""
        service = self.composed.service
        async with asyncio.timeout(WAIT_SECONDS), service.events.listen() as events:
            while bool(await service.threads.running()) is not busy:
                await anext(events)
        if not busy and self._platforms is not None and self._platforms.adapters:
            await self._platforms.presenter.settle(WAIT_SECONDS)

    async def _listen(self, stack: AsyncExitStack, composed: Composed) -> None:
        """Answer HTTP, after a restart on the same port as before."""
        listening, stop = asyncio.Event(), asyncio.Event()

        def on_listening(_: str, port: int) -> None:
            self._port = port
            listening.set()

        serving = asyncio.create_task(
            serve(composed.app(), host="127.0.0.1", port=self._port, on_listening=on_listening, stop=stop)
        )

        async def end() -> None:
            stop.set()
            await serving

        stack.push_async_callback(end)
        await asyncio.wait({serving, asyncio.ensure_future(listening.wait())}, return_when=asyncio.FIRST_COMPLETED)
        assert listening.is_set(), "the web server has ended"
