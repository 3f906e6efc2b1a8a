"""Line mode, for scripts and tests: a line in, its whole answer out, then the next line."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Thread
from typing import TextIO

from turnback.bots.terminal.session import Session


async def run(session: Session, lines: TextIO) -> None:
    """Handle line after line to the end of the input. SIGINT stops what runs; where nothing does, it leaves."""
    loop = asyncio.get_running_loop()
    reading = asyncio.ensure_future(_handle_all(session, lines))
    stopping: set[asyncio.Task[None]] = set()

    async def interrupt() -> None:
        if not await session.interrupt():
            reading.cancel()

    def on_signal() -> None:
        task = asyncio.ensure_future(interrupt())
        stopping.add(task)
        task.add_done_callback(stopping.discard)

    loop.add_signal_handler(signal.SIGINT, on_signal)
    try:
        with suppress(asyncio.CancelledError):
            await reading
    finally:
        reading.cancel()
        loop.remove_signal_handler(signal.SIGINT)


async def _handle_all(session: Session, lines: TextIO) -> None:
    async for line in _read(lines):
        if session.leaves(line):
            return
        await session.handle(line, wait=True)
    await session.idle()


async def _read(lines: TextIO) -> AsyncIterator[str]:
    """Lines as they come. The thread is a daemon: one that waits for input must not keep the process."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str] = asyncio.Queue()

    def pump() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            for line in iter(lines.readline, ""):
                loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, "")

    Thread(target=pump, daemon=True, name="turnback-input").start()
    while line := await queue.get():
        yield line
