"""The tables of packs, and every statement on them.

Both files of Turnback have them, so that a state can be copied from one to the other as it is
stored. What a state adds is one row of pack_tail; some tails together become pieces of the logs,
rows of pack_blob. Where a piece lies is its rowid: thread, log and offset in one number, so that what is read
together lies together and needs no index. Triggers keep the bytes of each thread (and, in row 0, of
all), so that a budget is checked by looking at one row.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence

from turnback.core.packs.manifest import Range
from turnback.core.packs.plan import Piece, Tail

SCHEMA = """
CREATE TABLE pack_thread (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE pack_state (id INTEGER PRIMARY KEY, manifest BLOB NOT NULL);
CREATE TABLE pack_blob (
    id INTEGER PRIMARY KEY, raw INTEGER NOT NULL, level INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE pack_tail (id INTEGER PRIMARY KEY, spans BLOB NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE pack_secret (seed INTEGER NOT NULL);
INSERT INTO pack_thread(number, name) VALUES (0, '');
INSERT INTO pack_secret(seed) VALUES (abs(random()));
CREATE TRIGGER pack_blob_added AFTER INSERT ON pack_blob BEGIN
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = NEW.id >> 38;
END;
CREATE TRIGGER pack_tail_added AFTER INSERT ON pack_tail BEGIN
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = NEW.id >> 38;
END;
CREATE TRIGGER pack_tail_removed AFTER DELETE ON pack_tail BEGIN
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = OLD.id >> 38;
END;
CREATE TRIGGER pack_blob_removed AFTER DELETE ON pack_blob BEGIN
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes - OLD.size WHERE number = OLD.id >> 38;
END;
"""

OFFSET_BITS = 36
"""Bits of an offset in a log: 64 GiB before compression."""

STATE_BITS = 38

_SPANS = struct.Struct("<QQQIII")

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


def live_bytes(db: sqlite3.Connection, number: int) -> int:
    """The stored bytes of a thread; of all threads for 0."""
    row = db.execute("SELECT bytes FROM pack_thread WHERE number = ?", (number,)).fetchone()
    return 0 if row is None else int(row[0])


# states


def add_state(db: sqlite3.Connection, state: int, manifest: bytes) -> None:
    db.execute("INSERT INTO pack_state(id, manifest) VALUES (?, ?)", (state, manifest))


def manifest(db: sqlite3.Connection, state: int) -> bytes | None:
    row = db.execute("SELECT manifest FROM pack_state WHERE id = ?", (state,)).fetchone()
    return None if row is None else bytes(row[0])


def states(db: sqlite3.Connection, number: int, newest: int = -1) -> list[tuple[int, bytes]]:
    """The states of a thread, newest first."""
    first = number << STATE_BITS
    return db.execute(
        "SELECT id, manifest FROM pack_state WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
        (first, first + (1 << STATE_BITS) - 1, newest),
    ).fetchall()


def count_states(db: sqlite3.Connection, number: int) -> int:
    first = number << STATE_BITS
    row = db.execute(
        "SELECT count(*) FROM pack_state WHERE id BETWEEN ? AND ?", (first, first + (1 << STATE_BITS) - 1)
    ).fetchone()
    return int(row[0])


def remove_states(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    db.executemany("DELETE FROM pack_state WHERE id = ?", ((state,) for state in ids))


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


def remove_all(db: sqlite3.Connection, number: int) -> None:
    """Every state and piece of a thread."""
    first = number << STATE_BITS
    span = (first, first + (1 << STATE_BITS) - 1)
    db.execute("DELETE FROM pack_state WHERE id BETWEEN ? AND ?", span)
    db.execute("DELETE FROM pack_tail WHERE id BETWEEN ? AND ?", span)
    db.execute("DELETE FROM pack_blob WHERE id BETWEEN ? AND ?", span)


# tails


def add_tail(db: sqlite3.Connection, number: int, place: int, tail: Tail, frame: bytes) -> int:
    """Write a tail; answers the bytes that it takes."""
    size = len(frame) + ROW_BYTES + _SPANS.size
    db.execute(
        "INSERT INTO pack_tail(id, spans, size, data) VALUES (?, ?, ?, ?)",
        (number << STATE_BITS | place, _SPANS.pack(*tail.starts, *tail.raws), size, frame),
    )
    return size


def tails(db: sqlite3.Connection, number: int) -> list[tuple[int, Tail, bytes]]:
    """The tails of a thread, oldest first: place, spans, bytes."""
    first = number << STATE_BITS
    rows = db.execute(
        "SELECT id, spans, data FROM pack_tail WHERE id BETWEEN ? AND ? ORDER BY id",
        (first, first + (1 << STATE_BITS) - 1),
    )
    found = []
    for row, spans, data in rows:
        numbers = _SPANS.unpack(spans)
        found.append((row - first, Tail(numbers[:3], numbers[3:]), data))
    return found


def remove_tails(db: sqlite3.Connection, number: int) -> None:
    first = number << STATE_BITS
    db.execute("DELETE FROM pack_tail WHERE id BETWEEN ? AND ?", (first, first + (1 << STATE_BITS) - 1))
