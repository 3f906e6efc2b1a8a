"""Threads come to be: new ones, and forks of others. And how they are found.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from turnback.core.errors import NotFound
from turnback.core.models import BEGINNING, AccountId, ForkedFrom, Position, Surface, Thread, ThreadId
from turnback.core.text import well_formed
from turnback.core.threads import records, standing, values
from turnback.core.threads.checkpoints import Checkpoints
from turnback.core.threads.store import NewFork
from turnback.core.threads.values import micros

COPIED = (
    ("row_", ("n", "turn_no", "turn_index", "role", "text", "author", "created_at")),
    ("fact", ("id", "turn_no", "turn_index", "text", "created_at")),
)
"""What a fork takes along, beside the positions."""


_OF_ACCOUNT = "owner = ?1 OR id IN (SELECT thread FROM participant WHERE account = ?1)"


def create_thread(
    db: sqlite3.Connection,
    thread_id: ThreadId,
    title: str,
    surface: Surface,
    owner: AccountId,
    at: datetime,
    *,
    group: bool,
) -> Thread:
    _insert(db, thread_id, title, surface, owner, at, head=BEGINNING, group=group)
    return values.get_thread(db, thread_id)


def list_threads(db: sqlite3.Connection, account: AccountId | None, limit: int) -> list[Thread]:
    where, given = ("", ()) if account is None else (f"WHERE {_OF_ACCOUNT}", (account,))
    found = db.execute(
        f"SELECT {values.THREAD} FROM thread {where} ORDER BY updated_at DESC, created_at DESC, id LIMIT {int(limit)}",
        given,
    )
    return [values.thread_of(row) for row in found]


def match_threads(db: sqlite3.Connection, account: AccountId, beginning: str, limit: int) -> list[Thread]:
    found = db.execute(
        f"SELECT {values.THREAD} FROM thread "
        f"WHERE id >= ?2 AND id < ?2 || char(1114111) AND ({_OF_ACCOUNT}) ORDER BY id LIMIT ?3",
        (account, well_formed(beginning), limit),
    )
    return [values.thread_of(row) for row in found]


def rename_thread(db: sqlite3.Connection, thread_id: ThreadId, title: str, at: datetime) -> Thread | None:
    db.execute("UPDATE thread SET title = ?, updated_at = ? WHERE id = ?", (well_formed(title), micros(at), thread_id))
    return values.find_thread(db, thread_id)


def set_memory(db: sqlite3.Connection, thread_id: ThreadId, on: bool) -> None:
    db.execute("UPDATE thread SET memory = ? WHERE id = ?", (on, thread_id))


def fork_thread(db: sqlite3.Connection, checkpoints: Checkpoints, fork: NewFork) -> Thread:
    source = values.get_thread(db, fork.source)
    head = Position(0, fork.at.pos)
    _insert(db, fork.id, fork.title, fork.surface, fork.owner, fork.created_at, head=head, group=False)
    _copy(db, fork)
    db.execute(
        "UPDATE thread SET forked_thread = ?, forked_snapshot = ?, root_turn_index = ?, memory = ?, "
        "next_turn = 1 + MAX((SELECT COALESCE(MAX(turn_no), 0) FROM row_ WHERE thread = ?5), "
        "(SELECT COALESCE(MAX(turn_no), 0) FROM fact WHERE thread = ?5)), "
        "next_row = 1 + (SELECT COALESCE(MAX(n), 0) FROM row_ WHERE thread = ?5) WHERE id = ?5",
        (fork.forked_from.thread_id, fork.forked_from.snapshot_id, fork.turn_index, source.memory, fork.id),
    )
    checkpoints.put(db, fork.id, head, fork.content)
    records.add_audit(db, fork.audit)
    records.add_follow_up(db, "root", fork.id, fork.root)
    return values.get_thread(db, fork.id)


def recent_fork(db: sqlite3.Connection, owner: AccountId, forked_from: ForkedFrom, since: datetime) -> Thread | None:
    row = db.execute(
        f"SELECT {values.THREAD} FROM thread WHERE forked_thread = ? AND forked_snapshot = ? AND owner = ? "
        "AND created_at >= ? ORDER BY created_at DESC LIMIT 1",
        (forked_from.thread_id, forked_from.snapshot_id, owner, micros(since)),
    ).fetchone()
    return None if row is None else values.thread_of(row)


def _insert(
    db: sqlite3.Connection,
    thread_id: ThreadId,
    title: str,
    surface: Surface,
    owner: AccountId,
    at: datetime,
    *,
    head: Position,
    group: bool,
) -> None:
    if records.is_tombstone(db, thread_id):
        raise NotFound("That conversation was deleted.")
    db.execute(
        "INSERT INTO thread (id, title, surface, owner, group_, created_at, updated_at, head_branch, head_pos, "
        "root_branch, root_pos, root_turn_index, next_pos) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?7, ?8, 0, ?8 + 1)",
        (thread_id, well_formed(title), surface, owner, group, micros(at), head.branch, head.pos),
    )
    db.execute("INSERT INTO branch (thread, branch, tip) VALUES (?, 0, ?)", (thread_id, head.pos))


def _copy(db: sqlite3.Connection, fork: NewFork) -> None:
    """Transcript and facts up to the step, all on branch 0."""
    path = standing.path(db, fork.source, fork.at)
    for table, columns in COPIED:
        found = db.execute(f"SELECT branch, pos, {', '.join(columns)} FROM {table} WHERE thread = ?", (fork.source,))
        marks = ", ".join("?" * len(columns))
        db.executemany(
            f"INSERT INTO {table} (thread, branch, pos, {', '.join(columns)}) VALUES (?, 0, ?, {marks})",
            [(fork.id, pos, *rest) for branch, pos, *rest in found if path.covers(Position(branch, pos))],
        )
