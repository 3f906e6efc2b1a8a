"""The tables of packs, and every statement on them.

Both files of Turnback have them, so that a state can be copied from one to the other as it is
stored. What the newest states of a thread have added lies in pack_loose (`loose.py`), until it becomes pieces
of the logs, rows of pack_blob. Where a piece lies is its rowid: thread, log and offset in one number, so
that what is read together lies together and needs no index. Triggers keep the bytes of each thread (and, in
row 0, of all), so that a budget is checked by looking at one row. The manifest of a state lies in the row of
whoever keeps it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from turnback.core.packs.manifest import Range
from turnback.core.packs.plan import Piece

SCHEMA = """
CREATE TABLE pack_thread (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE pack_loose (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE pack_blob (
    id INTEGER PRIMARY KEY, raw INTEGER NOT NULL, level INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE pack_leaving (number INTEGER PRIMARY KEY);
CREATE TABLE pack_secret (seed INTEGER NOT NULL);
INSERT INTO pack_thread(number, name) VALUES (0, '');
INSERT INTO pack_secret(seed) VALUES (abs(random()));
CREATE TRIGGER pack_blob_added AFTER INSERT ON pack_blob BEGIN
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = NEW.id >> 38;
END;
CREATE TRIGGER pack_loose_added AFTER INSERT ON pack_loose BEGIN
    UPDATE pack_thread SET bytes = bytes + length(NEW.data) WHERE number IN (0, NEW.id >> 8);
END;
CREATE TRIGGER pack_loose_removed AFTER DELETE ON pack_loose
    WHEN OLD.id >> 8 NOT IN (SELECT number FROM pack_leaving)
BEGIN
    UPDATE pack_thread SET bytes = bytes - length(OLD.data) WHERE number IN (0, OLD.id >> 8);
END;
CREATE TRIGGER pack_blob_removed AFTER DELETE ON pack_blob
    WHEN OLD.id >> 38 NOT IN (SELECT number FROM pack_leaving)
BEGIN
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = OLD.id >> 38;
END;
"""

OFFSET_BITS = 36
"""Bits of an offset in a log: 64 GiB before compression."""

ROW_BYTES = 24
"""What a row costs beside its blob, about."""


def blob_id(number: int, log: int, offset: int) -> int:
    """The rowid of the piece of a thread's log that starts at `offset`."""
    if offset >> OFFSET_BITS:
        raise sqlite3.DataError("a thread's log is full")
    return (number << 2 | log) << OFFSET_BITS | offset


def number_of(db: sqlite3.Connection, thread: str) -> int:
    """The number of a thread, which is given one if it has none."""
    row = db.execute("SELECT number FROM pack_thread WHERE name = ?", (thread,)).fetchone()
    if row is None:
        row = db.execute("INSERT INTO pack_thread(name) VALUES (?) RETURNING number", (thread,)).fetchone()
    return int(row[0])


def find_number(db: sqlite3.Connection, thread: str) -> int | None:
    """The number of a thread, if it has one."""
    row = db.execute("SELECT number FROM pack_thread WHERE name = ?", (thread,)).fetchone()
    return None if row is None else int(row[0])


def seed(db: sqlite3.Connection) -> int:
    """The key of this file's hashes: nobody who only writes messages can make two of them collide."""
    return int(db.execute("SELECT seed FROM pack_secret").fetchone()[0])


# pieces


def add_piece(db: sqlite3.Connection, number: int, log: int, piece: Piece, frame: bytes) -> None:
    db.execute(
        "INSERT INTO pack_blob(id, raw, level, size, data) VALUES (?, ?, ?, ?, ?)",
        (blob_id(number, log, piece.start), piece.raw, piece.level, len(frame) + ROW_BYTES, frame),
    )


def remove_pieces(db: sqlite3.Connection, number: int, log: int, pieces: Sequence[Piece]) -> None:
    db.executemany("DELETE FROM pack_blob WHERE id = ?", ((blob_id(number, log, p.start),) for p in pieces))


def all_pieces(db: sqlite3.Connection, number: int, log: int) -> list[Piece]:
    """What a log consists of, ascending, without its bytes."""
    first = blob_id(number, log, 0)
    rows = db.execute(
        "SELECT id, raw, level FROM pack_blob WHERE id BETWEEN ? AND ? ORDER BY id",
        (first, first + (1 << OFFSET_BITS) - 1),
    )
    return [Piece(row - first, raw, level) for row, raw, level in rows]


def frames(db: sqlite3.Connection, number: int, log: int, span: Range) -> list[tuple[Piece, bytes]]:
    """The pieces that hold anything of `span`, with their bytes."""
    first = blob_id(number, log, 0)
    rows = db.execute(
        "SELECT id, raw, level, data FROM pack_blob WHERE id >= coalesce("
        "(SELECT max(id) FROM pack_blob WHERE id BETWEEN ?1 AND ?2), ?2) AND id < ?3 ORDER BY id",
        (first, first + span[0], first + span[1]),
    )
    return [(Piece(row - first, raw, level), data) for row, raw, level, data in rows if row - first + raw > span[0]]


def begin_leaving(db: sqlite3.Connection, number: int) -> None:
    """All of a thread goes: what it has is taken from the counters at once, instead of row by row."""
    columns = [name for _, name, *_ in db.execute("PRAGMA table_info(pack_thread)") if name not in ("number", "name")]
    changes = ", ".join(f"{c} = {c} - (SELECT {c} FROM pack_thread WHERE number = ?1)" for c in columns)
    db.execute(f"UPDATE pack_thread SET {changes} WHERE number = 0", (number,))
    db.execute("INSERT INTO pack_leaving(number) VALUES (?)", (number,))


def end_leaving(db: sqlite3.Connection, number: int) -> None:
    """Nothing of a thread is left but its name and number, which go now."""
    db.execute("DELETE FROM pack_thread WHERE number = ?", (number,))
    db.execute("DELETE FROM pack_leaving")


def remove_all(db: sqlite3.Connection, number: int) -> None:
    """Every piece of a thread."""
    first = number << 2 + OFFSET_BITS
    db.execute("DELETE FROM pack_blob WHERE id >= ? AND id < ?", (first, first + (1 << 2 + OFFSET_BITS)))
