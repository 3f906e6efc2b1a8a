"""The clean-up: steps older than the retention go, and the file gives back what it no longer needs.

APScheduler looks every few minutes whether a run is due; that is decided by the wall clock and the
time of the last success, which is kept in turnback.db. So a suspended machine, a blocked loop or a
restart neither drops a run nor doubles it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import structlog
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from turnback.core.alerts import Alerts
from turnback.core.errors import StoreUnavailable
from turnback.core.metrics import Metrics
from turnback.core.models import ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.steps.store import Disk, StepStore
from turnback.core.tasks import Tasks
from turnback.core.text import counted
from turnback.core.threads.store import ThreadStore

AFTER_START = timedelta(minutes=2)
BETWEEN = timedelta(hours=24)
LOOK_EVERY = timedelta(minutes=5)

BATCH = 100
"""Steps deleted in one transaction, so that captures come in between."""

COMPACT_FREE_BYTES = 8 * 1024 * 1024
COMPACT_FREE_SHARE = 4
"""The file is compacted when at least one part in so many, and so many bytes, are free."""

COMPACT_PAGES = 256
"""Pages given back in one go."""

LOG_BYTES = 128 * 1024 * 1024
"""A write-ahead log of this size is not emptied any more: somebody reads without an end."""

STALE_AFTER = timedelta(days=30)
"""How long handled updates, answers to repeated requests, and expired sign-ins are remembered."""

STORE_ALERT = "steps_unavailable"
THREADS_ALERT = "threads_unavailable"

NO_THREAD = ThreadId("0" * 32)
"""An id that no thread has: to write something to steps.db that is nobody's."""

LAST_SUCCESS = "cleanup.last_success"
LAST_RETENTION = "cleanup.retention_days"
LAST_RESULT = "cleanup.result"
LAST_TRY = "threads.tried"

Compaction = Literal["not needed", "done", "skipped: a turn is running", "skipped: disk space is short"]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What a run did, or would do."""

    before: datetime
    steps: int
    threads: int
    compaction: Compaction = "not needed"
    freed_bytes: int = 0


def due(now: datetime, started: datetime, last_success: datetime | None) -> bool:
    """Whether a run is due. A last success in the future (the clock was set back) does not count."""
    if now < started + AFTER_START:
        return False
    return last_success is None or last_success > now or now >= last_success + BETWEEN


def wants_compaction(disk: Disk) -> bool:
    """Whether enough of the file is free."""
    return disk.free >= COMPACT_FREE_BYTES and disk.free * COMPACT_FREE_SHARE >= disk.size


class Maintenance:
    """The clean-up and its job. `folder` is where the files lie."""

    def __init__(
        self,
        *,
        threads: ThreadStore,
        steps: StepStore,
        policy: Callable[[], TimeTravel],
        alerts: Alerts,
        metrics: Metrics,
        folder: Path,
        clock: Callable[[], datetime],
        recover: Callable[[], Awaitable[None]] | None = None,
        disk_free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._threads = threads
        self._steps = steps
        self._policy = policy
        self._alerts = alerts
        self._metrics = metrics
        self._folder = folder
        self._clock = clock
        self._recover = recover
        self._disk_free = disk_free
        self._started = clock()
        self._running = asyncio.Lock()
        self._tasks = Tasks()
        self._under_way: asyncio.Task[Cleanup] | None = None
        self._deleted: int | None = None
        self._scheduler: Any = None

    def start(self) -> None:
        """Look from now on, every few minutes."""
        self._started = self._clock()
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.add_listener(self._job_failed, EVENT_JOB_ERROR | EVENT_JOB_MISSED)
        self._scheduler.add_job(
            self.look,
            IntervalTrigger(seconds=int(LOOK_EVERY.total_seconds()), timezone=UTC),
            id="cleanup",
            next_run_time=datetime.now(UTC) + AFTER_START,
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
        )
        self._scheduler.start()

    @property
    def job(self) -> Any:
        """The scheduler's job, or None when there is none."""
        return self._scheduler and self._scheduler.get_job("cleanup")

    async def close(self) -> None:
        """Stop looking; a run that is under way ends after its present batch."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait([self._under_way])

    async def look(self) -> Cleanup | None:
        """See to both stores, and run if it is due and wanted."""
        await self.look_at_threads()
        await self.look_at_store()
        last = await self.last_success()
        if last is not None:
            self._metrics.cleanup_last_success.set(last.timestamp())
        if not self._policy().auto_maintain or not due(self._clock(), self._started, last):
            return None
        try:
            return await self.run()
        except StoreUnavailable as refusal:
            self._failed(refusal.detail)
            return None

    async def look_at_threads(self) -> None:
        """Where turnback.db was out of order, try whether it can be written again."""
        if not self._alerts.stands(THREADS_ALERT):
            return
        try:
            await self._threads.set_note(LAST_TRY, self._clock().isoformat())
        except StoreUnavailable:
            return  # and the operator knows
        self._alerts.settle(THREADS_ALERT)

    async def look_at_store(self) -> bool:
        """Whether the step store can be read. Alerts the operator when it cannot; where an alert stands, sees whether
        it can be written again, too, and catches up then.
        """
        try:
            totals = await self._steps.totals()
        except StoreUnavailable as refusal:
            self.store_failed(refusal)
            return False
        self._metrics.steps.set(totals.steps)
        self._metrics.stored_bytes.set(totals.stored_bytes)
        if self._alerts.stands(STORE_ALERT) and await self._can_save():
            await self._store_is_well()
        return await self._look_at_log()

    def step_saved(self) -> None:
        """A step was saved: if the step store was out of order, it is no more."""
        if self._alerts.stands(STORE_ALERT):
            self._tasks.start(self._store_is_well())

    async def _store_is_well(self) -> None:
        if self._alerts.settle(STORE_ALERT) and self._recover:
            await self._recover()

    async def _can_save(self) -> bool:
        """Whether there is room for a step of any size, and steps.db can be written. On a full disk reads still work,
        and so may a small write, where the file has room in itself.
        """
        if self._disk_free(self._folder) < self._policy().budgets.max_snapshot_bytes:
            return False
        try:
            await self._steps.clear(NO_THREAD, int(self._clock().timestamp()))
        except StoreUnavailable:
            return False
        return True

    async def _look_at_log(self) -> bool:
        try:
            disk = await self._steps.disk()
        except StoreUnavailable as refusal:
            self.store_failed(refusal)
            return False
        if disk.wal > LOG_BYTES:
            self._alerts.sound(
                "log_grows",
                f"The log of steps.db in {self._folder} grows since another program keeps the file open; end that one.",
            )
        else:
            self._alerts.settle("log_grows")
        return True

    def store_failed(self, _refusal: StoreUnavailable) -> None:
        """The step store is out of order: the operator has to know."""
        self._alerts.sound(
            STORE_ALERT, f"steps.db in {self._folder} cannot be used: steps are not saved; run `turnback check`."
        )

    def threads_failed(self, _refusal: StoreUnavailable) -> None:
        """turnback.db is out of order: the operator has to know."""
        self._alerts.sound(
            THREADS_ALERT,
            f"turnback.db in {self._folder} cannot be read or written: messages are refused; "
            "make room on its disk, or run `turnback check`.",
        )

    async def last_success(self) -> datetime | None:
        """When a run last succeeded."""
        kept = await self._threads.note(LAST_SUCCESS)
        return datetime.fromisoformat(kept) if kept else None

    async def last_result(self) -> Cleanup | None:
        """What that run did."""
        kept = await self._threads.note(LAST_RESULT)
        if kept is None:
            return None
        result = json.loads(kept)
        return Cleanup(**{**result, "before": datetime.fromisoformat(result["before"])})

    async def next_due(self) -> datetime | None:
        """From when on a run is due; None while the daily clean-up is off."""
        if not self._policy().auto_maintain:
            return None
        last, now, first = await self.last_success(), self._clock(), self._started + AFTER_START
        return first if last is None or last > now else max(first, last + BETWEEN)

    @property
    def deleted_so_far(self) -> int | None:
        """How many steps the run that is under way has deleted; None while there is none."""
        return self._deleted

    async def count(self, retention_days: int | None = None) -> Cleanup:
        """What a run would delete now, with this retention or the one in force."""
        before = self._before(retention_days)
        steps, threads = await self._steps.count_before(before)
        return Cleanup(before=before, steps=steps, threads=threads)

    async def run(self) -> Cleanup:
        """Delete what is too old, compact, and count again. Raises StoreUnavailable."""
        async with self._running:
            try:
                return await self._run()
            finally:
                self._deleted = None

    def run_now(self) -> asyncio.Task[Cleanup]:
        """The same in the background, alone; the operator is told if it fails and nobody waits for it."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self.run(), name="clean-up")
            self._under_way.add_done_callback(self._run_ended)
        return self._under_way

    def _run_ended(self, task: asyncio.Task[Cleanup]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StoreUnavailable):
            self._failed(error.detail)
        elif error is not None:
            _log.error("clean-up failed", exc_info=error)
            self._failed(f"{type(error).__name__}; see the log.")

    async def _run(self) -> Cleanup:
        self._deleted = 0
        days = self._policy().retention_days
        await self._announce(days)
        before = self._before(days)
        deleted, touched, kept = await self._expire(before)
        for thread_id in touched:
            await self._threads.sweep(thread_id, [step.at for step in await self._steps.rows(thread_id)])
        await self._threads.drop_stale(self._clock() - STALE_AFTER)
        await self._count_again(before, kept)
        compaction, freed = await self._compact()
        done = Cleanup(before=before, steps=deleted, threads=len(touched), compaction=compaction, freed_bytes=freed)
        await self._threads.set_note(LAST_RESULT, json.dumps({**asdict(done), "before": before.isoformat()}))
        await self._threads.set_note(LAST_SUCCESS, self._clock().isoformat())
        await self._threads.set_note(LAST_RETENTION, str(days))
        self._report(done)
        return done

    def _before(self, retention_days: int | None) -> datetime:
        days = self._policy().retention_days if retention_days is None else retention_days
        return self._clock() - timedelta(days=days)

    async def _announce(self, days: int) -> None:
        """The first run, and the first after retention was lowered, say how much goes before it goes."""
        last = await self._threads.note(LAST_RETENTION)
        if last is None or int(last) > days:
            planned = await self.count(days)
            if planned.steps:
                _log.warning(
                    "clean-up is about to delete old steps",
                    steps=planned.steps,
                    threads=planned.threads,
                    retention_days=days,
                    retention_days_before=last and int(last),
                )

    async def _expire(self, before: datetime) -> tuple[int, set[ThreadId], set[ThreadId]]:
        deleted, touched, kept = 0, set[ThreadId](), set[ThreadId]()
        while True:
            running = {turn.thread_id for turn in await self._threads.running()}
            kept |= running
            gone = await self._steps.expire(before, keep=running, limit=BATCH)
            self._deleted = deleted = deleted + len(gone)
            touched |= {thread_id for thread_id, _ in gone}
            if not gone:
                return deleted, touched, kept

    async def _count_again(self, before: datetime, kept: set[ThreadId]) -> None:
        left, threads = await self._steps.count_before(before)
        for thread_id in kept if left else ():
            left -= sum(step.created_at < before for step in await self._steps.rows(thread_id))
        if left > 0:
            self._alerts.sound(
                "cleanup_incomplete",
                f"The clean-up left {counted(left, 'step')} of up to {counted(threads, 'chat')} behind; "
                "run `turnback check`.",
            )
        else:
            self._alerts.settle("cleanup_incomplete")

    async def _compact(self) -> tuple[Compaction, int]:
        disk = await self._steps.disk()
        if not wants_compaction(disk):
            return "not needed", 0
        if self._disk_free(self._folder) < disk.size:
            self._alerts.sound(
                "disk_short",
                f"The disk of {self._folder} is too full to compact steps.db; make {disk.size} bytes free.",
            )
            return "skipped: disk space is short", 0
        self._alerts.settle("disk_short")
        left = 1
        while left and not await self._threads.running():
            left = await self._steps.compact(COMPACT_PAGES)
            await asyncio.sleep(0)
        after = await self._steps.disk()
        return ("skipped: a turn is running" if left else "done"), max(0, disk.size - after.size)

    def _report(self, done: Cleanup) -> None:
        self._metrics.cleanups.labels("done").inc()
        self._metrics.cleanup_deleted.inc(done.steps)
        self._metrics.cleanup_last_success.set(self._clock().timestamp())
        self._alerts.settle("cleanup_failed")
        _log.info(
            "clean-up done",
            steps=done.steps,
            threads=done.threads,
            compaction=done.compaction,
            freed_bytes=done.freed_bytes,
        )

    def _failed(self, why: str) -> None:
        self._metrics.cleanups.labels("failed").inc()
        self._alerts.sound("cleanup_failed", f"The clean-up could not run: {why}")

    def _job_failed(self, event: JobEvent) -> None:
        self._metrics.cleanups.labels("failed").inc()
        error = getattr(event, "exception", None)
        why = type(error).__name__ if error else "it was missed"
        self._alerts.sound("cleanup_failed", f"The clean-up did not run through: {why}; see the log.")
