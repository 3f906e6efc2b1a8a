"""Rows of steps.db as `Step`s, and the statements that look for them."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from turnback.core.models import Position, Step, StepId, StepKind, ThreadId
from turnback.core.steps.store import StepDraft, Usage

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_KINDS = {kind.value: kind for kind in StepKind}

_SHOWN = (
    "seq, id, branch, pos, turn_index, turn_no, iteration, created_at, model, kind, summary, tools, message_count,"
    " bytes, stored_bytes, truncated, label, workspace"
)

KEPT = "SELECT ref FROM step WHERE thread = ?1 ORDER BY seq DESC"
"""The states of a thread, as packs want to know them."""

_MANY = 500
"""Ids in one statement."""

ROW_BYTES = 160
"""What a step's row and its index entries take beside its texts, about."""


def to_microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def from_microseconds(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def add(
    db: sqlite3.Connection, number: int, draft: StepDraft, *, size: int, stored: int, truncated: bool, ref: bytes
) -> Step:
    """Write a step's row."""
    tools = orjson.dumps(draft.tools).decode()
    own = ROW_BYTES + len(draft.summary) + len(tools) + len(ref)
    row = db.execute(
        "INSERT INTO step(thread, id, epoch, branch, pos, turn_index, turn_no, iteration, created_at, model, kind,"
        " summary, tools, message_count, bytes, stored_bytes, own_bytes, truncated, workspace, ref)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            draft.id,
            draft.epoch,
            draft.at.branch,
            draft.at.pos,
            draft.turn_index,
            draft.turn_no,
            draft.iteration,
            to_microseconds(draft.created_at),
            draft.model,
            draft.kind.value,
            draft.summary,
            tools,
            draft.message_count,
            size,
            stored + own,
            own,
            truncated,
            draft.workspace,
            ref,
        ),
    )
    assert row.lastrowid is not None, "an INSERT answers its rowid"
    return Step(
        id=draft.id,
        thread_id=draft.thread_id,
        seq=row.lastrowid,
        at=draft.at,
        turn_index=draft.turn_index,
        turn_no=draft.turn_no,
        iteration=draft.iteration,
        created_at=draft.created_at,
        model=draft.model,
        kind=draft.kind,
        summary=draft.summary,
        tools=draft.tools,
        message_count=draft.message_count,
        bytes=size,
        stored_bytes=stored + own,
        truncated=truncated,
        label=None,
        workspace=draft.workspace,
    )


def of_thread(db: sqlite3.Connection, thread: ThreadId, number: int, newest: int | None = None) -> list[Step]:
    """A thread's steps in the order of saving."""
    if newest is None:
        found = db.execute(f"SELECT {_SHOWN} FROM step WHERE thread = ? ORDER BY seq", (number,)).fetchall()
    else:
        found = db.execute(
            f"SELECT {_SHOWN} FROM step WHERE thread = ? ORDER BY seq DESC LIMIT ?", (number, newest)
        ).fetchall()[::-1]
    return [_step(thread, row) for row in found]


def beginning_with(db: sqlite3.Connection, thread: ThreadId, number: int, prefix: str) -> list[Step]:
    """A thread's steps whose id begins with `prefix`, which is taken as it is: a range, no pattern."""
    found = db.execute(
        f"SELECT {_SHOWN} FROM step WHERE thread = ? AND id >= ? AND id < ? || char(0x10FFFF) ORDER BY seq",
        (number, prefix, prefix),
    )
    return [_step(thread, row) for row in found]


def labelled(db: sqlite3.Connection, thread: ThreadId, number: int, label: str) -> Step | None:
    row = db.execute(
        f"SELECT {_SHOWN} FROM step WHERE thread = ? AND label_key = ?", (number, label_key(label))
    ).fetchone()
    return None if row is None else _step(thread, row)


def find(db: sqlite3.Connection, thread: ThreadId, number: int, step_id: StepId) -> Step | None:
    row = db.execute(f"SELECT {_SHOWN} FROM step WHERE thread = ? AND id = ?", (number, step_id)).fetchone()
    return None if row is None else _step(thread, row)


def ref(db: sqlite3.Connection, number: int, step_id: StepId) -> bytes | None:
    """What packs know a step's state by."""
    row = db.execute("SELECT ref FROM step WHERE thread = ? AND id = ?", (number, step_id)).fetchone()
    return None if row is None else bytes(row[0])


def label_key(label: str) -> str:
    """What two labels that differ in case only have in common."""
    return label.casefold()


def remove(db: sqlite3.Connection, seqs: Collection[int]) -> None:
    db.executemany("DELETE FROM step WHERE seq = ?", ((seq,) for seq in seqs))


def usage(db: sqlite3.Connection, threads: Collection[ThreadId]) -> dict[ThreadId, Usage]:
    found: dict[ThreadId, Usage] = {}
    for some in _batches(list(threads)):
        rows = db.execute(
            "SELECT name, steps, bytes, (SELECT created_at FROM step WHERE thread = number ORDER BY seq DESC LIMIT 1)"
            f" FROM pack_thread WHERE steps > 0 AND number > 0 AND name IN ({', '.join('?' * len(some))})",
            some,
        )
        for name, steps, size, last in rows:
            found[ThreadId(name)] = Usage(steps=steps, stored_bytes=size, last_step_at=from_microseconds(last))
    return found


def totals(db: sqlite3.Connection) -> Usage:
    steps, size = db.execute("SELECT steps, bytes FROM pack_thread WHERE number = 0").fetchone()
    row = db.execute("SELECT created_at FROM step ORDER BY seq DESC LIMIT 1").fetchone()
    return Usage(steps=steps, stored_bytes=size, last_step_at=None if row is None else from_microseconds(row[0]))


def _batches(items: Sequence[ThreadId]) -> Iterator[Sequence[ThreadId]]:
    for start in range(0, len(items), _MANY):
        yield items[start : start + _MANY]


def _step(thread: ThreadId, row: Sequence[Any]) -> Step:
    seq, id_, branch, pos, turn_index, turn_no, iteration, at, model, kind, summary, tools, *rest = row
    count, size, stored, truncated, label, workspace = rest
    return Step(
        StepId(id_),
        thread,
        seq,
        Position(branch, pos),
        turn_index,
        turn_no,
        iteration,
        _EPOCH + timedelta(0, 0, at),
        model,
        _KINDS[kind],
        summary,
        _tools(tools),
        count,
        size,
        stored,
        truncated != 0,
        label,
        workspace,
    )


@functools.lru_cache(1024)
def _tools(data: str) -> tuple[str, ...]:
    """The same few lists stand in most rows."""
    return tuple(orjson.loads(data))
