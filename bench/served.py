"""Turnback as `turnback serve` puts it together, in a process of its own; `chats.py` starts it.

It writes down when each answer and each edit is handed to a platform's outlet and when that has done it, and
how late the event loop was.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from turnback.bots.desk import Desk
from turnback.bots.platform import Message, Outlet, Said
from turnback.cli.compose import running
from turnback.cli.logs import configure_logs
from turnback.cli.options import settings
from turnback.cli.platforms import configure
from turnback.config import Loaded
from turnback.core.agents.load import load_agent
from turnback.core.agents.protocol import Context
from turnback.core.collector import settle_collector
from turnback.core.models import State, Surface
from turnback.web.server import serve as serve_web

T = TypeVar("T")

READY = "ready"

GROWS = "tell"
"""An answer to what begins with this comes slowly, piece by piece, and so is shown by edits."""

PIECE_SECONDS = 0.3
TICK_SECONDS = 0.01

_answering: ContextVar[bool] = ContextVar("answering", default=False)


class Growing:
    """The demo agent, some of whose answers take a while."""

    def __init__(self) -> None:
        self._demo = cast("Any", load_agent("demo"))
        self.quiet_tools = self._demo.quiet_tools

    async def run(self, state: State, text: str, context: Context) -> AsyncGenerator[Mapping[str, Any], None]:
        async with aclosing(self._demo.run(state, text, context)) as events:
            async for event in events:
                yield event
                if event["type"] == "delta" and text.startswith(GROWS):
                    await asyncio.sleep(PIECE_SECONDS)


class Notes:
    """What was handed over when; and when the event loop was late, by how many seconds, and how many it computed."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.late: list[tuple[float, float, float]] = []

    async def note(
        self, kind: Literal["answer", "edit"], surface: Surface, place: str, call: Callable[[], Awaitable[T]]
    ) -> T:
        """Do it; what is handed on inside of an answer is that same answer."""
        if _answering.get():
            return await call()
        note = {"kind": kind, "surface": surface.value, "place": place, "handed": time.time()}
        self.said.append(note)
        token = _answering.set(True)
        try:
            return await call()
        finally:
            _answering.reset(token)
            note["done"] = time.time()

    def listen(self, outlet: Outlet) -> None:
        """Note what is said through an outlet."""
        send, edit = outlet.send, outlet.edit

        async def noted_send(place: str, said: Said) -> Any:
            return await self.note("answer", outlet.surface, place, lambda: send(place, said))

        async def noted_edit(place: str, messages: Any, said: Said) -> Any:
            return await self.note("edit", outlet.surface, place, lambda: edit(place, messages, said))

        outlet.send, outlet.edit = noted_send, noted_edit  # type: ignore[method-assign]

    async def watch(self) -> None:
        """Look every now and then how late the event loop is."""
        loop = asyncio.get_running_loop()
        while True:
            due, used = loop.time() + TICK_SECONDS, time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            if (late := loop.time() - due) > TICK_SECONDS:
                self.late.append((time.time(), late, time.thread_time() - used))


class NotingDesk:
    """The desk, whose answers to commands are noted."""

    def __init__(self, desk: Desk, notes: Notes) -> None:
        self._desk, self._notes = desk, notes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desk, name)

    async def message(self, m: Message) -> None:
        async def back(said: Said, *, private: bool = False) -> Any:
            place = m.place.key or ""
            return await self._notes.note("answer", m.place.surface, place, lambda: m.back(said, private=private))

        await self._desk.message(replace(m, back=back))


async def serve(loaded: Loaded, notes: Notes) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncExitStack() as stack:
        composed = await stack.enter_async_context(running(loaded))
        configured = configure(composed.live.settings, composed.service)
        platforms = composed.platforms(configured.adapters)
        platforms.desk = cast("Desk", NotingDesk(platforms.desk, notes))
        for adapter in configured.adapters:
            notes.listen(cast("Any", adapter).outlet)
        await stack.enter_async_context(platforms)
        for adapter in configured.adapters:
            await platforms.presenter.connected(adapter.name)
        watching = asyncio.create_task(notes.watch())

        def on_listening(host: str, port: int) -> None:
            settle_collector()
            print(READY, host, port, flush=True)

        app = composed.app(configured.hooks, platforms.statuses)
        await serve_web(app, host="127.0.0.1", port=0, on_listening=on_listening, stop=stop)
        watching.cancel()
        await platforms.finish()


def main() -> None:
    configure_logs()
    notes = Notes()
    asyncio.run(serve(settings(None, Path("data")), notes))
    Path(sys.argv[1]).write_text(json.dumps({"said": notes.said, "late": notes.late}), encoding="utf-8")


if __name__ == "__main__":
    main()
