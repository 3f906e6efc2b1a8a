"""A hundred conversations at once on the demo agent, for a minute.

    python bench/turns.py [--threads 100] [--seconds 60]

Prints, and exits 1 unless they hold: no error, no lost or doubled step, resident memory at the end at
most 1.1 times that at a sixth of the time, the event loop's longest stall under 50 ms. Conversations
have a bounded length: each is deleted after a few turns and another one begun.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil

from turnback.core import open_service
from turnback.core.agents.load import load_agent
from turnback.core.collector import settle_collector
from turnback.core.models import AccountId, Actor, Surface
from turnback.core.policy import Budgets, TimeTravel
from turnback.core.service import Turnback

MIB = 1024 * 1024
STALL_BAR = 0.050
MEMORY_BAR = 1.1

SCRIPT = (
    ("steps 3", 4),
    ("write a.txt hello", 2),
    ("plan A; B", 4),
    ("hello there", 1),
    ("remember tea", 2),
    ("recall", 2),
)
"""What is said in each conversation, and how many steps it makes."""


@dataclass
class Tally:
    turns: int = 0
    steps: int = 0
    errors: list[str] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)


async def converse(service: Turnback, actor: Actor, until: float, tally: Tally) -> None:
    """Talk, check that each step is there once, go back and forth, delete, and begin anew."""
    while time.monotonic() < until:
        thread = await service.rewind.create_thread(actor)
        expected = 0
        for text, steps in SCRIPT:
            if time.monotonic() >= until:
                break
            result = await service.turns.ask(actor, thread.id, text)
            expected += steps
            tally.turns += 1
            if result.status != "done":
                tally.errors.append(f"{text}: {result.status} {result.reply}")
        listing = await service.rewind.list_steps(actor, thread.id)
        places = [(v.step.turn_no, v.step.iteration) for v in listing.steps]
        if len(places) != expected or len(set(places)) != expected:
            tally.errors.append(f"{expected} steps were made, {len(places)} are there, {len(set(places))} different")
        tally.steps += len(places)
        if listing.steps:
            await service.rewind.restore(actor, thread.id, listing.steps[0].step.id)
            await service.rewind.redo(actor, thread.id)
        await service.rewind.delete(actor, thread.id)


async def tick(until: float, tally: Tally) -> None:
    """Notice every stall of the loop."""
    while time.monotonic() < until:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        tally.stalls.append(time.perf_counter() - began - 0.001)


async def weigh(began: float, until: float, tally: Tally) -> None:
    """Note the resident memory once a second."""
    process = psutil.Process()
    while time.monotonic() < until:
        await asyncio.sleep(1)
        tally.memory.append((time.monotonic() - began, process.memory_info().rss / MIB))


async def warm_up(service: Turnback, actor: Actor) -> None:
    """Load what is loaded at the first use, as a server that has been up for a moment has."""
    thread = await service.rewind.create_thread(actor)
    for text, _ in SCRIPT:
        await service.turns.ask(actor, thread.id, text)
    await service.rewind.delete(actor, thread.id)


async def run(threads: int, seconds: float) -> bool:
    actor = Actor(account=AccountId(uuid4().hex), surface=Surface.API, name="bench")
    policy = TimeTravel(budgets=Budgets(max_snapshots=1000, max_global_snapshots=1_000_000))
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Path(folder), agent=load_agent("demo"), policy=lambda: policy) as service:
            await warm_up(service, actor)
            settle_collector()
            began = time.monotonic()
            until = began + seconds
            await asyncio.gather(
                tick(until, tally),
                weigh(began, until, tally),
                *(converse(service, actor, until, tally) for _ in range(threads)),
            )
    early = next((mib for at, mib in tally.memory if at >= seconds / 6), tally.memory[0][1])
    late = tally.memory[-1][1]
    stall = max(tally.stalls)
    rows = [
        ("errors, lost or doubled steps", len(tally.errors), 0, not tally.errors),
        ("memory at the end / at a sixth", round(late / early, 3), MEMORY_BAR, late <= early * MEMORY_BAR),
        ("longest stall of the loop, ms", round(stall * 1000, 1), STALL_BAR * 1000, stall < STALL_BAR),
    ]
    print(f"{threads} threads, {seconds:.0f} s: {tally.turns} turns, {tally.steps} steps, {late:.0f} MiB")
    for name, value, bar, ok in rows:
        print(f"{name:34} {value!s:>10}   bar {bar!s:>6}   {'ok' if ok else 'MISS'}")
    for error in tally.errors[:5]:
        print(f"  {error}")
    return all(ok for *_, ok in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    sys.exit(0 if asyncio.run(run(given.threads, given.seconds)) else 1)


if __name__ == "__main__":
    main()
