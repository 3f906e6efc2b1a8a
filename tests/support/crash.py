"""Kill a service at every SQL statement of one operation, and look at what the next start finds.

    python crash.py OPERATION [STRIDE]

Prints JSON: how many stages there were, what was there before and after the operation, and for each
stage (each STRIDE-th) that left something else, what it left. Every attempt is a forked process that ends by SIGKILL.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import turnback.core.sqlite as database
from support.world import ANN, Clock, Scripted
from turnback.core import open_service
from turnback.core.models import Surface, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.core.state.codec import dumps

THREAD = ThreadId("d" * 32)

Operation = Callable[[Turnback], Awaitable[object]]


async def first_step(service: Turnback) -> str:
    """The oldest step of the thread."""
    return (await service.rewind.list_steps(ANN, THREAD)).steps[0].step.id


async def restore(service: Turnback) -> None:
    await service.rewind.restore(ANN, THREAD, await first_step(service))


async def redo(service: Turnback) -> None:
    await service.rewind.redo(ANN, THREAD)


async def fork(service: Turnback) -> None:
    await service.rewind.fork(ANN, THREAD, await first_step(service))


OPERATIONS: dict[str, tuple[Operation, TimeTravel, Operation | None]] = {
    "turn": (lambda s: s.turns.ask(ANN, THREAD, "steps 2"), TimeTravel(), None),
    "restore": (restore, TimeTravel(), None),
    "discard": (restore, TimeTravel(on_restore="discard"), None),
    "undo": (lambda s: s.rewind.undo(ANN, THREAD), TimeTravel(), None),
    "redo": (redo, TimeTravel(), restore),
    "reset": (lambda s: s.rewind.reset(ANN, THREAD), TimeTravel(), None),
    "fork": (fork, TimeTravel(), None),
    "clear": (lambda s: s.rewind.clear(ANN, THREAD), TimeTravel(), None),
    "forget": (lambda s: s.rewind.forget(ANN, THREAD, None), TimeTravel(), None),
    "delete": (lambda s: s.rewind.delete(ANN, THREAD), TimeTravel(), None),
}


def opened(folder: Path, policy: TimeTravel, ids: int) -> AbstractAsyncContextManager[Turnback]:
    """A service on a folder, with ids that repeat from run to run."""
    numbers = count(ids)
    return open_service(
        folder,
        agent=Scripted(),
        policy=lambda: policy,
        clock=Clock(now=datetime(2026, 3, 1 + ids // 1000, tzinfo=UTC)),
        new_id=lambda: f"{next(numbers) * 0x9E3779B97F4A7C15 % 16**12:012x}".ljust(32, "e"),
    )


async def prepare(folder: Path, policy: TimeTravel, before: Operation | None) -> None:
    """A thread with three turns, five steps and a fact."""
    async with opened(folder, policy, 1000) as service:
        await service.threads.create_account(ANN.account, ANN.name, datetime(2026, 3, 1, tzinfo=UTC))
        await service.threads.create_thread(THREAD, "Trip", Surface.API, ANN.account, datetime(2026, 3, 1, tzinfo=UTC))
        for text in ("set plan a", "steps 2", "remember tea"):
            await service.turns.ask(ANN, THREAD, text)
        if before is not None:
            await before(service)


async def look(folder: Path, policy: TimeTravel) -> dict[str, Any]:
    """Everything that people can see, after whatever a start repairs; and that the thread still works."""
    async with opened(folder, policy, 3000) as service:
        seen: dict[str, Any] = {}
        for thread in await service.rewind.threads(ANN):
            listing = await service.rewind.list_steps(ANN, thread.id, everything=True)
            state = await service.threads.checkpoint(thread.id, thread.head)
            seen["fork" if thread.forked_from else thread.id] = {
                "running": thread.running_turn,
                "state": None if state is None else dumps(state).decode(),
                "transcript": [r.text for r, _ in await service.rewind.transcript(ANN, thread.id, everything=False)],
                "aside": sum(a for _, a in await service.rewind.transcript(ANN, thread.id, everything=True)),
                "facts": [f.text for f in await service.rewind.facts(ANN, thread.id)],
                "steps": [
                    [
                        v.step.turn_index,
                        v.step.iteration,
                        v.on_path,
                        v.head,
                        dumps((await service.rewind.show(ANN, thread.id, v.step.id)).state).decode(),
                    ]
                    for v in listing.steps
                ],
            }
            answer = await service.turns.ask(ANN, thread.id, "still there?")
            if answer.reply != "said still there?":
                seen["broken"] = f"{thread.title}: {answer.status} {answer.reply}"
        return seen


def in_child(work: Callable[[], Coroutine[Any, Any, Any]], out: Path | None = None) -> int:
    """Run in a forked process; answers its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            result = asyncio.run(work())
            if out is not None:
                out.write_text(json.dumps(result))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


class Killer:
    """Ends this process by SIGKILL when the `stage`-th SQL statement since `armed` is about to run."""

    def __init__(self, stage: int) -> None:
        self.armed = False
        self._stage = stage
        self._seen = count(1)
        self._connect = database._connect
        database._connect = self._watched

    def _watched(self, path: Path, durability: str) -> sqlite3.Connection:
        connection = self._connect(path, durability)
        connection.set_trace_callback(self._statement)
        return connection

    def _statement(self, _: str) -> None:
        if self.armed and next(self._seen) == self._stage:
            os.kill(os.getpid(), signal.SIGKILL)


async def attempt(folder: Path, policy: TimeTravel, operation: Operation, stage: int = 0) -> None:
    """Do it, and die at a stage of it (0: do not)."""
    killer = Killer(stage)
    async with opened(folder, policy, 2000) as service:
        killer.armed = True
        await operation(service)
        killer.armed = False


def seen_after(folder: Path, policy: TimeTravel, out: Path) -> Any:
    """What the next start finds."""
    code = in_child(lambda: look(folder, policy), out)
    return json.loads(out.read_text()) if code == 0 else f"the next start failed ({code})"


def prepared_copy(prepared: Path, to: Path) -> Path:
    shutil.copytree(prepared, to)
    return to


def main(name: str, stride: int) -> None:
    operation, policy, before = OPERATIONS[name]
    root = Path(tempfile.mkdtemp())
    try:
        prepared, whole, out = root / "prepared", root / "whole", root / "out.json"
        assert in_child(lambda: prepare(prepared, policy, before)) == 0, "preparing failed"
        prepared_copy(prepared, whole)
        assert in_child(lambda: attempt(whole, policy, operation)) == 0, "the operation failed"
        after = seen_after(whole, policy, out)
        left: list[Any] = []
        unchanged = seen_after(prepared_copy(prepared, root / "unchanged"), policy, out)
        for stage in count(1, stride):
            folder = prepared_copy(prepared, root / f"stage{stage}")
            code = in_child(lambda: attempt(folder, policy, operation, stage))  # noqa: B023 - it runs at once
            if code == 0:
                break
            left.append([stage, seen_after(folder, policy, out)])
            shutil.rmtree(folder)
        between = [entry for entry in left if entry[1] not in (unchanged, after)]
        told = {"stages": len(left), "before": unchanged, "after": after, "between": between}
        sys.stdout.write(json.dumps(told))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
