"""The audit trail, for admins: who did what, or was refused; filtered, in pages, exported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from turnback.core.errors import InvalidRequest
from turnback.core.models import AccountId, Action, AuditEntry, Outcome, Surface, Thread, ThreadId
from turnback.core.threads.ledger import AuditFilter
from turnback.web.pages.exporting import CSV_HEAD, csv_line, json_line
from turnback.web.pages.frame import Page, PageAskedByAdmin, page_router

router = page_router()

PAGE = 50
EXPORTED_AT_ONCE = 500
"""Lines that are read, and written, in one go."""

LONGEST_WORDS = 200

FILTERS = ("outcome", "action", "surface", "actor", "chat", "since", "until")
"""What the page can filter by; `since` and `until` are days, both included."""

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the trail with the names that its ids have now; None where there is none (any more)."""

    entry: AuditEntry
    account: str | None
    thread: Thread | None


@router.get("/audit")
async def show(page: PageAskedByAdmin) -> Response:
    """A page of the trail, newest first."""
    given, wanted, before = _asked(page)
    rewind = page.web.service.rewind
    entries = await rewind.audit_trail(page.actor, limit=PAGE + 1, wanted=wanted, before=before)
    lines = await _named(page, entries[:PAGE])
    older = {**given, "before": str(lines[-1].entry.n)} if len(entries) > PAGE else None
    return page.page(
        "audit.html",
        here="audit",
        lines=lines,
        total=await rewind.audit_count(page.actor, wanted),
        given={name: given.get(name, "") for name in FILTERS},
        filtered=bool(given),
        query=urlencode(given),
        older=urlencode(older) if older else None,
        later=before is not None,
        surfaces=list(Surface),
        actions=list(Action),
        outcomes=list(Outcome),
    )


@router.get("/audit.csv")
async def as_csv(page: PageAskedByAdmin) -> Response:
    """All lines that fit, as CSV."""
    return await _export(page, "csv", "text/csv; charset=utf-8", CSV_HEAD, csv_line)


@router.get("/audit.jsonl")
async def as_json_lines(page: PageAskedByAdmin) -> Response:
    """All lines that fit, as JSON Lines."""
    return await _export(page, "jsonl", "application/x-ndjson", b"", json_line)


async def _export(
    page: Page, ending: str, media_type: str, head: bytes, line: Callable[[AuditEntry], bytes]
) -> Response:
    _, wanted, before = _asked(page)
    name = f"turnback-audit-{page.now:%Y-%m-%d}.{ending}"
    chunks = _chunks(page, wanted, before, head, line)
    return StreamingResponse(
        chunks, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


async def _chunks(
    page: Page, wanted: AuditFilter, before: int | None, head: bytes, line: Callable[[AuditEntry], bytes]
) -> AsyncIterator[bytes]:
    """The export piece by piece, so that a trail of any length takes little memory and no long transaction."""
    if head:
        yield head
    while True:
        entries = await page.web.service.rewind.audit_trail(
            page.actor, limit=EXPORTED_AT_ONCE, wanted=wanted, before=before
        )
        if entries:
            yield b"".join(map(line, entries))
        if len(entries) < EXPORTED_AT_ONCE:
            return
        before = entries[-1].n


def _asked(page: Page) -> tuple[dict[str, str], AuditFilter, int | None]:
    """What a request asks for: the filters as given, what they mean, and the line to begin before."""
    query = page.request.query_params
    given = {name: query[name].strip()[:LONGEST_WORDS] for name in FILTERS if query.get(name, "").strip()}
    until = _day(given, "until")
    wanted = AuditFilter(
        actor=given.get("actor"),
        chat=given.get("chat"),
        surface=_one_of(Surface, given, "surface"),
        action=_one_of(Action, given, "action"),
        outcome=_one_of(Outcome, given, "outcome"),
        since=_day(given, "since"),
        until=until + timedelta(days=1) if until else None,
    )
    before = query.get("before", "")
    if before and not (before.isascii() and before.isdecimal() and len(before) <= 18):
        raise InvalidRequest("before: the number of a line.")
    return given, wanted, int(before) if before else None


def _one_of(kind: type[E], given: Mapping[str, str], name: str) -> E | None:
    if name not in given:
        return None
    try:
        return kind(given[name])
    except ValueError:
        raise InvalidRequest(f"{name}: one of {', '.join(kind)}.") from None


def _day(given: Mapping[str, str], name: str) -> datetime | None:
    if name not in given:
        return None
    try:
        return datetime.combine(date.fromisoformat(given[name]), time(), UTC)
    except ValueError:
        raise InvalidRequest(f"{name}: a day, such as 2026-03-01.") from None


async def _named(page: Page, entries: Sequence[AuditEntry]) -> list[Line]:
    store = page.web.service.threads
    accounts: dict[AccountId, str | None] = {}
    threads: dict[ThreadId, Thread | None] = {}
    for entry in entries:
        if entry.account is not None and entry.account not in accounts:
            account = await store.find_account(entry.account)
            accounts[entry.account] = account.name if account else None
        if entry.thread_id is not None and entry.thread_id not in threads:
            threads[entry.thread_id] = await store.find_thread(entry.thread_id)
    return [
        Line(
            entry=entry,
            account=accounts[entry.account] if entry.account else None,
            thread=threads[entry.thread_id] if entry.thread_id else None,
        )
        for entry in entries
    ]
