"""The clean-up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from apscheduler.events import EVENT_JOB_MISSED, JobEvent
from structlog.testing import capture_logs
from support.world import ANN, Clock, Rules

from turnback.core.errors import StoreUnavailable
from turnback.core.maintenance import COMPACT_FREE_BYTES, Maintenance, due, wants_compaction
from turnback.core.models import StepId, Thread, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.core.steps.store import Disk

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MB = 1024 * 1024

Say = Callable[..., Awaitable[str]]


@pytest.mark.parametrize(
    ("since_start", "since_success", "expected"),
    [
        (timedelta(minutes=1, seconds=59), None, False),
        (timedelta(minutes=2), None, True),
        (timedelta(minutes=2), timedelta(hours=23, minutes=59), False),
        (timedelta(minutes=2), timedelta(hours=24), True),
        (timedelta(minutes=1), timedelta(days=7), False),
        (timedelta(days=9), timedelta(hours=1), False),
        (timedelta(minutes=2), -timedelta(days=400), True),
    ],
)
def test_run_is_due_two_minutes_after_start_and_a_day_after_success(
    since_start: timedelta, since_success: timedelta | None, expected: bool
) -> None:
    last = None if since_success is None else NOW - since_success
    assert due(NOW, NOW - since_start, last) is expected


@pytest.mark.parametrize(
    ("size", "free", "expected"),
    [
        (100 * MB, 24 * MB, False),
        (100 * MB, 25 * MB, True),
        (10 * MB, 7 * MB, False),
        (32 * MB, 8 * MB, True),
        (0, 0, False),
    ],
)
def test_compaction_needs_a_quarter_and_eight_megabytes(size: int, free: int, expected: bool) -> None:
    assert wants_compaction(Disk(size=size, wal=0, free=free)) is expected


async def test_job_is_never_missed_doubled_or_run_twice_at_once(service: Turnback) -> None:
    job = service.maintenance.job
    assert (job.misfire_grace_time, job.coalesce, job.max_instances) == (None, True, 1)
    assert job.trigger.interval == timedelta(minutes=5)


async def test_steps_go_by_the_time_of_their_own_saving(
    service: Turnback, thread: Thread, say: Say, clock: Clock
) -> None:
    for days, text in ((89, "a"), (2, "b"), (29, "c"), (0, "d")):
        await say(text)
        clock.advance(days=days)
    done = await service.maintenance.run()
    left = await service.steps.rows(thread.id)
    assert (done.steps, done.threads) == (2, 1)
    assert [step.summary for step in left] == ["c", "d"]
    assert len(await service.rewind.transcript(ANN, thread.id)) == 8


async def test_undo_works_after_all_steps_expired(service: Turnback, thread: Thread, say: Say, clock: Clock) -> None:
    await say("a")
    await say("b")
    clock.advance(days=40)
    await service.maintenance.run()
    assert await service.steps.rows(thread.id) == ()
    assert (await service.rewind.undo(ANN, thread.id)).turn_index == 1


async def test_count_beforehand_is_what_goes(service: Turnback, say: Say, clock: Clock) -> None:
    await say("a")
    other = await service.rewind.create_thread(ANN)
    await say("b", other.id)
    clock.advance(days=10)
    await say("c")
    planned = await service.maintenance.count(9)
    assert (planned.steps, planned.threads) == (2, 2)
    assert (await service.maintenance.count()).steps == 0


async def test_retention_is_read_at_each_run(service: Turnback, say: Say, clock: Clock, rules: Rules) -> None:
    await say("a")
    clock.advance(days=10)
    assert (await service.maintenance.run()).steps == 0
    rules.value = TimeTravel(retention_days=9)
    assert (await service.maintenance.run()).steps == 1


async def test_run_after_retention_was_lowered_says_how_much_goes(
    service: Turnback, say: Say, clock: Clock, rules: Rules
) -> None:
    await say("a")
    clock.advance(days=10)
    await service.maintenance.run()
    rules.value = TimeTravel(retention_days=9)
    with capture_logs() as logs:
        await service.maintenance.run()
    (told,) = [log for log in logs if log["log_level"] == "warning"]
    assert (told["steps"], told["threads"], told["retention_days"], told["retention_days_before"]) == (1, 1, 9, 30)


async def test_look_runs_once_a_day(service: Turnback, clock: Clock) -> None:
    assert await service.maintenance.look() is None
    clock.advance(minutes=3)
    assert await service.maintenance.look() is not None
    clock.advance(hours=23)
    assert await service.maintenance.look() is None
    clock.advance(days=7)
    assert await service.maintenance.look() is not None
    assert await service.maintenance.look() is None


async def test_look_does_nothing_with_auto_maintain_off(service: Turnback, clock: Clock, rules: Rules) -> None:
    rules.value = TimeTravel(auto_maintain=False)
    clock.advance(days=2)
    assert await service.maintenance.look() is None
    assert await service.maintenance.last_success() is None


async def test_last_success_outlives_the_process(service: Turnback, clock: Clock) -> None:
    await service.maintenance.run()
    service.metrics.cleanup_last_success.set(0)
    again = maintenance_with(service, service.steps, clock)
    last = await again.last_success()
    assert last == await service.maintenance.last_success()
    assert last is not None
    await again.look()
    shown = service.metrics.registry.get_sample_value("turnback_cleanup_last_success_timestamp_seconds")
    assert shown == last.timestamp()


async def test_chat_with_a_running_turn_keeps_its_steps(
    service: Turnback, thread: Thread, say: Say, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("a")
    other = await service.rewind.create_thread(ANN)
    await say("b", other.id)
    clock.advance(days=40)
    (turn,) = [replace(t) for t in (await service.threads.view(thread.id)).turns]  # type: ignore[union-attr]

    async def running() -> list[object]:
        return [turn]

    monkeypatch.setattr(service.threads, "running", running)
    done = await service.maintenance.run()
    assert done.steps == 1
    assert len(await service.steps.rows(thread.id)) == 1
    assert service.alerts.active == ()


class Steps:
    """A step store, but for what a test changes."""

    def __init__(self, real: object, **changed: object) -> None:
        self._real = real
        self._changed = changed

    def __getattr__(self, name: str) -> object:
        return self._changed[name] if name in self._changed else getattr(self._real, name)


def maintenance_with(service: Turnback, steps: object, clock: Clock, disk_free: int = 10**12) -> Maintenance:
    return Maintenance(
        threads=service.threads,
        steps=steps,  # type: ignore[arg-type]
        policy=TimeTravel,
        alerts=service.alerts,
        metrics=service.metrics,
        folder=Path("data"),
        clock=clock,
        disk_free=lambda _: disk_free,
    )


async def test_steps_that_are_still_there_raise_an_alert(service: Turnback, say: Say, clock: Clock) -> None:
    async def expire(
        before: datetime, keep: Collection[ThreadId] = (), limit: int = 500
    ) -> Sequence[tuple[ThreadId, StepId]]:
        return ()

    await say("a")
    clock.advance(days=40)
    await maintenance_with(service, Steps(service.steps, expire=expire), clock).run()
    assert [alert.kind for alert in service.alerts.active] == ["cleanup_incomplete"]
    await service.maintenance.run()
    assert service.alerts.active == ()


class Compaction:
    """A store whose file has much to give back."""

    def __init__(self, size: int = 600 * MB, free: int = 300 * MB, seconds: float = 0) -> None:
        self.size, self.free, self.seconds, self.calls = size, free, seconds, 0

    async def disk(self) -> Disk:
        return Disk(size=self.size, wal=0, free=self.free)

    async def compact(self, max_pages: int) -> int:
        self.calls += 1
        await asyncio.to_thread(time.sleep, self.seconds)
        gone = min(self.free, max_pages * 4096 * 16)
        self.free -= gone
        self.size -= gone
        return self.free // 4096

    def over(self, service: Turnback) -> Steps:
        return Steps(service.steps, disk=self.disk, compact=self.compact)


async def test_compaction_goes_on_in_small_steps_until_nothing_is_free(service: Turnback, clock: Clock) -> None:
    file = Compaction()
    done = await maintenance_with(service, file.over(service), clock).run()
    assert (done.compaction, done.freed_bytes) == ("done", 300 * MB)
    assert file.calls > 10


async def test_compaction_is_skipped_with_little_to_gain(service: Turnback, clock: Clock) -> None:
    file = Compaction(free=COMPACT_FREE_BYTES)
    assert (await maintenance_with(service, file.over(service), clock).run()).compaction == "not needed"
    assert file.calls == 0


async def test_compaction_is_skipped_with_an_alert_when_the_disk_is_full(service: Turnback, clock: Clock) -> None:
    file = Compaction()
    done = await maintenance_with(service, file.over(service), clock, disk_free=300 * MB).run()
    assert done.compaction == "skipped: disk space is short"
    assert file.calls == 0
    assert [alert.kind for alert in service.alerts.active] == ["disk_short"]
    await maintenance_with(service, file.over(service), clock).run()
    assert service.alerts.active == ()


async def test_compaction_is_skipped_while_a_turn_runs(
    service: Turnback, say: Say, thread: Thread, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("a")
    turns = (await service.threads.view(thread.id)).turns  # type: ignore[union-attr]

    async def running() -> Sequence[object]:
        return turns

    monkeypatch.setattr(service.threads, "running", running)
    file = Compaction()
    done = await maintenance_with(service, file.over(service), clock).run()
    assert done.compaction == "skipped: a turn is running"
    assert file.calls == 0


async def test_store_out_of_order_alerts_and_is_tried_again(service: Turnback, clock: Clock) -> None:
    async def unavailable(*_: object) -> object:
        raise StoreUnavailable

    clock.advance(days=2)
    broken = maintenance_with(service, Steps(service.steps, expire=unavailable, count_before=unavailable), clock)
    clock.advance(minutes=3)
    assert await broken.look() is None
    assert [alert.kind for alert in service.alerts.active] == ["cleanup_failed"]
    assert await service.maintenance.look() is not None
    assert service.alerts.active == ()


async def test_store_that_comes_back_is_caught_up_with(service: Turnback, clock: Clock) -> None:
    async def unavailable() -> object:
        raise StoreUnavailable

    steps = Steps(service.steps, totals=unavailable)
    caught_up: list[bool] = []

    async def recover() -> None:
        caught_up.append(True)

    maintenance = maintenance_with(service, steps, clock)
    maintenance._recover = recover
    assert not await maintenance.look_at_store()
    assert [alert.kind for alert in service.alerts.active] == ["steps_unavailable"]
    maintenance._steps = service.steps
    assert await maintenance.look_at_store()
    assert await maintenance.look_at_store()
    assert caught_up == [True]
    assert service.alerts.active == ()


@pytest.mark.parametrize(("room", "writable"), [(10**6, True), (10**12, False)])
async def test_store_that_can_only_be_read_stays_out_of_order(
    service: Turnback, clock: Clock, room: int, writable: bool
) -> None:
    async def unavailable(*_: object) -> object:
        raise StoreUnavailable

    steps = service.steps if writable else Steps(service.steps, clear=unavailable)
    maintenance = maintenance_with(service, steps, clock, disk_free=room)
    maintenance.store_failed(StoreUnavailable())
    assert await maintenance.look_at_store()
    assert service.alerts.stands("steps_unavailable")


async def test_missed_job_raises_an_alert(service: Turnback) -> None:
    service.maintenance._job_failed(JobEvent(EVENT_JOB_MISSED, "cleanup", "default"))
    assert [alert.kind for alert in service.alerts.active] == ["cleanup_failed"]


async def test_alert_is_logged_counted_and_told_once(service: Turnback) -> None:
    async with service.events.listen() as events:
        with capture_logs() as logs:
            service.alerts.sound("disk_short", "make room")
            service.alerts.sound("disk_short", "make room")
        event = await anext(events)
    assert [log["log_level"] for log in logs] == ["error"]
    assert event is not None
    assert (event.name, event.data, event.readers) == (
        "alert",
        {"kind": "disk_short", "text": "make room"},
        frozenset(),
    )
    assert service.metrics.registry.get_sample_value("turnback_alerts_total", {"kind": "disk_short"}) == 1


async def test_alert_that_comes_again_after_it_was_over_is_counted_again(service: Turnback) -> None:
    service.alerts.sound("disk_short", "make room")
    service.alerts.sound("disk_short", "make more room")
    service.alerts.settle("disk_short")
    service.alerts.sound("disk_short", "make room")
    assert service.metrics.registry.get_sample_value("turnback_alerts_total", {"kind": "disk_short"}) == 2


async def test_result_of_the_last_run_is_kept(service: Turnback, say: Say, clock: Clock) -> None:
    assert await service.maintenance.last_result() is None
    await say("steps 2")
    clock.advance(days=40)
    done = await service.maintenance.run()
    assert done.steps == 3
    assert await service.maintenance.last_result() == done


async def test_next_run_is_due_a_day_after_the_last(service: Turnback, clock: Clock, rules: Rules) -> None:
    first = await service.maintenance.next_due()
    assert first is not None
    assert timedelta(minutes=1) < first - clock() <= timedelta(minutes=2)
    await service.maintenance.run()
    last = await service.maintenance.last_success()
    assert last is not None
    assert await service.maintenance.next_due() == last + timedelta(hours=24)
    rules.value = TimeTravel(auto_maintain=False)
    assert await service.maintenance.next_due() is None


async def test_run_now_twice_is_one_run(service: Turnback, say: Say, clock: Clock) -> None:
    await say("steps 2")
    clock.advance(days=40)
    task = service.maintenance.run_now()
    assert service.maintenance.run_now() is task
    assert (await task).steps == 3
    assert service.maintenance.run_now() is not task
    assert service.maintenance.deleted_so_far is None


async def test_run_now_tells_how_far_it_is(service: Turnback, say: Say, clock: Clock) -> None:
    await say("steps 2")
    clock.advance(days=40)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def rows(*_: object) -> Sequence[object]:
        begun.set()
        await go_on.wait()
        return ()

    maintenance = maintenance_with(service, Steps(service.steps, rows=rows), clock)
    task = maintenance.run_now()
    await begun.wait()
    assert maintenance.deleted_so_far == 3
    go_on.set()
    await task


async def test_run_now_that_fails_tells_the_operator(service: Turnback, clock: Clock) -> None:
    async def unavailable(*_: object, **__: object) -> object:
        raise StoreUnavailable

    maintenance = maintenance_with(service, Steps(service.steps, expire=unavailable), clock)
    with pytest.raises(StoreUnavailable):
        await maintenance.run_now()
    await asyncio.sleep(0)  # the callback runs after who waited
    assert service.alerts.stands("cleanup_failed")


async def test_closing_ends_a_run_that_is_under_way(service: Turnback, clock: Clock) -> None:
    async def forever(*_: object, **__: object) -> object:
        await asyncio.Event().wait()
        return ()

    maintenance = maintenance_with(service, Steps(service.steps, expire=forever), clock)
    task = maintenance.run_now()
    await asyncio.sleep(0)
    await maintenance.close()
    assert task.cancelled()
    assert not service.alerts.stands("cleanup_failed")
