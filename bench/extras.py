"""Figures of `run.py` that no peer has: stalls of the event loop, going back through the whole service, floors.

Prints one JSON object: `stall`, `restore` and `list` in ms, `decoded` in states, `naive W…` and `floor W…`
in bytes per step.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import workload
import zstandard
from adapter import Turnback

from turnback.core import open_service
from turnback.core.models import AccountId, Actor, Surface, Thread
from turnback.core.packs import log
from turnback.core.recording import Report
from turnback.core.service import Turnback as Service
from turnback.core.state import codec

ME = Actor(account=AccountId("bench"), surface=Surface.API)
TICK = 0.001


async def longest_stall() -> float:
    """In ms: how late a task that ticks each millisecond was at worst, while W4 was saved and read."""
    steps = workload.materialize("W4")
    with tempfile.TemporaryDirectory() as folder:
        store = Turnback()
        await store.open(f"{folder}/steps.db")
        worst, done = 0.0, asyncio.Event()

        async def tick() -> None:
            nonlocal worst
            while not done.is_set():
                before = time.perf_counter()
                await asyncio.sleep(TICK)
                worst = max(worst, time.perf_counter() - before - TICK)

        ticking = asyncio.ensure_future(tick())
        for step in steps:
            key = await store.capture(step)
            if step.seq % 10 == 0:
                await store.read(step.thread, key)
        done.set()
        await ticking
        await store.close()
    return worst * 1000


async def going_back() -> dict[str, float]:
    """Medians in ms of restores and listings of a W1 thread with all that a service does, and what a fork decodes."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(folder, maintain=False) as service:
            await service.threads.create_account(ME.account, "bench", datetime.now(UTC))
            thread = await service.rewind.create_thread(ME, "bench")
            for step in workload.iter_steps("W1"):
                await service.rewind.record(
                    ME, thread.id, Report(turn_index=step.turn + 1, iteration=step.step, state=step.state)
                )
            return await _go_back(service, thread)


async def _go_back(service: Service, thread: Thread) -> dict[str, float]:
    listing = await service.rewind.list_steps(ME, thread.id)
    ids = [view.step.id for view in listing.steps]
    # now to the beginning, now to the end of what is kept
    places = [id_ for pair in zip(ids[:15], ids[-15:], strict=True) for id_ in pair]
    restore = [await timed(lambda id_=id_: service.rewind.restore(ME, thread.id, id_)) for id_ in places]
    lists = [await timed(lambda: service.rewind.list_steps(ME, thread.id, everything=True)) for _ in range(30)]
    decoded = 0
    decode = codec.decode

    def counting(messages: bytes, fields: object) -> object:
        nonlocal decoded
        decoded += 1
        return decode(messages, fields)  # type: ignore[arg-type]

    log.codec.decode = counting  # type: ignore[assignment, attr-defined]
    await service.rewind.fork(ME, thread.id, ids[len(ids) // 2])
    log.codec.decode = decode  # type: ignore[attr-defined]
    return {
        "restore": statistics.median(restore) * 1000,
        "list": statistics.median(lists) * 1000,
        "decoded": float(decoded),
    }


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


def sizes(name: str, *, floor: bool) -> dict[str, float]:
    """Bytes per step of whole states as JSON, and of everything that is new, compressed at once as well as zstd can."""
    steps = workload.materialize(name)
    found = {f"naive {name}": sum(codec.encode(step.state).bytes for step in steps) / len(steps)}
    if floor:
        text = workload.conversation_text(steps)
        found[f"floor {name}"] = len(zstandard.ZstdCompressor(level=19).compress(text)) / len(steps)
    return found


def main() -> None:
    figures: dict[str, float] = {"stall": asyncio.run(longest_stall()), **asyncio.run(going_back())}
    if "--sizes" in sys.argv:
        for name in ("W1", "W2", "W4"):
            figures |= sizes(name, floor=name != "W4")
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
