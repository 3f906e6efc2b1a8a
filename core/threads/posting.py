"""The places of platforms: into which thread each talks, who takes part there, and what our messages there show.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from turnback.core.models import AccountId, Position, Post, Surface, ThreadId
from turnback.core.threads.values import get_thread

POST = "surface, place, message, thread, branch, pos, kind"


def bind(db: sqlite3.Connection, surface: Surface, place: str, thread_id: ThreadId, account: AccountId | None) -> None:
    get_thread(db, thread_id)
    db.execute(
        "INSERT OR REPLACE INTO binding (surface, place, thread, account) VALUES (?, ?, ?, ?)",
        (surface, place, thread_id, account),
    )


def bound(db: sqlite3.Connection, surface: Surface, place: str) -> ThreadId | None:
    row = db.execute("SELECT thread FROM binding WHERE surface = ? AND place = ?", (surface, place)).fetchone()
    return None if row is None else ThreadId(row[0])


def places(db: sqlite3.Connection, thread_id: ThreadId) -> list[tuple[Surface, str]]:
    found = db.execute("SELECT surface, place FROM binding WHERE thread = ? ORDER BY surface, place", (thread_id,))
    return [(Surface(surface), place) for surface, place in found]


def move_place(db: sqlite3.Connection, surface: Surface, old: str, new: str) -> None:
    for table in ("binding", "participant"):
        db.execute(f"UPDATE OR REPLACE {table} SET place = ? WHERE surface = ? AND place = ?", (new, surface, old))
    db.execute("DELETE FROM post WHERE surface = ? AND place = ?", (surface, old))
    db.execute("UPDATE moved_place SET new = ? WHERE surface = ? AND new = ?", (new, surface, old))
    db.execute("INSERT OR REPLACE INTO moved_place (surface, old, new) VALUES (?, ?, ?)", (surface, old, new))


def moved_places(db: sqlite3.Connection, surface: Surface) -> dict[str, str]:
    return dict(db.execute("SELECT old, new FROM moved_place WHERE surface = ?", (surface,)))


def participants(db: sqlite3.Connection, thread_id: ThreadId) -> frozenset[AccountId]:
    return frozenset(a for (a,) in db.execute("SELECT account FROM participant WHERE thread = ?", (thread_id,)))


def add_participant(
    db: sqlite3.Connection, thread_id: ThreadId, account: AccountId, surface: Surface, place: str
) -> None:
    """Nobody takes part in a thread that is gone."""
    db.execute(
        "INSERT OR IGNORE INTO participant (thread, account, surface, place) "
        "SELECT id, ?, ?, ? FROM thread WHERE id = ?",
        (account, surface, place, thread_id),
    )


def drop_participants(
    db: sqlite3.Connection, surface: Surface, place: str, account: AccountId | None
) -> frozenset[tuple[ThreadId, AccountId]]:
    left = db.execute(
        # `0` is the character after the slash
        "DELETE FROM participant WHERE surface = ?1 AND (place = ?2 OR (place > ?2 || '/' AND place < ?2 || '0')) "
        "AND account = COALESCE(?3, account) RETURNING thread, account",
        (surface, place, account),
    ).fetchall()
    gone = frozenset((thread, who) for thread, who in left if who not in participants(db, thread))
    db.executemany("DELETE FROM binding WHERE thread = ? AND account = ?", gone)
    return gone


def add_post(db: sqlite3.Connection, post: Post) -> None:
    """Nothing is posted of a thread that is gone."""
    db.execute(
        f"INSERT OR REPLACE INTO post ({POST}) SELECT ?, ?, ?, id, ?, ?, ? FROM thread WHERE id = ?",
        (post.surface, post.place, post.message, post.at.branch, post.at.pos, post.kind, post.thread_id),
    )


def find_post(db: sqlite3.Connection, surface: Surface, place: str, message: str) -> Post | None:
    row = db.execute(
        f"SELECT {POST} FROM post WHERE surface = ? AND place = ? AND message = ?", (surface, place, message)
    ).fetchone()
    return None if row is None else _post_of(row)


def posts(db: sqlite3.Connection, thread_id: ThreadId, surface: Surface, place: str) -> list[Post]:
    found = db.execute(
        f"SELECT {POST} FROM post WHERE thread = ? AND surface = ? AND place = ? ORDER BY n",
        (thread_id, surface, place),
    )
    return [_post_of(row) for row in found]


def drop_posts(db: sqlite3.Connection, surface: Surface, place: str, messages: Collection[str]) -> None:
    db.executemany(
        "DELETE FROM post WHERE surface = ? AND place = ? AND message = ?",
        [(surface, place, message) for message in messages],
    )


def _post_of(row: tuple[str, str, str, str, int, int, str]) -> Post:
    surface, place, message, thread, branch, pos, kind = row
    return Post(
        surface=Surface(surface),
        place=place,
        message=message,
        thread_id=ThreadId(thread),
        at=Position(branch, pos),
        kind=kind,
    )
