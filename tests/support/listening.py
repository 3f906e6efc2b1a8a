"""A turn's context without the rest of Turnback, and what tests do with an agent's events."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnback.core.models import BEGINNING, Fact, FactId, State, ThreadId

THREAD = ThreadId("thread-under-test")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Surroundings:
    """A context that answers every gate as `answer` says, and writes down what it was asked."""

    workspace: Path
    answer: bool = True
    memory: bool = True
    notes: Sequence[str] = ()
    files: Sequence[str] = ()
    thread_id: ThreadId = THREAD
    gates: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    redone: int = 0
    earlier: Sequence[tuple[int, str]] = ()

    async def approvals(self) -> Mapping[str, bool]:
        answers, self.gates = dict.fromkeys(self.gates, self.answer), []
        return answers

    async def remember(self, text: str) -> Fact | None:
        if not self.memory:
            return None
        number = len(self.facts) + 1
        fact = Fact(
            id=FactId(f"f{number}"),
            thread_id=self.thread_id,
            at=BEGINNING,
            turn_no=1,
            turn_index=1,
            text=text,
            created_at=NOW,
        )
        self.facts.append(fact)
        return fact

    async def recall(self) -> Sequence[Fact]:
        return self.facts

    async def turns(self) -> Sequence[tuple[int, str]]:
        return self.earlier

    def undo(self, n: int = 1) -> None:
        self.undone.append(n)

    def redo(self) -> None:
        self.redone += 1


@dataclass
class Told:
    """A turn's events, sorted."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    deltas: list[str] = field(default_factory=list)
    gates: list[dict[str, Any]] = field(default_factory=list)
    done: list[dict[str, Any]] = field(default_factory=list)
    copies: list[tuple[State, State]] = field(default_factory=list)
    """Each state that was given, and a copy of it from that moment."""

    @property
    def text(self) -> str:
        return str(self.done[0]["text"])

    @property
    def state(self) -> State:
        return dict(self.done[0]["state"])

    @property
    def tools(self) -> list[list[str]]:
        return [step["tools"] for step in self.steps]


async def listen(events: AsyncIterator[Mapping[str, Any]], context: Surroundings) -> Told:
    """All events of a turn."""
    told = Told()
    async for event in events:
        kept = dict(event)
        if "state" in kept:
            told.copies.append((kept["state"], copy.deepcopy(kept["state"])))
        match kept["type"]:
            case "delta":
                told.deltas.append(kept["text"])
            case "step":
                told.steps.append(kept)
            case "gate":
                told.gates.append(kept)
                context.gates.append(kept["id"])
            case _:
                told.done.append(kept)
    return told


async def until_gate(events: AsyncIterator[Mapping[str, Any]], gates: int = 1) -> list[dict[str, Any]]:
    """The first gates of a turn, which is then left as a restart would leave it."""
    found = []
    async for event in events:
        if event["type"] == "gate":
            found.append(dict(event))
            if len(found) == gates:
                break
    await events.aclose()  # type: ignore[attr-defined]
    return found
