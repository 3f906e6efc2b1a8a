"""The places of platforms: into which thread each talks, and what our messages there show.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from turnback.core.models import Position, Post, Surface, ThreadId
from turnback.core.threads.values import get_thread

POST = "surface, place, message, thread, branch, pos, kind"


def bind(db: sqlite3.Connection, surface: Surface, place: str, thread_id: ThreadId) -> None:
    get_thread(db, thread_id)
    db.execute("INSERT OR REPLACE INTO binding (surface, place, thread) VALUES (?, ?, ?)", (surface, place, thread_id))


def bound(db: sqlite3.Connection, surface: Surface, place: str) -> ThreadId | None:
    row = db.execute("SELECT thread FROM binding WHERE surface = ? AND place = ?", (surface, place)).fetchone()
    return None if row is None else ThreadId(row[0])


def places(db: sqlite3.Connection, thread_id: ThreadId) -> list[tuple[Surface, str]]:
    found = db.execute("SELECT surface, place FROM binding WHERE thread = ? ORDER BY surface, place", (thread_id,))
    return [(Surface(surface), place) for surface, place in found]


def move_place(db: sqlite3.Connection, surface: Surface, old: str, new: str) -> None:
    db.execute("UPDATE OR REPLACE binding SET place = ? WHERE surface = ? AND place = ?", (new, surface, old))
    db.execute("DELETE FROM post WHERE surface = ? AND place = ?", (surface, old))


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
