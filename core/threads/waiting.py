"""Messages that wait for their turn, in the order in which they came.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from turnback.core.models import Actor, Surface, ThreadId
from turnback.core.text import well_formed
from turnback.core.threads import values
from turnback.core.threads.store import Stale, Waiting


def add(
    db: sqlite3.Connection, thread_id: ThreadId, actor: Actor, words: str, origin: str | None, files: Sequence[str]
) -> int:
    values.get_thread(db, thread_id)
    row = db.execute(
        "INSERT INTO waiting (thread, account, surface, name, identity, text, origin, files) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            thread_id,
            actor.account,
            actor.surface,
            well_formed(actor.name),
            actor.identity,
            well_formed(words),
            origin,
            values.maybe_texts(tuple(files)),
        ),
    ).fetchone()
    return int(row[0])


def find(db: sqlite3.Connection) -> list[Waiting]:
    found = db.execute(
        "SELECT w.id, w.thread, w.account, w.surface, a.admin OR a.named, w.name, w.identity, w.text, w.origin, "
        "w.files FROM waiting w JOIN account a ON a.id = w.account ORDER BY w.id"
    )
    return [
        Waiting(
            id=id_,
            thread_id=thread,
            actor=Actor(account=account, surface=Surface(surface), admin=bool(admin), name=name, identity=identity),
            text=words,
            origin=origin,
            files=values.texts_of(files),
        )
        for id_, thread, account, surface, admin, name, identity, words, origin, files in found
    ]


def take(db: sqlite3.Connection, waiting: int) -> None:
    """Its turn has come. Raises Stale when it waits no more: a message runs once."""
    if db.execute("DELETE FROM waiting WHERE id = ?", (waiting,)).rowcount != 1:
        raise Stale


def drop(db: sqlite3.Connection, waiting: Collection[int]) -> None:
    db.executemany("DELETE FROM waiting WHERE id = ?", [(id_,) for id_ in waiting])


def drop_all(db: sqlite3.Connection, thread_id: ThreadId) -> None:
    db.execute("DELETE FROM waiting WHERE thread = ?", (thread_id,))
