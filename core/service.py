"""`open_service`: the whole service over one data folder, opened, recovered and closed in order.

    async with open_service("data", agent=my_agent) as turnback:
        thread = await turnback.rewind.create_thread(actor)

turnback.db must be usable, or nothing can start. steps.db need not be: turns run without it, and it is
tried anew at each use.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import structlog

from turnback.core import shapes
from turnback.core.agents.load import load_agent
from turnback.core.agents.protocol import Agent
from turnback.core.alerts import Alerts
from turnback.core.directory import Directory
from turnback.core.events import Events
from turnback.core.folder import STEPS_FILE, THREADS_FILE, WORKSPACES, claimed
from turnback.core.followups import FollowUps
from turnback.core.forking import Forking
from turnback.core.journal import Journal
from turnback.core.locks import ThreadLocks
from turnback.core.maintenance import Maintenance
from turnback.core.metrics import Metrics
from turnback.core.models import Step, ThreadId
from turnback.core.people import People
from turnback.core.policy import Access, TimeTravel
from turnback.core.recording import Recording
from turnback.core.rewind import RewindService
from turnback.core.settle import Settler
from turnback.core.steps.recorder import Recorder
from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.steps.store import StepStore
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.threads.store import ThreadStore
from turnback.core.turns import Turns

CLOSE_SECONDS = 3.0
"""How long the closing of each part may take, so that all are closed within 10 s."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnback:
    """The service's parts."""

    threads: ThreadStore
    steps: StepStore
    recorder: Recorder
    rewind: RewindService
    turns: Turns
    people: People
    directory: Directory
    events: Events
    metrics: Metrics
    alerts: Alerts
    maintenance: Maintenance


@asynccontextmanager
async def open_service(
    path: str | Path = "data",
    *,
    agent: Agent | None = None,
    policy: TimeTravel | Callable[[], TimeTravel] = TimeTravel(),
    access: Access | Callable[[], Access] = Access(),
    workspaces: Path | None = None,
    approval_timeout: float = 600,
    durability: Literal["normal", "full"] = "normal",
    maintain: bool = True,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_id: Callable[[], str] = lambda: uuid4().hex,
) -> AsyncIterator[Turnback]:
    """Open the service over a data folder, which is made if need be.

    Without an agent it is the demo's. `policy` and `access` may be functions, asked anew at each use.
    Times in seconds. Raises FolderBusy while another service has the folder, NewerSchema, and OSError
    or sqlite3.Error where turnback.db cannot be used.
    """
    folder = Path(path).absolute()  # noqa: ASYNC240 - no look at the disk
    async with AsyncExitStack() as stack:
        stack.enter_context(claimed(folder))
        threads = await SqliteThreadStore.open(folder / THREADS_FILE, durability=durability)
        stack.push_async_callback(_within, "turnback.db", threads.close)
        steps = SqliteStepStore(folder / STEPS_FILE, durability=durability)
        stack.push_async_callback(_within, "steps.db", steps.close)
        agent = agent or load_agent("demo")
        if (close_agent := getattr(agent, "aclose", None)) is not None:
            stack.push_async_callback(_within, "agent", close_agent)
        service = _compose(
            _Ground(
                folder=folder,
                threads=threads,
                steps=steps,
                agent=agent,
                policy=policy if callable(policy) else lambda: policy,
                access=access if callable(access) else lambda: access,
                workspaces=workspaces or folder / WORKSPACES,
                approval_timeout=approval_timeout,
                clock=clock,
                new_id=new_id,
            )
        )
        threads.on_trouble(service.maintenance.threads_failed)
        await service.rewind.recover()
        await service.maintenance.look_at_store()
        await service.turns.recover()
        stack.push_async_callback(_within, "turns", service.turns.close)
        if maintain:
            service.maintenance.start()
        stack.push_async_callback(_within, "maintenance", service.maintenance.close)
        yield service


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What every part may stand on: the files, the agent, the rules, the clock."""

    folder: Path
    threads: ThreadStore
    steps: StepStore
    agent: Agent
    policy: Callable[[], TimeTravel]
    access: Callable[[], Access]
    workspaces: Path
    approval_timeout: float
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def forget_files(self, thread_id: ThreadId) -> None:
        """Delete a thread's workspace."""
        await asyncio.to_thread(shutil.rmtree, self.workspaces / thread_id, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """What several parts share."""

    events: Events
    metrics: Metrics
    locks: ThreadLocks
    recorder: Recorder
    follow_ups: FollowUps


def _compose(ground: _Ground) -> Turnback:
    events, metrics = Events(), Metrics()
    common = _Common(
        events=events,
        metrics=metrics,
        locks=ThreadLocks(),
        recorder=Recorder(ground.steps, metrics, ground.policy),
        follow_ups=FollowUps(ground.threads, ground.steps, ground.policy, ground.forget_files),
    )
    alerts = Alerts(events, metrics, ground.clock)
    rewind = _rewind(ground, common)
    turns = _turns(ground, common, rewind)
    rewind.turns, turns.rewind = turns, rewind
    maintenance = Maintenance(
        threads=ground.threads,
        steps=ground.steps,
        policy=ground.policy,
        alerts=alerts,
        metrics=metrics,
        folder=ground.folder,
        clock=ground.clock,
        recover=rewind.recover,
    )
    common.recorder.announce = _Announcer(ground.threads, rewind, events, common.follow_ups, maintenance.step_saved)
    common.recorder.trouble = common.follow_ups.trouble = maintenance.store_failed
    people = People(ground.threads, clock=ground.clock, new_id=ground.new_id)
    return Turnback(
        threads=ground.threads,
        steps=ground.steps,
        recorder=common.recorder,
        rewind=rewind,
        turns=turns,
        people=people,
        directory=Directory(ground.threads, people, ground.clock),
        events=events,
        metrics=metrics,
        alerts=alerts,
        maintenance=maintenance,
    )


def _rewind(ground: _Ground, common: _Common) -> RewindService:
    journal = Journal(ground.threads, common.events, common.metrics, common.locks, ground.clock)
    settler = Settler(ground.threads, getattr(ground.agent, "finish", None))
    forking = Forking(
        threads=ground.threads,
        steps=ground.steps,
        settler=settler,
        follow_ups=common.follow_ups,
        journal=journal,
        clock=ground.clock,
        new_id=ground.new_id,
    )
    return RewindService(
        threads=ground.threads,
        steps=ground.steps,
        forking=forking,
        recording=Recording(ground.threads, common.recorder, ground.policy, ground.clock, ground.new_id),
        journal=journal,
        follow_ups=common.follow_ups,
        locks=common.locks,
        policy=ground.policy,
        access=ground.access,
        clock=ground.clock,
        new_id=ground.new_id,
        settler=settler,
    )


def _turns(ground: _Ground, common: _Common, rewind: RewindService) -> Turns:
    return Turns(
        threads=ground.threads,
        recorder=common.recorder,
        events=common.events,
        agent=ground.agent,
        policy=ground.policy,
        workspaces=ground.workspaces,
        clock=ground.clock,
        new_id=ground.new_id,
        approval_timeout=ground.approval_timeout,
        rights=rewind.thread,
        locks=common.locks,
        running=common.metrics.turns_running,
    )


class _Announcer:
    """Tells everybody who may see a thread of a step that was saved in it; and `saved`, that the store works.

    The save may have dropped the last step of what was set aside; then that goes for good, too.
    """

    def __init__(
        self,
        threads: ThreadStore,
        rewind: RewindService,
        events: Events,
        follow_ups: FollowUps,
        saved: Callable[[], None],
    ) -> None:
        self._threads = threads
        self._rewind = rewind
        self._events = events
        self._follow_ups = follow_ups
        self._saved = saved

    async def __call__(self, step: Step) -> None:
        self._saved()
        view = await self._threads.view(step.thread_id)
        if view is None:
            return
        if len(view.branches) > 1:
            await self._follow_ups.sweep(step.thread_id)
        placed = await self._rewind.placed(view)
        shown = next((v for v in placed.views() if v.step.id == step.id), None)
        if shown is None:  # dropped by a budget meanwhile
            return
        data = {"thread_id": step.thread_id, "snapshot": shapes.step_json(shown)}
        readers = await self._rewind.readers(view.thread)
        self._events.publish("snapshot", data, thread_id=step.thread_id, readers=readers)


async def _within(name: str, close: Callable[[], Any]) -> None:
    """Close a part; one that does not end in time is left to the end of the process."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await close()
    except TimeoutError:
        _log.error("closing takes too long", part=name)
