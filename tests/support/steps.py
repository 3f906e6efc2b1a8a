"""Words for tests of step stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from turnback.core.models import Position, Step, StepId, ThreadId
from turnback.core.policy import Budgets
from turnback.core.state import codec
from turnback.core.steps.store import StepDraft, StepStore

THREAD, OTHER = ThreadId("thread-a"), ThreadId("thread-b")
START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
MANY = Budgets(max_snapshots=1000, max_per_turn=1000)

_numbers = count(1)


def new_id() -> StepId:
    return StepId(f"{next(_numbers):032x}")


def draft(**changes: Any) -> StepDraft:
    """A step of a turn of its own, unless told otherwise."""
    number = next(_numbers)
    values: dict[str, Any] = {
        "id": new_id(),
        "thread_id": THREAD,
        "epoch": 0,
        "at": Position(0, number),
        "turn_index": 1,
        "turn_no": number,
        "iteration": 0,
        "created_at": START + timedelta(seconds=number),
    }
    return StepDraft(**values | changes)


def state(number: int = 1, **more: Any) -> dict[str, Any]:
    """A state with that many messages."""
    return {"messages": [{"role": "user", "content": f"message {n}"} for n in range(number)], "plan": [number], **more}


def noise(seed: int, size: int) -> str:
    """Text that hardly compresses."""
    value = seed * 7919 + 1
    out: list[str] = []
    while len(out) * 8 < size:
        value = value * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        out.append(f"{value >> 32:08x}")
    return "".join(out)[:size]


async def save(
    store: StepStore, content: dict[str, Any] | None = None, budgets: Budgets = MANY, **changes: Any
) -> Step:
    """Save a state that is not fenced off."""
    step = await store.capture(draft(**changes), codec.encode(state() if content is None else content), budgets)
    assert step is not None
    return step


async def ids(store: StepStore, thread: ThreadId = THREAD) -> list[StepId]:
    return [step.id for step in await store.rows(thread)]
