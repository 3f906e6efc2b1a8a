"""Between columns and values: times, texts, JSON, and the rows of turnback.db as frozen values."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from turnback.core.errors import NotFound
from turnback.core.models import (
    Account,
    Action,
    AuditEntry,
    Branch,
    Effect,
    Fact,
    ForkedFrom,
    Gate,
    GateStatus,
    Identity,
    Outcome,
    Position,
    Spent,
    Surface,
    Thread,
    ThreadId,
    TranscriptRow,
    Turn,
    TurnStatus,
)
from turnback.core.state import codec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

THREAD = (
    "id, title, surface, owner, group_, created_at, updated_at, forked_thread, forked_snapshot, head_branch, head_pos, "
    "root_branch, root_pos, root_turn_index, epoch, version, memory, tokens, usd, running_turn"
)
TURN = (
    "thread, turn_no, turn_index, branch, pos, base_branch, base_pos, end_branch, end_pos, summary, status, actor, "
    "started_at, ended_at, origin, files"
)
ROW = "n, thread, branch, pos, turn_no, turn_index, role, text, created_at, author"
FACT = "id, thread, branch, pos, turn_no, turn_index, text, created_at"
GATE = "id, thread, turn_no, call_id, tool, args, status, created_at, expires_at"

TURNS_REMEMBERED = 8192

_SURFACES = {str(surface): surface for surface in Surface}
_STATUSES = {str(status): status for status in TurnStatus}


def micros(at: datetime) -> int:
    """An aware time as a column."""
    return (at - EPOCH) // MICROSECOND


def maybe_micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def when(stored: int) -> datetime:
    """A column as an aware time, UTC."""
    return EPOCH + timedelta(microseconds=stored)


def maybe_when(stored: int | None) -> datetime | None:
    return None if stored is None else when(stored)


def json(value: object) -> bytes:
    """A value as JSON for a BLOB column."""
    return codec.dumps(value)


def of_json(stored: bytes) -> Any:
    return codec.loads(stored)


def maybe_texts(texts: tuple[str, ...]) -> bytes | None:
    """Texts as a column, which most rows have none of."""
    return json(texts) if texts else None


def texts_of(stored: bytes | None) -> tuple[str, ...]:
    return () if stored is None else tuple(of_json(stored))


def get_thread(db: sqlite3.Connection, thread_id: ThreadId) -> Thread:
    """Raises NotFound."""
    thread = find_thread(db, thread_id)
    if thread is None:
        raise NotFound
    return thread


def find_thread(db: sqlite3.Connection, thread_id: ThreadId) -> Thread | None:
    row = db.execute(f"SELECT {THREAD} FROM thread WHERE id = ?", (thread_id,)).fetchone()
    return None if row is None else thread_of(row)


def branches(db: sqlite3.Connection, thread_id: ThreadId) -> tuple[Branch, ...]:
    found = db.execute(
        "SELECT branch, left_branch, left_pos FROM branch WHERE thread = ? ORDER BY branch", (thread_id,)
    )
    return tuple(Branch(branch=n, left=None if left is None else Position(left, pos)) for n, left, pos in found)


def thread_of(row: Iterable[Any]) -> Thread:
    (
        id_,
        title,
        surface,
        owner,
        group,
        created_at,
        updated_at,
        forked_thread,
        forked_snapshot,
        *places,
        root_turn_index,
        epoch,
        version,
        memory,
        tokens,
        usd,
        running_turn,
    ) = row
    forked = None if forked_thread is None else ForkedFrom(thread_id=forked_thread, snapshot_id=forked_snapshot)
    return Thread(
        id=id_,
        title=title,
        surface=_SURFACES[surface],
        owner=owner,
        group=bool(group),
        created_at=when(created_at),
        updated_at=when(updated_at),
        forked_from=forked,
        head=Position(places[0], places[1]),
        root=Position(places[2], places[3]),
        root_turn_index=root_turn_index,
        epoch=epoch,
        version=version,
        memory=bool(memory),
        spent=Spent(tokens=tokens, usd=usd),
        running_turn=running_turn,
    )


@functools.lru_cache(maxsize=TURNS_REMEMBERED)
def turn_of(row: tuple[Any, ...]) -> Turn:
    """Remembered, since every operation reads all turns of its thread, and they hardly ever change."""
    thread, turn_no, turn_index, *places, summary, status, actor, started_at, ended_at, origin, files = row
    return Turn(
        thread_id=thread,
        turn_no=turn_no,
        turn_index=turn_index,
        start=Position(places[0], places[1]),
        base=Position(places[2], places[3]),
        end=Position(places[4], places[5]),
        summary=summary,
        status=_STATUSES[status],
        actor=actor,
        started_at=when(started_at),
        ended_at=maybe_when(ended_at),
        origin=origin,
        files=texts_of(files),
    )


def row_of(row: Iterable[Any]) -> TranscriptRow:
    n, thread, branch, pos, turn_no, turn_index, role, words, created_at, author = row
    return TranscriptRow(
        id=str(n),
        thread_id=thread,
        at=Position(branch, pos),
        turn_no=turn_no,
        turn_index=turn_index,
        role=role,
        text=words,
        created_at=when(created_at),
        author=author,
    )


def fact_of(row: Iterable[Any]) -> Fact:
    id_, thread, branch, pos, turn_no, turn_index, words, created_at = row
    return Fact(
        id=id_,
        thread_id=thread,
        at=Position(branch, pos),
        turn_no=turn_no,
        turn_index=turn_index,
        text=words,
        created_at=when(created_at),
    )


def effect_of(row: Iterable[Any]) -> Effect:
    tool, args, turn_index, number, branch, pos = row
    return Effect(tool=tool, args=of_json(args), turn_index=turn_index, number=number, at=Position(branch, pos))


def gate_of(row: Iterable[Any]) -> Gate:
    id_, thread, turn_no, call_id, tool, args, status, created_at, expires_at = row
    return Gate(
        id=id_,
        thread_id=thread,
        turn_no=turn_no,
        call_id=call_id,
        tool=tool,
        args=of_json(args),
        status=GateStatus(status),
        created_at=when(created_at),
        expires_at=when(expires_at),
    )


def account_of(row: Iterable[Any]) -> Account:
    id_, name, granted, named, created_at = row
    return Account(id=id_, name=name, admin=bool(granted or named), created_at=when(created_at), named=bool(named))


def identity_of(row: Iterable[Any]) -> Identity:
    surface, user_key, account, name = row
    return Identity(surface=_SURFACES[surface], user_key=user_key, account=account, name=name)


def audit_of(row: Iterable[Any]) -> AuditEntry:
    n, at, account, actor, surface, action, thread, snapshot, head_before, outcome, code = row
    return AuditEntry(
        n=n,
        at=when(at),
        account=account,
        actor=actor,
        surface=_SURFACES[surface],
        action=Action(action),
        thread_id=thread,
        snapshot_id=snapshot,
        head_before=head_before,
        outcome=Outcome(outcome),
        code=code,
    )
