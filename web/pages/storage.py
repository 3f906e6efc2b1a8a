"""How full the store is, and what the clean-up did and would do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from turnback.core.errors import StoreUnavailable
from turnback.core.maintenance import Cleanup
from turnback.core.steps.store import Disk
from turnback.core.text import harmless
from turnback.web.pages.catalogue import size_text
from turnback.web.pages.filters import size
from turnback.web.pages.frame import Page

NEARLY_FULL = 90
"""Percent from which a meter warns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Something against its budget. `percent` is at most 100."""

    name: str
    used: str
    limit: str
    percent: int
    note: str

    @property
    def hot(self) -> bool:
        """Whether it is nearly full."""
        return self.percent >= NEARLY_FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """The clean-up: the last one, the next one, and what one would delete now (None: that cannot be counted)."""

    last_at: datetime | None
    last: Cleanup | None
    next_at: datetime | None
    would: Cleanup | None
    days: int
    deleted_so_far: int | None
    """Of the run that is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """All of it; no meters where the steps cannot be read."""

    meters: tuple[Meter, ...]
    disk: Disk | None
    cleanup: CleanUp


async def look_at_storage(page: Page) -> Storage:
    """How things stand."""
    steps = page.web.service.steps
    try:
        meters, disk = await _meters(page), await steps.disk()
    except StoreUnavailable:
        meters, disk = (), None
    return Storage(meters=meters, disk=disk, cleanup=await look_at_cleanup(page))


async def look_at_cleanup(page: Page) -> CleanUp:
    """What the clean-up did and would do."""
    maintenance = page.web.service.maintenance
    try:
        would = await maintenance.count()
    except StoreUnavailable:
        would = None
    return CleanUp(
        last_at=await maintenance.last_success(),
        last=await maintenance.last_result(),
        next_at=await maintenance.next_due(),
        would=would,
        days=int(running_value(page, "time_travel.retention_days")),
        deleted_so_far=maintenance.deleted_so_far,
    )


def running_value(page: Page, key: str) -> int:
    """What a number among the settings is now."""
    return next(int(field.running) for field in page.web.settings.fields() if field.key == key)


async def _meters(page: Page) -> tuple[Meter, ...]:
    steps = page.web.service.steps
    total = await steps.totals()
    used = await steps.usage(await steps.threads())
    fullest = max(used, key=lambda thread: used[thread].stored_bytes, default=None)
    note, most = "no chat has steps yet", 0
    if fullest is not None:
        thread = await page.web.service.threads.find_thread(fullest)
        title = " ".join(harmless(thread.title).split())[:80] if thread else fullest[:8]
        note, most = title, used[fullest].stored_bytes
    bytes_limit, count_limit, thread_limit = (
        running_value(page, f"time_travel.{name}")
        for name in ("max_total_bytes", "max_global_snapshots", "max_thread_bytes")
    )
    return (
        Meter(
            name="All steps",
            used=size(total.stored_bytes),
            limit=size_text(bytes_limit),
            percent=_percent(total.stored_bytes, bytes_limit),
            note="time_travel.max_total_bytes",
        ),
        Meter(
            name="Number of steps",
            used=f"{total.steps:,}",
            limit=f"{count_limit:,}",
            percent=_percent(total.steps, count_limit),
            note="time_travel.max_global_snapshots",
        ),
        Meter(
            name="Fullest chat",
            used=size(most),
            limit=size_text(thread_limit),
            percent=_percent(most, thread_limit),
            note=note,
        ),
    )


def _percent(used: int, limit: int) -> int:
    return min(100, round(100 * used / limit))
