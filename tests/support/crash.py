"""End a service at every SQL statement of one operation, and look at what the next start finds.

    python crash.py OPERATION [STRIDE]

Prints JSON: how many stages there were, what was there before and after the operation, and for each
stage (each STRIDE-th) that left something else, what it left. Every attempt is a forked process that ends by SIGKILL;
of the operation `leave`, after it was told to end and did so in good order.
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
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import turnback.core.sqlite as database
from support.world import ANN, Clock, Scripted
from turnback.core import open_service
from turnback.core.agents.protocol import Context
from turnback.core.models import GateStatus, State, Surface, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.core.state.codec import dumps

THREAD = ThreadId("d" * 32)

Operation = Callable[[Turnback], Awaitable[object]]


class Asking(Scripted):
    """Asks before it sends `mail`, and can go on from there after a restart."""

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        if text == "mail":
            yield {"type": "gate", "tool": "mail", "args": {}, "id": "it", "state": state}
            text = f"mail: {(await context.approvals())['it']}"
        async for event in super().run(state, text, context):
            yield event

    async def resume(
        self, state: State, approvals: Mapping[str, bool], context: Context
    ) -> AsyncIterator[Mapping[str, Any]]:
        async for event in super().run(state, f"mail: {approvals['it']}", context):
            yield event


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
    "ask": (lambda s: s.turns.ask(ANN, THREAD, "mail"), TimeTravel(), None),
    "leave": (lambda s: s.turns.ask(ANN, THREAD, "mail"), TimeTravel(), None),
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
        agent=Asking(),
        approval_timeout=7 * 86400,
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
        for known in await service.rewind.threads(ANN):
            gates = await answered_gates(service, known.id)
            thread = await service.rewind.thread(ANN, known.id)
            listing = await service.rewind.list_steps(ANN, thread.id, everything=True)
            state = await service.threads.checkpoint(thread.id, thread.head)
            seen["fork" if thread.forked_from else thread.id] = {
                "running": thread.running_turn,
                "gates": gates,
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


async def answered_gates(service: Turnback, thread_id: ThreadId) -> list[str]:
    """How the gates of the newest turn stood; those that wait are approved."""
    view = await service.threads.view(thread_id)
    assert view is not None
    gates = await service.threads.gates(thread_id, max(turn.turn_no for turn in view.turns)) if view.turns else ()
    for gate in gates:
        if gate.status is GateStatus.WAITING:
            await service.turns.decided(ANN, thread_id, gate.id, True)
    return [gate.status.value for gate in gates]


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
    """Strikes when the `stage`-th SQL statement since `armed` is about to run."""

    def __init__(self, stage: int, strike: Callable[[], object]) -> None:
        self.armed = False
        self._stage = stage
        self._strike = strike
        self._seen = count(1)
        self._connect = database._connect
        database._connect = self._watched

    def _watched(self, path: Path, durability: str) -> sqlite3.Connection:
        connection = self._connect(path, durability)
        connection.set_trace_callback(self._statement)
        return connection

    def _statement(self, _: str) -> None:
        if self.armed and next(self._seen) == self._stage:
            self._strike()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def attempt(folder: Path, policy: TimeTravel, operation: Operation, stage: int = 0) -> None:
    """Do it, and die at a stage of it (0: do not)."""
    killer = Killer(stage, die)
    async with opened(folder, policy, 2000) as service:
        killer.armed = True
        await operation(service)
        killer.armed = False


async def leave(folder: Path, policy: TimeTravel, operation: Operation, stage: int = 0) -> None:
    """Do it, end in good order at a stage of it, and die then."""
    told, loop = asyncio.Event(), asyncio.get_running_loop()
    killer = Killer(stage, lambda: loop.call_soon_threadsafe(told.set))
    async with opened(folder, policy, 2000) as service:
        killer.armed = True
        doing = asyncio.ensure_future(operation(service))
        await asyncio.wait({doing, asyncio.create_task(told.wait())}, return_when=asyncio.FIRST_COMPLETED)
        killer.armed = False
    if told.is_set():
        die()


def seen_after(folder: Path, policy: TimeTravel, out: Path) -> Any:
    """What the next start finds."""
    code = in_child(lambda: look(folder, policy), out)
    return json.loads(out.read_text()) if code == 0 else f"the next start failed ({code})"


def data_in(folder: Path) -> str:
    """The rows that are committed in the folder's databases, and what other files there are; read from a copy."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        told = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "-" not in path.name)
        for path in sorted(Path(copy).glob("*.db")):
            with closing(sqlite3.connect(path)) as connection:
                told += connection.iterdump()
    return "\n".join(told)


def prepared_copy(prepared: Path, to: Path) -> Path:
    shutil.copytree(prepared, to)
    return to


def main(name: str, stride: int) -> None:
    operation, policy, before = OPERATIONS[name]
    ending = leave if name == "leave" else attempt
    root = Path(tempfile.mkdtemp())
    try:
        prepared, whole, out = root / "prepared", root / "whole", root / "out.json"
        assert in_child(lambda: prepare(prepared, policy, before)) == 0, "preparing failed"
        prepared_copy(prepared, whole)
        assert in_child(lambda: attempt(whole, policy, operation)) == 0, "the operation failed"
        after = seen_after(whole, policy, out)
        left: list[Any] = []
        known: dict[str, Any] = {}
        unchanged = seen_after(prepared_copy(prepared, root / "unchanged"), policy, out)
        for stage in count(1, stride):
            folder = prepared_copy(prepared, root / f"stage{stage}")
            code = in_child(lambda: ending(folder, policy, operation, stage))  # noqa: B023 - it runs at once
            if code == 0:
                break
            data = data_in(folder)
            if data not in known:
                known[data] = seen_after(folder, policy, out)
            left.append([stage, known[data]])
            shutil.rmtree(folder)
        between = [entry for entry in left if entry[1] not in (unchanged, after)]
        told = {"stages": len(left), "different": len(known), "before": unchanged, "after": after, "between": between}
        sys.stdout.write(json.dumps(told))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
