"""Where a thread stands: its head, the numbers it gives out, its turns on the path, its redo chain.

All functions run inside the caller's transaction. While a turn runs, its thread's head is on the tip
of a branch, and only that turn gives out positions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from turnback.core.lineage import Lineage, Path
from turnback.core.models import Position, Spent, Thread, ThreadId, Turn
from turnback.core.threads import values
from turnback.core.threads.store import Return, Stale
from turnback.core.threads.values import micros


def advance(db: sqlite3.Connection, thread: Thread) -> Position:
    """The next position after the head: on its branch if the head is its tip, else on a new one."""
    (tip,) = db.execute(
        "SELECT tip FROM branch WHERE thread = ? AND branch = ?", (thread.id, thread.head.branch)
    ).fetchone()
    at = Position(thread.head.branch, take(db, thread.id, "next_pos"))
    if thread.head.pos == tip:
        db.execute("UPDATE branch SET tip = ? WHERE thread = ? AND branch = ?", (at.pos, thread.id, at.branch))
        return at
    at = Position(take(db, thread.id, "next_branch"), at.pos)
    db.execute(
        "INSERT INTO branch (thread, branch, left_branch, left_pos, tip) VALUES (?, ?, ?, ?, ?)",
        (thread.id, at.branch, thread.head.branch, thread.head.pos, at.pos),
    )
    return at


def take(db: sqlite3.Connection, thread_id: ThreadId, counter: str) -> int:
    """The next number of a counter of the thread's."""
    row = db.execute(
        f"UPDATE thread SET {counter} = {counter} + 1 WHERE id = ? RETURNING {counter} - 1", (thread_id,)
    ).fetchone()
    return int(row[0])


def stand(db: sqlite3.Connection, thread_id: ThreadId, head: Position, at: datetime) -> None:
    db.execute(
        "UPDATE thread SET head_branch = ?, head_pos = ?, version = version + 1, updated_at = ? WHERE id = ?",
        (head.branch, head.pos, micros(at), thread_id),
    )


def spend(db: sqlite3.Connection, thread_id: ThreadId, spent: Spent) -> None:
    db.execute(
        "UPDATE thread SET tokens = tokens + ?, usd = usd + ? WHERE id = ?", (spent.tokens, spent.usd, thread_id)
    )


def running_turn(db: sqlite3.Connection, thread_id: ThreadId, turn_no: int | None = None) -> tuple[Thread, Turn]:
    """The thread and its running turn. Raises Stale when none, or not that one, runs."""
    thread = values.find_thread(db, thread_id)
    if thread is None or thread.running_turn is None or turn_no not in (None, thread.running_turn):
        raise Stale
    row = db.execute(
        f"SELECT {values.TURN} FROM turn WHERE thread = ? AND turn_no = ?", (thread_id, thread.running_turn)
    ).fetchone()
    return thread, values.turn_of(row)


def newest_turn(db: sqlite3.Connection, thread: Thread) -> Turn | None:
    """The newest turn on the path."""
    way = path(db, thread.id, thread.head)
    for row in db.execute(f"SELECT {values.TURN} FROM turn WHERE thread = ? ORDER BY turn_no DESC", (thread.id,)):
        if way.covers(Position(row[3], row[4])):
            return values.turn_of(row)
    return None


def turn_index(db: sqlite3.Connection, thread: Thread) -> int:
    newest = newest_turn(db, thread)
    return newest.turn_index if newest else thread.root_turn_index


def path(db: sqlite3.Connection, thread_id: ThreadId, head: Position) -> Path:
    return Lineage(values.branches(db, thread_id)).path(head)


# the redo chain


def returns(db: sqlite3.Connection, thread_id: ThreadId) -> list[Return]:
    found = db.execute("SELECT id, branch, pos FROM return_ WHERE thread = ? ORDER BY n", (thread_id,))
    return [Return(id=id_, to=Position(branch, pos)) for id_, branch, pos in found]


def set_returns(db: sqlite3.Connection, thread_id: ThreadId, chain: Sequence[Return]) -> None:
    db.execute("DELETE FROM return_ WHERE thread = ?", (thread_id,))
    db.executemany(
        "INSERT INTO return_ (thread, n, id, branch, pos) VALUES (?, ?, ?, ?, ?)",
        [(thread_id, n, entry.id, entry.to.branch, entry.to.pos) for n, entry in enumerate(chain)],
    )


def newest_pos(db: sqlite3.Connection, thread_id: ThreadId) -> int:
    """The newest position that the thread gave out."""
    (next_pos,) = db.execute("SELECT next_pos FROM thread WHERE id = ?", (thread_id,)).fetchone()
    return int(next_pos) - 1
