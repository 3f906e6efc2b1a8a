"""What goes in and out of turns: results, how far a turn is, and what turns need of the house."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from turnback.core.agents.protocol import Agent
from turnback.core.errors import NotFound
from turnback.core.events import EventName, Events
from turnback.core.models import AccountId, Actor, CaptureResult, Gate, Thread, ThreadId, Turn
from turnback.core.policy import Right, TimeTravel
from turnback.core.state.codec import Encoded
from turnback.core.steps.store import StepDraft
from turnback.core.tasks import Tasks
from turnback.core.threads.store import Return, ThreadStore, ThreadView

ResultStatus = Literal["done", "failed", "stopped", "interrupted", "approval_pending", "returned", "queued"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How a turn ended, or that it waits for approvals.

    `reply` is the answer, or the line that says why there is none. `notes` are further lines for the
    people in the chat. `returned`: the message never began a turn, its sender has it back. `queued`: it
    waits still, and runs after a restart.
    """

    thread_id: ThreadId
    turn_index: int | None
    status: ResultStatus
    reply: str = ""
    gates: tuple[Gate, ...] = ()
    notes: tuple[str, ...] = ()


class Progress:
    """How far a message has come: `stage` is the end or a halt at gates, `done` the end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[TurnResult] = loop.create_future()
        self._stage: asyncio.Future[TurnResult] = loop.create_future()

    def pause(self, result: TurnResult) -> None:
        """The turn waits at gates."""
        self.go_on()
        self._stage.set_result(result)

    def go_on(self) -> None:
        """The turn waits no more."""
        if self._stage.done():
            self._stage = self._stage.get_loop().create_future()

    def finish(self, result: TurnResult) -> None:
        """The turn has ended; the first end counts."""
        if self.done.done():
            return
        self.done.set_result(result)
        self.pause(result)

    async def stage(self) -> TurnResult:
        """Wait for the end or the next halt at gates."""
        return await asyncio.shield(self._stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that was accepted; `turn_index` is None while it waits behind others.

    `behind_own`: another one of the same person waits before it.
    """

    turn_index: int | None
    status: Literal["running", "queued"]
    progress: Progress = field(repr=False)
    behind_own: bool = False

    @property
    def done(self) -> asyncio.Future[TurnResult]:
        """The end of the turn. Cancelling it does not stop the turn."""
        return self.progress.done


class Rights(Protocol):
    """Gives the thread to who may, and refuses everybody else."""

    async def __call__(self, actor: Actor, thread_id: str, right: Right) -> Thread: ...


class RewindControl(Protocol):
    """What turns need of the rewind service: an agent may ask for it."""

    async def undo(self, actor: Actor, thread_id: str, n: int) -> object:
        """Undo the last `n` turns."""
        ...

    async def redo_before(self, actor: Actor, thread_id: str, returns: Sequence[Return]) -> object:
        """Redo as though the newest turn had never been; `returns` is the redo chain that it ended."""
        ...


class Captures(Protocol):
    """What turns need of the recorder."""

    async def capture(self, draft: StepDraft, content: Encoded | Exception) -> CaptureResult:
        """Save a step, or count that it could not be encoded; never raises."""
        ...


class Gauge(Protocol):
    """A number that goes up and down."""

    def inc(self) -> object: ...
    def dec(self) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What every turn works with. Times in seconds; `grace` is how long a stopped agent may take."""

    threads: ThreadStore
    recorder: Captures
    events: Events
    agent: Agent
    policy: Callable[[], TimeTravel]
    workspaces: Path
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    approval_timeout: float
    sleep: Callable[[float], Awaitable[None]]
    grace: float
    rewind: Callable[[], RewindControl | None]
    tasks: Tasks

    async def view(self, thread_id: ThreadId) -> ThreadView:
        """A thread as it is now; raises NotFound."""
        view = await self.threads.view(thread_id)
        if view is None:
            raise NotFound
        return view

    async def voice(self, thread: Thread) -> Voice:
        """The voice that reaches all who may see a thread now."""
        present = await self.threads.participants(thread.id) if thread.group else ()
        return Voice(self.events, thread.id, frozenset({thread.owner, *present}))


@dataclass(slots=True)
class Voice:
    """Tells everybody who may see a thread what happens in it. `readers` change when somebody may no more."""

    events: Events
    thread_id: ThreadId
    readers: frozenset[AccountId]

    def tell(self, name: EventName, **data: Any) -> None:
        """Publish an event of the thread."""
        self.events.publish(name, {"thread_id": self.thread_id, **data}, thread_id=self.thread_id, readers=self.readers)

    def tell_began(self, turn: Turn) -> None:
        """The house is told of a turn before all that happens in it."""
        self.tell("began", turn_no=turn.turn_no, turn_index=turn.turn_index, origin=turn.origin)

    def tell_ended(self, turn: Turn, notes: Sequence[str] = ()) -> None:
        """The house is told that nothing more happens in a turn; `notes` are lines beside its transcript's."""
        end = {"branch": turn.end.branch, "pos": turn.end.pos, "notes": list(notes)}
        self.tell("ended", turn_no=turn.turn_no, origin=turn.origin, status=turn.status.value, **end)

    def tell_threads(self) -> None:
        """The list of threads looks different now."""
        self.events.publish("threads", {}, readers=self.readers)
