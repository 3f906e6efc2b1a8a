"""Turns on a real file, an agent whose every pause the test ends, and time that passes on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

from turnback.core.agents.protocol import Context
from turnback.core.errors import Forbidden, NotFound
from turnback.core.events import Event, Events
from turnback.core.locks import ThreadLocks
from turnback.core.models import (
    AccountId,
    Actor,
    CaptureResult,
    State,
    Surface,
    Thread,
    ThreadId,
)
from turnback.core.policy import Access, Right, TimeTravel, may
from turnback.core.state.codec import Encoded
from turnback.core.steps.store import StepDraft
from turnback.core.threads.store import Return, ThreadStore
from turnback.core.turns import Turns

THREAD = ThreadId("d" * 32)
ANN = Actor(account=AccountId("a" * 32), surface=Surface.API, name="Ann")
BOB = Actor(account=AccountId("b" * 32), surface=Surface.API, name="Bob")

Script = Callable[["Stage", State, str, Context], AsyncIterator[Mapping[str, Any]]]


class Stage:
    """An agent that plays a script, one for each first word. Scripts halt where the test wants them to.

    `await stage.halt("x")` in a script waits until the test calls `stage.go("x")`; the test waits for
    the script with `await stage.reached("x")`.
    """

    quiet_tools = frozenset({"note"})

    def __init__(self, **scripts: Script) -> None:
        self.scripts = scripts
        self._reached: dict[str, asyncio.Event] = {}
        self._free: dict[str, asyncio.Event] = {}
        self.seen: list[State] = []

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        self.seen.append(state)
        script = self.scripts.get(text.partition(" ")[0], answer)
        async for event in script(self, state, text, context):
            yield event

    async def halt(self, name: str) -> None:
        self._event(self._reached, name).set()
        await self._event(self._free, name).wait()

    async def reached(self, name: str) -> None:
        await self._event(self._reached, name).wait()

    def go(self, name: str) -> None:
        self._event(self._free, name).set()

    def _event(self, events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        return events.setdefault(name, asyncio.Event())


class Surviving(Stage):
    """A stage whose turns go on after a restart."""

    async def resume(
        self, state: State, approvals: Mapping[str, bool], context: Context
    ) -> AsyncIterator[Mapping[str, Any]]:
        said = f"resumed {sorted(approvals.items())}"
        state = talked(state, "assistant", said)
        yield {"type": "step", "state": state, "tools": ["mail"]}
        yield {"type": "done", "state": state, "text": said}


def talked(state: State, role: str, text: str) -> State:
    """The state after one more message."""
    return {**state, "messages": [*state.get("messages", []), {"role": role, "content": text}]}


def called(state: State, tool: str, **args: Any) -> State:
    """The state after one more tool call and its result."""
    messages = list(state.get("messages", []))
    call = {"id": f"c{len(messages)}", "type": "function", "function": {"name": tool, "arguments": args}}
    messages += [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
    ]
    return {**state, "messages": messages}


async def answer(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
    """One step that says the message again."""
    state = talked(talked(state, "user", text), "assistant", f"said {text}")
    yield {"type": "delta", "text": f"said {text}"}
    yield {"type": "step", "state": state, "model": "scripted"}
    yield {"type": "done", "state": state, "text": f"said {text}"}


async def slow(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
    """Halts at `start`, does a step with a tool, halts at `middle`, answers in a second step."""
    await stage.halt("start")
    state = called(talked(state, "user", text), "mail", to="x")
    yield {"type": "step", "state": state}
    await stage.halt("middle")
    state = talked(state, "assistant", "slept")
    yield {"type": "step", "state": state}
    yield {"type": "done", "state": state, "text": "slept"}


async def gated(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
    """A step, then one gate a word of the message, then a step that says how each was answered."""
    state = called(talked(state, "user", text), "note", text="before")
    yield {"type": "step", "state": state}
    for word in text.split()[1:]:
        yield {"type": "gate", "tool": "mail", "args": {"to": word}, "id": word, "state": state}
    answers = await context.approvals()
    for word, approved in answers.items():
        if approved:
            state = called(state, "mail", to=word)
    said = f"answered {sorted(answers.items())}"
    state = talked(state, "assistant", said)
    yield {"type": "step", "state": state}
    yield {"type": "done", "state": state, "text": said}


@dataclass
class Time:
    """A wall clock with a `sleep` that ends when the test moves the clock far enough."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    sleepers: list[tuple[datetime, asyncio.Future[None]]] = field(default_factory=list)

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        wake = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.now + timedelta(seconds=seconds), wake))
        await wake

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for at, wake in self.sleepers:
            if at <= self.now and not wake.done():
                wake.set_result(None)


@dataclass
class Captured:
    """A recorder that only keeps what it is given."""

    drafts: list[StepDraft] = field(default_factory=list)
    contents: list[Encoded | Exception] = field(default_factory=list)
    result: CaptureResult = CaptureResult.STORED

    async def capture(self, draft: StepDraft, content: Encoded | Exception) -> CaptureResult:
        self.drafts.append(draft)
        self.contents.append(content)
        return CaptureResult.FAILED if isinstance(content, Exception) else self.result


@dataclass
class Wishes:
    """What agents asked of the rewind service."""

    made: list[tuple[Any, ...]] = field(default_factory=list)
    refusal: Exception | None = None

    async def undo(self, actor: Actor, thread_id: str, n: int) -> object:
        self._note("undo", n)
        return None

    async def redo_before(self, actor: Actor, thread_id: str, returns: Sequence[Return]) -> object:
        self._note("redo", tuple(returns))
        return None

    def _note(self, *wish: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.made.append(wish)


@dataclass
class Gauge:
    """Counts up and down."""

    value: int = 0

    def inc(self) -> None:
        self.value += 1

    def dec(self) -> None:
        self.value -= 1


class House:
    """Turns, and all that they need."""

    def __init__(self, threads: ThreadStore, folder: Path, agent: Stage) -> None:
        self.threads = threads
        self.agent = agent
        self.time = Time()
        self.events = Events()
        self.captured = Captured()
        self.wishes = Wishes()
        self.locks = ThreadLocks()
        self.gauge = Gauge()
        self.policy = TimeTravel()
        self._ids = count(1)
        self._folder = folder
        self.turns = self.new_turns()

    def new_turns(self) -> Turns:
        """Turns as a new process would have them, on the same files."""
        turns = Turns(
            threads=self.threads,
            recorder=self.captured,
            events=self.events,
            agent=self.agent,
            policy=lambda: self.policy,
            workspaces=self._folder / "workspaces",
            clock=self.time,
            new_id=lambda: f"{next(self._ids):032x}",
            approval_timeout=600,
            rights=self.rights,
            locks=self.locks,
            running=self.gauge,
            sleep=self.time.sleep,
            grace=0.05,
        )
        turns.rewind = self.wishes
        return turns

    async def restart(self) -> None:
        """End the program and start it anew."""
        await self.turns.close()
        self.turns = self.new_turns()
        await self.turns.recover()

    async def rights(self, actor: Actor, thread_id: str, right: Right) -> Thread:
        thread = await self.threads.find_thread(ThreadId(thread_id))
        if thread is None:
            raise NotFound
        participant = actor.account in await self.threads.participants(thread.id)
        if not may(actor, thread, participant, right, Access()):
            raise Forbidden
        return thread

    async def rows(self) -> list[tuple[str, str]]:
        """The transcript on the path: role and text."""
        return [(r.role, r.text) for r, _ in await self.threads.transcript(THREAD)]

    async def state(self) -> State:
        """The state at the head."""
        thread = await self.thread()
        return cast("State", await self.threads.checkpoint(THREAD, thread.head))

    async def thread(self) -> Thread:
        found = await self.threads.find_thread(THREAD)
        assert found is not None
        return found

    async def others_had_time(self) -> None:
        """Let everybody else do what takes less than some dozen looks at the file."""
        for _ in range(40):
            await self.threads.find_thread(THREAD)

    def told(self, *names: str) -> list[Event]:
        """The events so far with these names."""
        return [e for e in self.events._kept if e.name in names]


async def until(check: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Let others run until something is so; the test's own time limit ends a wait in vain."""
    while True:
        found = check()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(0)
