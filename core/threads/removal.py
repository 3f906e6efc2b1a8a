"""What goes for good: set-aside rows that nothing reaches any more, facts, whole threads.

All functions run inside the caller's transaction. Branches stay as long as their thread: a step that
lags behind in steps.db must find its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection

from turnback.core.errors import NotFound
from turnback.core.lineage import Lineage
from turnback.core.models import AuditEntry, FactId, Position, ThreadId
from turnback.core.threads import records, standing, values
from turnback.core.threads.checkpoints import Checkpoints
from turnback.core.threads.store import FollowUp

OF_A_THREAD = (
    "branch", "return_", "gate", "turn", "row_", "fact", "effect", "participant", "binding", "post", "idempotency",
    "waiting",
)  # fmt: skip
"""Tables that hold something of a thread's, beside its checkpoints."""


def sweep(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, steps: Collection[Position]) -> int:
    thread = values.find_thread(db, thread_id)
    if thread is None:
        return 0
    branches = values.branches(db, thread_id)
    known = {b.branch for b in branches}
    ends = [thread.head, *(r.to for r in standing.returns(db, thread_id)), *(at for at in steps if at.branch in known)]
    reach = Lineage(branches).reach(ends)
    if thread.running_turn is not None:
        reach[thread.head.branch] = max(reach[thread.head.branch], standing.newest_pos(db, thread_id))

    def reached(at: Position) -> bool:
        return at.pos <= reach.get(at.branch, -1)

    before = db.total_changes
    rows = remove_unless(db, checkpoints, thread_id, reached)
    if db.total_changes != before:
        db.execute("UPDATE thread SET version = version + 1 WHERE id = ?", (thread_id,))
    return rows


def remove_unless(
    db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, kept: Callable[[Position], bool]
) -> int:
    """Delete what is at positions that `kept` does not answer for; answers how many transcript rows."""

    def gone(columns: str, table: str) -> list[tuple[int | str, ...]]:
        found = db.execute(f"SELECT branch, pos, {columns} FROM {table} WHERE thread = ?", (thread_id,))
        return [(thread_id, *key) for branch, pos, *key in found if not kept(Position(branch, pos))]

    rows, turns = gone("n", "row_"), gone("turn_no", "turn")
    _delete(db, "row_", "n", rows)
    _delete(db, "fact", "id", gone("id", "fact"))
    _delete(db, "effect", "pos", set(gone("pos", "effect")))
    _delete(db, "gate", "turn_no", turns)
    _delete(db, "turn", "turn_no", turns)
    checkpoints.drop_unless(db, thread_id, kept, purge=True)
    return len(rows)


def clear_thread(db: sqlite3.Connection, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
    epoch = _next_epoch(db, thread_id)
    records.add_audit(db, audit)
    return records.add_follow_up(db, "clear", thread_id, {"epoch": epoch})


def forget_facts(
    db: sqlite3.Connection, thread_id: ThreadId, fact_id: FactId | None, audit: AuditEntry
) -> FollowUp | None:
    if fact_id is None:
        _bury_facts(db, thread_id)
        db.execute("DELETE FROM fact WHERE thread = ?", (thread_id,))
        return clear_thread(db, thread_id, audit)
    _bury_facts(db, thread_id, fact_id)
    learned = db.execute(
        "DELETE FROM fact WHERE thread = ? AND id = ? RETURNING turn_no, pos", (thread_id, fact_id)
    ).fetchone()
    if learned is None:
        return None
    turn_no, pos = learned
    turn = db.execute("SELECT pos FROM turn WHERE thread = ? AND turn_no = ?", (thread_id, turn_no)).fetchone()
    epoch = _next_epoch(db, thread_id)
    records.add_tombstone(db, fact_tombstone(thread_id, fact_id))
    records.add_audit(db, audit)
    return records.add_follow_up(db, "forget", thread_id, {"pos": turn[0] if turn else pos, "epoch": epoch})


def _bury_facts(db: sqlite3.Connection, thread_id: ThreadId, fact_id: FactId | None = None) -> None:
    """So that no restored backup brings them back. A fork's copy of a fact has the same id and stays."""
    db.execute(
        "INSERT OR IGNORE INTO tombstone (id) "
        "SELECT thread || '/' || id FROM fact WHERE thread = ?1 AND id = COALESCE(?2, id)",
        (thread_id, fact_id),
    )


def fact_tombstone(thread_id: ThreadId, fact_id: FactId) -> ThreadId:
    """What keeps a forgotten fact from coming back with a backup."""
    return ThreadId(f"{thread_id}/{fact_id}")


def delete_thread(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
    """Raises NotFound for a thread that never was."""
    if values.find_thread(db, thread_id) is not None:
        records.add_audit(db, audit)
    elif not records.is_tombstone(db, thread_id):
        raise NotFound
    return _erase(db, checkpoints, thread_id)


def bury(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId) -> None:
    """Another database knows this thread to be deleted: so it is here."""
    if values.find_thread(db, thread_id) is not None:
        _erase(db, checkpoints, thread_id)
    records.add_tombstone(db, thread_id)


def _erase(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId) -> FollowUp:
    for table in OF_A_THREAD:
        db.execute(f"DELETE FROM {table} WHERE thread = ?", (thread_id,))
    db.execute("DELETE FROM thread WHERE id = ?", (thread_id,))
    db.execute("DELETE FROM follow_up WHERE thread = ?", (thread_id,))
    checkpoints.drop_thread(db, thread_id)
    records.add_tombstone(db, thread_id)
    return records.add_follow_up(db, "delete", thread_id, {})


def _next_epoch(db: sqlite3.Connection, thread_id: ThreadId) -> int:
    """Captures of an older epoch are discarded, and decisions about where to go are made anew."""
    values.get_thread(db, thread_id)
    row = db.execute(
        "UPDATE thread SET epoch = epoch + 1, version = version + 1 WHERE id = ? RETURNING epoch", (thread_id,)
    ).fetchone()
    return int(row[0])


def _delete(db: sqlite3.Connection, table: str, key: str, gone: Collection[tuple[int | str, ...]]) -> None:
    db.executemany(f"DELETE FROM {table} WHERE thread = ? AND {key} = ?", gone)
