"""A process that is killed while it saves: the file is whole, and what was acknowledged is in it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from support.steps import THREAD, ids, save, state

from turnback.core.models import StepId
from turnback.core.steps.sqlite import SqliteStepStore

CHILD = """
import asyncio, sys
from pathlib import Path
from support.steps import MANY, draft, noise, state
from turnback.core.state import codec
from turnback.core.steps.sqlite import SqliteStepStore

async def one(store, worker):
    n = 0
    while True:
        n += 1
        made = draft(id=f"{worker + 1:016x}{n:016x}", turn_no=n)
        step = await store.capture(made, codec.encode(state(n % 60, n=n, pad=noise(n, 3000))), MANY)
        print(step.id, n, flush=True)

async def main():
    store = SqliteStepStore(Path(sys.argv[1]))
    await asyncio.gather(*(one(store, worker) for worker in range(3)))

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 40, 150])
async def test_kill_while_saving_keeps_what_was_acknowledged(tmp_path: Path, after: int) -> None:
    path = tmp_path / "steps.db"
    tests = Path(__file__).parents[3]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), cwd=tests, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": "."}
    )
    assert child.stdout is not None
    acknowledged = [(await child.stdout.readline()).decode().split() for _ in range(after)]
    child.kill()
    rest = (await child.stdout.read()).decode()
    acknowledged += [line.split() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    await child.wait()
    store = SqliteStepStore(path)
    try:
        there = set(await ids(store))
        for step_id, n in acknowledged:
            assert step_id in there
            found = await store.state(THREAD, StepId(step_id))
            assert found is not None
            assert found["n"] == int(n)
        database = await store._door.database()
        assert await database.read(lambda db: db.execute("PRAGMA integrity_check").fetchone()) == ("ok",)
        step = await save(store, state(61))
        assert await store.state(THREAD, step.id) == state(61)
    finally:
        await store.close()
