"""The tables of packs, and every statement on them.

Both files of Turnback have them, so that a state can be copied from one to the other as it is
stored. A state is one row of pack_state: its manifest, and as its tail what it adds; some tails together
become pieces of the logs, rows of pack_blob. A row without a manifest is that of a state that is gone, whose
tail others need. Where a piece lies is its rowid: thread, log and offset in one number, so that what is read
together lies together and needs no index. Triggers keep the bytes of each thread (and, in row 0, of
all), so that a budget is checked by looking at one row.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Collection, Sequence

from turnback.core.packs.manifest import Range
from turnback.core.packs.plan import Piece, Tail

SCHEMA = """
CREATE TABLE pack_thread (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE pack_state (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, manifest BLOB NOT NULL, tail BLOB NOT NULL);
CREATE TABLE pack_blob (
    id INTEGER PRIMARY KEY, raw INTEGER NOT NULL, level INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE pack_secret (seed INTEGER NOT NULL);
INSERT INTO pack_thread(number, name) VALUES (0, '');
INSERT INTO pack_secret(seed) VALUES (abs(random()));
CREATE TRIGGER pack_blob_added AFTER INSERT ON pack_blob BEGIN
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = NEW.id >> 38;
END;
CREATE TRIGGER pack_state_added AFTER INSERT ON pack_state BEGIN
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = 0;
    UPDATE pack_thread SET bytes = bytes + NEW.size WHERE number = NEW.id >> 38;
END;
CREATE TRIGGER pack_state_removed AFTER DELETE ON pack_state BEGIN
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


# states


def add_state(db: sqlite3.Connection, state: int, manifest: bytes, tail: bytes = b"") -> int:
    """Write a state; answers the bytes that it takes."""
    size = ROW_BYTES + len(manifest) + len(tail)
    db.execute("INSERT INTO pack_state(id, size, manifest, tail) VALUES (?, ?, ?, ?)", (state, size, manifest, tail))
    return size


def manifest(db: sqlite3.Connection, state: int) -> bytes | None:
    row = db.execute("SELECT manifest FROM pack_state WHERE id = ?", (state,)).fetchone()
    return None if row is None or not row[0] else bytes(row[0])


def states(db: sqlite3.Connection, number: int, newest: int = -1) -> list[tuple[int, bytes]]:
    """The states of a thread, newest first."""
    return db.execute(
        "SELECT id, manifest FROM pack_state WHERE id BETWEEN ? AND ? AND manifest != x'' ORDER BY id DESC LIMIT ?",
        (*_span(number), newest),
    ).fetchall()


def next_state(db: sqlite3.Connection, number: int) -> int:
    """What the id of a thread's next state ends with."""
    (last,) = db.execute("SELECT max(id) FROM pack_state WHERE id BETWEEN ? AND ?", _span(number)).fetchone()
    return 0 if last is None else last + 1 - (number << STATE_BITS)


def count_states(db: sqlite3.Connection, number: int) -> int:
    row = db.execute(
        "SELECT count(*) FROM pack_state WHERE id BETWEEN ? AND ? AND manifest != x''", _span(number)
    ).fetchone()
    return int(row[0])


def remove_states(db: sqlite3.Connection, ids: Collection[int]) -> None:
    """Delete states; tails stay."""
    gone = [(state,) for state in ids]
    if db.executemany("DELETE FROM pack_state WHERE id = ? AND tail = x''", gone).rowcount < len(gone):
        db.executemany("UPDATE pack_state SET manifest = x'' WHERE id = ?", gone)


def _span(number: int) -> tuple[int, int]:
    """The first and the last id that a state of a thread may have."""
    first = number << STATE_BITS
    return first, first + (1 << STATE_BITS) - 1


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
    db.execute("DELETE FROM pack_state WHERE id BETWEEN ? AND ?", _span(number))
    db.execute("DELETE FROM pack_blob WHERE id BETWEEN ? AND ?", _span(number))


# tails


def write_tail(tail: Tail, frame: bytes) -> bytes:
    return _SPANS.pack(*tail.starts, *tail.raws) + frame


def tails(db: sqlite3.Connection, number: int, most: int) -> list[tuple[Tail, bytes]]:
    """The tails among the `most` newest states of a thread, oldest first: spans, bytes."""
    rows = db.execute(
        "SELECT tail FROM pack_state WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?", (*_span(number), most)
    )
    found = []
    for (data,) in rows:
        if data:
            numbers = _SPANS.unpack_from(data)
            found.append((Tail(numbers[:3], numbers[3:]), data[_SPANS.size :]))
    return found[::-1]


def remove_tails(db: sqlite3.Connection, number: int, most: int) -> None:
    """Delete the tails among the `most` newest states.

    Rows are written anew, since SQLite does not close the gaps of one that becomes shorter.
    """
    newest = db.execute(
        "SELECT id, manifest FROM pack_state WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?", (*_span(number), most)
    ).fetchall()
    if newest:
        db.execute("DELETE FROM pack_state WHERE id BETWEEN ? AND ?", (newest[-1][0], newest[0][0]))
    db.executemany(
        "INSERT INTO pack_state(id, size, manifest, tail) VALUES (?, ?, ?, x'')",
        [(state, ROW_BYTES + len(data), data) for state, data in reversed(newest) if data],
    )
