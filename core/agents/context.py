"""What a turn offers to its agent, on the thread store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from turnback.core.models import Fact, FactId, ThreadId
from turnback.core.text import well_formed
from turnback.core.threads.store import ThreadStore


class TurnOver(Exception):
    """An agent asked for something in a turn that has ended."""


@dataclass(frozen=True, slots=True)
class Undo:
    """The agent wants its turn and the `n` before it to be undone."""

    n: int


@dataclass(frozen=True, slots=True)
class Redo:
    """The agent wants the last undo to be reversed."""


class TurnContext:
    """The `Context` of one turn; of no use once the turn is over."""

    def __init__(
        self,
        thread_id: ThreadId,
        workspace: Path,
        *,
        threads: ThreadStore,
        approvals: Callable[[], Awaitable[Mapping[str, bool]]],
        turns: Sequence[tuple[int, str]] = (),
        notes: Sequence[str] = (),
        files: Sequence[str] = (),
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._thread_id = thread_id
        self._workspace = workspace
        self._threads = threads
        self._approvals = approvals
        self._turns = tuple(turns)
        self._notes = tuple(notes)
        self._files = tuple(files)
        self._clock = clock
        self._new_id = new_id
        self._over = False
        self.wanted: Undo | Redo | None = None

    @property
    def thread_id(self) -> ThreadId:
        return self._thread_id

    @property
    def workspace(self) -> Path:
        return self._workspace

    @property
    def notes(self) -> Sequence[str]:
        return self._notes

    @property
    def files(self) -> Sequence[str]:
        return self._files

    async def approvals(self) -> Mapping[str, bool]:
        if self._over:
            raise TurnOver
        return await self._approvals()

    async def remember(self, text: str) -> Fact | None:
        """Keep a fact; None when memory is off, or the turn was given up meanwhile."""
        thread = await self._threads.find_thread(self._thread_id)
        if self._over or thread is None or not thread.memory:
            return None
        return await self._threads.add_fact(self._thread_id, FactId(self._new_id()), well_formed(text), self._clock())

    async def recall(self) -> Sequence[Fact]:
        return await self._threads.facts(self._thread_id)

    async def turns(self) -> Sequence[tuple[int, str]]:
        return self._turns

    def undo(self, n: int = 1) -> None:
        self.wanted = Undo(max(n, 0))

    def redo(self) -> None:
        self.wanted = Redo()

    def close(self) -> None:
        """The turn is over: nothing that its agent still does is kept."""
        self._over = True
