"""What people saw, what the agent remembers, what its tools did to the world.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from turnback.core.models import Effect, Fact, FactId, Position, ThreadId, TranscriptRow, Turn
from turnback.core.text import well_formed
from turnback.core.threads import standing, values
from turnback.core.threads.store import Row
from turnback.core.threads.values import json, micros


def add_rows(db: sqlite3.Connection, turn: Turn, at: Position, rows: Sequence[Row], now: datetime) -> None:
    """Write transcript rows of a turn."""
    for row in rows:
        db.execute(
            f"INSERT INTO row_ ({values.ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                standing.take(db, turn.thread_id, "next_row"),
                turn.thread_id,
                at.branch,
                at.pos,
                turn.turn_no,
                turn.turn_index,
                row.role,
                well_formed(row.text),
                micros(now),
                row.author,
            ),
        )


def transcript(db: sqlite3.Connection, thread_id: ThreadId, *, everything: bool) -> list[tuple[TranscriptRow, bool]]:
    thread = values.get_thread(db, thread_id)
    path = standing.path(db, thread_id, thread.head)
    rows = []
    for found in db.execute(f"SELECT {values.ROW} FROM row_ WHERE thread = ? ORDER BY n", (thread_id,)):
        aside = not path.covers(Position(found[2], found[3]))
        if everything or not aside:
            rows.append((values.row_of(found), aside))
    return rows


def turn_rows(db: sqlite3.Connection, thread_id: ThreadId, turn_no: int) -> list[TranscriptRow]:
    found = db.execute(
        f"SELECT {values.ROW} FROM row_ WHERE thread = ? AND turn_no = ? ORDER BY n", (thread_id, turn_no)
    )
    return [values.row_of(row) for row in found]


def add_effects(db: sqlite3.Connection, thread_id: ThreadId, at: Position, effects: Sequence[Effect]) -> None:
    for n, effect in enumerate(effects):
        db.execute(
            "INSERT INTO effect (thread, pos, n, branch, turn_index, number, tool, args) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                thread_id,
                at.pos,
                n,
                at.branch,
                effect.turn_index,
                effect.number,
                well_formed(effect.tool),
                json(effect.args),
            ),
        )


def effects(db: sqlite3.Connection, thread_id: ThreadId) -> list[Effect]:
    found = db.execute(
        "SELECT tool, args, turn_index, number, branch, pos FROM effect WHERE thread = ? ORDER BY pos, n", (thread_id,)
    )
    return [values.effect_of(row) for row in found]


def add_fact(db: sqlite3.Connection, thread_id: ThreadId, fact_id: FactId, words: str, at: datetime) -> Fact:
    """The fact gets the position after the head: it belongs to the step that its turn is making."""
    thread, turn = standing.running_turn(db, thread_id)
    place = Position(thread.head.branch, standing.take(db, thread_id, "next_pos"))
    made = db.execute(
        f"INSERT INTO fact ({values.FACT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING {values.FACT}",
        (fact_id, thread_id, place.branch, place.pos, turn.turn_no, turn.turn_index, well_formed(words), micros(at)),
    )
    return values.fact_of(made.fetchone())


def facts(db: sqlite3.Connection, thread_id: ThreadId) -> list[Fact]:
    """Those on the path, and those that the running turn has just learned."""
    thread = values.get_thread(db, thread_id)
    path = standing.path(db, thread_id, thread.head)
    every = db.execute(f"SELECT {values.FACT} FROM fact WHERE thread = ? ORDER BY pos", (thread_id,))
    found = [values.fact_of(row) for row in every]
    return [fact for fact in found if path.covers(fact.at) or fact.turn_no == thread.running_turn]
