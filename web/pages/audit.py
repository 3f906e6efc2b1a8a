"""The audit trail, for admins: who did what, or was refused; filtered, in pages, exported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from turnback.core.errors import InvalidRequest
from turnback.core.models import AccountId, Action, AuditEntry, Outcome, Surface, Thread, ThreadId
from turnback.core.threads.ledger import AuditFilter
from turnback.web.pages.exporting import CSV_HEAD, csv_line, json_line
from turnback.web.pages.frame import Page, PageAskedByAdmin, page_router
from turnback.web.problems import describe
from turnback.web.trail import Wanted

router = page_router()

PAGE = 50
EXPORTED_AT_ONCE = 500
"""Lines that are read, and written, in one go."""


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
        given={name: given.get(name, "") for name in Wanted.model_fields},
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
    given = {name: words for name in Wanted.model_fields if (words := query.get(name, "").strip())}
    try:
        wanted = Wanted.model_validate(given)
    except ValidationError as error:
        raise InvalidRequest(describe(error.errors())) from None
    before = query.get("before", "")
    if before and not (before.isascii() and before.isdecimal() and len(before) <= 18):
        raise InvalidRequest("before: the number of a line.")
    return given, wanted.as_filter(), int(before) if before else None


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
