"""`turnback bench`: how fast this installation's own disk saves, lists, reads and deletes steps."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from turnback.cli.options import Config, Data, Json, folder, settings
from turnback.cli.output import progress, show
from turnback.core.folder import STEPS_FILE
from turnback.core.models import Position, StepId, ThreadId
from turnback.core.policy import Budgets
from turnback.core.state.prepare import prepare
from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.steps.store import StepDraft

WORDS = ("agent", "reads", "file", "says", "found", "before", "goes", "next", "step", "plan", "then", "writes", "list")

THREAD = ThreadId(uuid4().hex)

KEEP_ALL = Budgets(max_snapshots=100_000, max_global_snapshots=100_000)


def bench(
    steps: Annotated[int, typer.Option("--steps", min=10, max=10_000, help="Steps to save.")] = 300,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Measure the store in a folder of its own on the data folder's disk; nothing of yours is touched."""
    loaded = settings(config, data)
    folder(loaded).mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=folder(loaded)) as place, progress("measuring"):
        figures = asyncio.run(_measure(Path(place), steps, loaded.settings.storage.durability))
    show(figures, as_json, *(f"{name:<28}{value:>12}" for name, value in figures.items()))


async def _measure(place: Path, steps: int, durability: Any) -> dict[str, Any]:
    store = SqliteStepStore(place / STEPS_FILE, durability=durability)
    talk = _Talk(store)
    try:
        captures = [await _timed(talk.go_on) for _ in range(steps)]
        newest = (await store.rows(THREAD, 1))[0]
        listing = [await _timed(lambda: store.rows(THREAD, 50)) for _ in range(20)]
        reading = [await _timed(lambda: store.state(THREAD, newest.id)) for _ in range(20)]
        disk = await store.disk()
        deletion = await _timed(lambda: store.forget_thread(THREAD))
    finally:
        await store.close()
    return {
        "steps": steps,
        "capture p50 ms": _ms(statistics.median(captures)),
        "capture p99 ms": _ms(sorted(captures)[int(steps * 0.99) - 1]),
        "list of 50 p50 ms": _ms(statistics.median(listing)),
        "read one p50 ms": _ms(statistics.median(reading)),
        "delete all ms": _ms(deletion),
        "bytes a step": (disk.size + disk.wal) // steps,
        "durability": durability,
    }


class _Talk:
    """A conversation that grows by two messages a step; the same words each time."""

    def __init__(self, store: SqliteStepStore) -> None:
        self._store = store
        self._words = random.Random(0)  # noqa: S311 - no secret
        self._messages: list[dict[str, str]] = []

    async def go_on(self) -> None:
        """Save one more step."""
        n = len(self._messages) // 2
        said = [" ".join(self._words.choices(WORDS, k=60)) for _ in range(2)]
        self._messages += [{"role": "user", "content": said[0]}, {"role": "assistant", "content": said[1]}]
        encoded = prepare({"messages": list(self._messages), "plan": ["one"], "cost": {"tokens": n}}, 2**21)
        draft = StepDraft(
            id=StepId(uuid4().hex),
            thread_id=THREAD,
            epoch=0,
            at=Position(0, n + 1),
            turn_index=n // 5 + 1,
            turn_no=n // 5 + 1,
            iteration=n % 5,
            created_at=datetime.now(UTC),
        )
        await self._store.capture(draft, encoded, KEEP_ALL)


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
