"""Turns: one at a time in each thread, the others wait in order.

A thread is busy from the moment that its turn begins until no message waits; in memory that is a
lane. What begins a turn holds the thread's lock, which a restore holds from its decision to its end.
What waits is kept in the store as well, and runs after a restart.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import structlog

from turnback.core import shapes
from turnback.core.agents.protocol import Agent
from turnback.core.errors import InvalidRequest, NotFound, Refusal, StoreUnavailable
from turnback.core.events import Events
from turnback.core.locks import ThreadLocks
from turnback.core.models import (
    UNTITLED,
    AccountId,
    Actor,
    Gate,
    GateId,
    GateStatus,
    Thread,
    ThreadId,
    Turn,
    TurnStatus,
)
from turnback.core.policy import Right, TimeTravel
from turnback.core.tasks import Tasks
from turnback.core.text import one_line, well_formed
from turnback.core.threads.store import NewTurn, ThreadStore
from turnback.core.turns.resuming import pick_up
from turnback.core.turns.running import Begun, RunningTurn
from turnback.core.turns.values import (
    Captures,
    Gauge,
    Parts,
    Progress,
    ResultStatus,
    RewindControl,
    Rights,
    Sent,
    TurnResult,
    Voice,
)

TITLE_LENGTH = 60
SUMMARY_LENGTH = 80

STOP_SECONDS = 5.0
"""How long a stopped agent may take before it is given up."""

CLOSE_SECONDS = 2.0
"""The same when the whole program ends, which must not take 10 s."""

GATE_GONE = "That approval is no longer waiting."
LATER = "Turnback stops before your message could run. It runs when Turnback has started again."

_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Message:
    """`orphan`: from before a restart, so nobody looks at `progress` any more."""

    actor: Actor
    text: str
    origin: str | None = None
    files: tuple[str, ...] = ()
    progress: Progress = field(default_factory=Progress)
    waiting: int | None = None
    orphan: bool = False

    @property
    def words(self) -> str:
        """The text as the agent and people read it: a line names each file that came with it."""
        named = [f"[file: {path}]" for path in self.files]
        return "\n".join([self.text, *named] if self.text.strip() else named)

    @property
    def subject(self) -> str:
        """What summary and title are made of."""
        return self.text if self.text.strip() else self.words


@dataclass(slots=True, eq=False)
class _Lane:
    thread_id: ThreadId
    current: RunningTurn
    queue: deque[_Message]
    task: asyncio.Task[None] | None = None


class Turns:
    """Runs the agent for every thread. After construction `recover`, at the end `close`."""

    def __init__(
        self,
        *,
        threads: ThreadStore,
        recorder: Captures,
        events: Events,
        agent: Agent,
        policy: Callable[[], TimeTravel],
        workspaces: Path,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        approval_timeout: float,
        rights: Rights,
        locks: ThreadLocks,
        running: Gauge | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        grace: float = STOP_SECONDS,
    ) -> None:
        self.rewind: RewindControl | None = None
        self._threads = threads
        self._clock = clock
        self._rights = rights
        self._locks = locks
        self._gauge = running
        self._tasks = Tasks()
        self._lanes: dict[ThreadId, _Lane] = {}
        self._told: dict[ThreadId, list[str]] = {}
        self._closing = False
        self._parts = Parts(
            threads=threads,
            recorder=recorder,
            events=events,
            agent=agent,
            policy=policy,
            workspaces=workspaces,
            clock=clock,
            new_id=new_id,
            approval_timeout=approval_timeout,
            sleep=sleep,
            grace=grace,
            rewind=lambda: self.rewind,
            tasks=self._tasks,
        )

    # messages

    async def send(
        self, actor: Actor, thread_id: str, text: str, *, origin: str | None = None, files: Sequence[str] = ()
    ) -> Sent:
        """Begin a turn with a message, or put it behind those that wait.

        `origin` says where it was written, in the caller's words; `files` are paths in the thread's workspace
        that came with it. Raises InvalidRequest for a blank one without files, NotFound and Forbidden.
        """
        if not text.strip() and not files:
            raise InvalidRequest("A message needs some text.")
        thread = await self._rights(actor, thread_id, Right.WRITE)
        message = _Message(actor, well_formed(text), origin, tuple(map(well_formed, files)))
        return await self._tasks.surely(self._accept(thread.id, message))

    async def ask(self, actor: Actor, thread_id: str, text: str) -> TurnResult:
        """Send, and wait for the end of the turn or until it waits at gates."""
        return await (await self.send(actor, thread_id, text)).progress.stage()

    async def wait(self, sent: Sent) -> TurnResult:
        """Wait for the end of a message's turn."""
        return await asyncio.shield(sent.done)

    def workspace(self, thread_id: ThreadId) -> Path:
        """A thread's folder for files; it may not be there yet."""
        return self._parts.workspaces / thread_id

    def running(self, thread_id: str) -> bool:
        """Whether a turn runs or waits at a gate."""
        lane = self._lanes.get(ThreadId(thread_id))
        return lane is not None and not lane.current.ended.is_set()

    def turn_away(self, thread_id: ThreadId, account: AccountId) -> None:
        """Somebody may not read a thread any more: they are not told of what is under way there, either."""
        lane = self._lanes.get(thread_id)
        if lane is not None:
            lane.current.voice.readers -= {account}

    def return_waiting(self, thread_id: ThreadId) -> int:
        """Give messages that the store keeps no more back to their senders; answers how many."""
        lane = self._lanes.get(thread_id)
        return self._empty(lane, "returned") if lane else 0

    def tell(self, thread_id: ThreadId, note: str) -> None:
        """Tell the agent something with the next turn of a thread, such as a lesson; the same only once."""
        notes = self._told.setdefault(thread_id, [])
        if note not in notes:
            notes.append(note)

    # stopping and approving

    async def stop(self, actor: Actor, thread_id: str) -> bool:
        """Stop the turn that runs; False if none does. Messages that wait come next."""
        thread = await self._rights(actor, thread_id, Right.WRITE)
        return await self._stop(thread.id)

    async def halt(self, thread_id: ThreadId) -> None:
        """Stop whatever runs or waits in a thread that goes, and wait until it has ended."""
        self._told.pop(thread_id, None)
        if lane := self._lanes.get(thread_id):
            await self._threads.drop_waiting([m.waiting for m in lane.queue if m.waiting is not None])
            self._empty(lane, "returned")
        await self._stop(thread_id)

    async def decide(self, actor: Actor, thread_id: str, gate_id: str, approve: bool) -> Gate:
        """Answer an approval. Of several answers the first counts; NotFound for the others."""
        thread = await self._rights(actor, thread_id, Right.APPROVE)
        return await self._tasks.surely(self._decide(actor, thread.id, GateId(gate_id), approve))

    async def withdraw(self, thread_id: ThreadId, gate_id: GateId) -> None:
        """Nobody can be asked for this approval, so it counts as denied. Nothing if it waits no more."""
        gate = await self._threads.find_gate(gate_id)
        if gate is None or gate.thread_id != thread_id:
            return
        decided = await self._threads.decide_gate(gate_id, GateStatus.DENIED, None, self._clock())
        if decided and (lane := self._lanes.get(thread_id)):
            lane.current.approvals.decided(replace(gate, status=GateStatus.DENIED))

    async def decided(self, actor: Actor, thread_id: str, gate_id: str, approve: bool) -> TurnResult:
        """Answer an approval, and wait for the end of the turn or the next gates."""
        thread = await self._rights(actor, thread_id, Right.APPROVE)
        lane = self._lanes.get(thread.id)
        if lane is None:
            raise NotFound(GATE_GONE)
        await self._tasks.surely(self._decide(actor, thread.id, GateId(gate_id), approve))
        return await lane.current.progress.stage()

    # beginning and ending

    async def recover(self) -> None:
        """At start: turns at gates go on waiting, others are closed as interrupted; messages wait or run."""
        left = {turn.thread_id: turn for turn in await self._threads.running()}
        queues: dict[ThreadId, deque[_Message]] = {thread_id: deque() for thread_id in left}
        for kept in await self._threads.waiting():
            message = _Message(kept.actor, kept.text, kept.origin, kept.files, waiting=kept.id, orphan=True)
            queues.setdefault(kept.thread_id, deque()).append(message)
        for thread_id, queue in queues.items():
            if thread_id in self._lanes:
                continue
            async with self._locks.hold(thread_id):
                current = await pick_up(self._parts, left[thread_id]) if thread_id in left else None
                current = current or await self._next(thread_id, queue)
                if current is not None:
                    self._open_lane(thread_id, current, queue)

    async def close(self, seconds: float = 2 * CLOSE_SECONDS) -> None:
        """Stop all turns; those that wait at gates go on after a restart, messages that wait run then."""
        self._closing = True
        await self._tasks.settle(CLOSE_SECONDS / 2)
        lanes = list(self._lanes.values())
        for lane in lanes:
            self._empty(lane, "queued", LATER)
            self._tasks.start(lane.current.leave(min(seconds / 2, CLOSE_SECONDS)))
        tasks = {lane.task for lane in lanes if lane.task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _accept(self, thread_id: ThreadId, message: _Message) -> Sent:
        async with self._locks.hold(thread_id):
            if self._closing:
                raise StoreUnavailable("Turnback is stopping. Send that again in a moment.")
            lane = self._lanes.get(thread_id)
            if lane is not None:
                message.waiting = await self._threads.add_waiting(
                    thread_id, message.actor, message.text, origin=message.origin, files=message.files
                )
                behind_own = any(before.actor.account == message.actor.account for before in lane.queue)
                lane.queue.append(message)
                return Sent(turn_index=None, status="queued", progress=message.progress, behind_own=behind_own)
            current = await self._begin(thread_id, message)
            self._open_lane(thread_id, current, deque())
            return Sent(turn_index=current.turn.turn_index, status="running", progress=message.progress)

    def _open_lane(self, thread_id: ThreadId, current: RunningTurn, queue: deque[_Message]) -> None:
        lane = _Lane(thread_id, current, queue)
        self._lanes[thread_id] = lane
        lane.task = asyncio.create_task(self._run_lane(lane))

    async def _run_lane(self, lane: _Lane) -> None:
        following: RunningTurn | None = lane.current
        try:
            while following is not None:
                lane.current = following
                await self._run(following)
                async with self._locks.hold(lane.thread_id):
                    following = await self._next(lane.thread_id, lane.queue)
                    if following is None:
                        del self._lanes[lane.thread_id]
        finally:
            self._lanes.pop(lane.thread_id, None)

    async def _run(self, current: RunningTurn) -> None:
        if self._gauge:
            self._gauge.inc()
        try:
            await current.run()
        except Exception:  # noqa: BLE001 - a bug of ours must neither stop the messages that wait nor block the thread
            _log.exception("turn broke", thread=current.turn.thread_id, operation="turn")
        finally:
            if self._gauge:
                self._gauge.dec()

    async def _next(self, thread_id: ThreadId, queue: deque[_Message]) -> RunningTurn | None:
        """Begin a turn with the first message that still may; the caller holds the lock."""
        while queue:
            message = queue.popleft()
            try:
                await self._rights(message.actor, thread_id, Right.WRITE)
                return await self._begin(thread_id, message)
            except Refusal as refusal:
                reply = refusal.detail
            except Exception:  # noqa: BLE001 - its sender must hear of it, and the others must get their turn
                _log.exception("turn cannot begin", thread=thread_id, operation="turn")
                reply = "That did not work. Try again."
            if message.waiting is not None:
                with suppress(StoreUnavailable):  # then it may run once more after a restart
                    await self._threads.drop_waiting([message.waiting])
            self._return(thread_id, message, "failed", reply)
        return None

    def _empty(self, lane: _Lane, status: ResultStatus, reply: str = "") -> int:
        """Tell the senders of all that waits; answers how many there were."""
        count = len(lane.queue)
        while lane.queue:
            self._return(lane.thread_id, lane.queue.popleft(), status, reply)
        return count

    def _return(self, thread_id: ThreadId, message: _Message, status: ResultStatus, reply: str) -> None:
        """Tell the sender of a message that it did not run, or (`queued`) does later."""
        message.progress.finish(TurnResult(thread_id=thread_id, turn_index=None, status=status, reply=reply))
        if message.orphan and status != "queued":
            data = {"thread_id": thread_id, "origin": message.origin, "status": status, "reply": reply}
            self._parts.events.publish("unrun", data, thread_id=thread_id)

    async def _begin(self, thread_id: ThreadId, message: _Message) -> RunningTurn:
        """Begin a turn; the caller holds the lock."""
        before = await self._parts.view(thread_id)
        voice = await self._parts.voice(before.thread)
        new = NewTurn(
            text=message.words,
            summary=one_line(message.subject, SUMMARY_LENGTH),
            actor=message.actor.account,
            at=self._clock(),
            waiting=message.waiting,
            origin=message.origin,
            files=message.files,
        )
        turn = await self._threads.begin_turn(thread_id, new)
        notes = tuple(self._told.pop(thread_id, ()))
        begun = Begun(turn=turn, actor=message.actor, text=new.text, before=before, notes=notes)
        current = RunningTurn(self._parts, begun, message.progress, voice)
        try:
            await self._announce(before.thread, turn, message.subject, voice)
        except Exception:  # noqa: BLE001 - the turn has begun: unless it runs, its thread is busy for ever
            _log.exception("turn not announced", thread=thread_id, operation="turn")
        return current

    async def _announce(self, thread: Thread, turn: Turn, text: str, voice: Voice) -> None:
        voice.tell_began(turn)
        for row in await self._threads.turn_rows(turn.thread_id, turn.turn_no):
            voice.tell("message", message=shapes.message_json(row))
        voice.tell("turn_started", turn_index=turn.turn_index, status=TurnStatus.RUNNING.value)
        if thread.title in ("", UNTITLED):
            await self._threads.rename_thread(thread.id, one_line(text, TITLE_LENGTH), self._clock())
        voice.tell_threads()

    async def _stop(self, thread_id: ThreadId) -> bool:
        if not self.running(thread_id):
            return False
        await self._lanes[thread_id].current.stop()
        return True

    async def _decide(self, actor: Actor, thread_id: ThreadId, gate_id: GateId, approve: bool) -> Gate:
        gate = await self._threads.find_gate(gate_id)
        if gate is None or gate.thread_id != thread_id:
            raise NotFound("There is no such approval here.")
        now = self._clock()
        lane = self._lanes.get(thread_id)
        status = GateStatus.APPROVED if approve else GateStatus.DENIED
        if gate.expires_at <= now or not await self._threads.decide_gate(gate_id, status, actor.account, now):
            if lane is not None:
                lane.current.approvals.look()
            raise NotFound(GATE_GONE)
        gate = replace(gate, status=status)
        if lane is not None:
            lane.current.approvals.decided(gate, actor.name)
        return gate
