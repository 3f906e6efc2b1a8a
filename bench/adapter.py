"""Turnback's step store as `bench_peers.py` wants it, with every feature on."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import workload

from turnback.core.models import Position, StepId, ThreadId
from turnback.core.policy import Budgets
from turnback.core.state.prepare import prepare
from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.steps.store import StepDraft

EVERYTHING = Budgets(
    max_snapshots=10_000,
    max_global_snapshots=100_000,
    max_snapshot_bytes=16 * 1024 * 1024,
    max_thread_bytes=2**30,
    max_total_bytes=2**33,
    max_per_turn=1000,
)
"""Budgets that are checked at each save as any, and high enough to keep what the peers keep."""


class Turnback:
    """As the peers: every step is kept. What is timed is all that a capture does, encoding included."""

    keeps: int | None = None
    keeps_global: int | None = None
    budgets = EVERYTHING
    durability = "normal"

    async def open(self, path: str) -> None:
        self._path = Path(path)
        self._store = SqliteStepStore(self._path, durability=self.durability)  # type: ignore[arg-type]

    async def capture(self, step: workload.Step) -> StepId:
        encoded = prepare(step.state, self.budgets.max_snapshot_bytes)
        thread, id_ = ThreadId(step.thread), StepId(uuid.uuid4().hex)
        draft = StepDraft(
            id=id_,
            thread_id=thread,
            epoch=0,
            at=Position(0, step.seq + 1),
            turn_index=step.turn + 1,
            turn_no=step.turn + 1,
            iteration=step.step,
            created_at=datetime.now(UTC),
            model="model-large",
            summary="What people see of a turn in a list, in at most eighty characters",
            tools=("read_file",),
            message_count=encoded.message_count,
        )
        await self._store.capture(draft, encoded, self.budgets)
        return id_

    async def list(self, thread: str, n: int) -> Any:
        return await self._store.rows(ThreadId(thread), n)

    async def read(self, thread: str, key: StepId) -> Any:
        return await self._store.state(ThreadId(thread), key)

    async def delete(self, thread: str) -> None:
        await self._store.forget_thread(ThreadId(thread))

    async def finish(self) -> None:
        while await self._store.compact(10_000):
            pass

    async def close(self) -> None:
        await self._store.close()

    def size(self) -> int:
        files = [self._path, self._path.with_name(self._path.name + "-wal")]
        return sum(file.stat().st_size for file in files if file.exists())


class TurnbackFull(Turnback):
    """The same with every commit synced, as the peer is shipped."""

    durability = "full"


class TurnbackDefaults(Turnback):
    """The same with the budgets that Turnback is shipped with."""

    keeps = 50
    keeps_global = 2000
    budgets = Budgets()
