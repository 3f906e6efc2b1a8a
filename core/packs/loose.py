"""What the newest states of a thread have added to its logs, before it is made pieces of them.

Each state adds a tail: what is new in all three logs. Tails are written one behind the other in place, into
rows of pack_loose that are made with room for more, since a row of its own for each would have SQLite move
half a page of others aside at nearly every save. A thread's first such row is small and each further one
twice as big; all go when their tails become pieces.
"""

from __future__ import annotations

import sqlite3
import struct
from dataclasses import dataclass

from turnback.core.packs.plan import Tail

_HEAD = struct.Struct("<QQQIIII")
"""Where the tail stands in each log, its bytes there before compression, the bytes that follow; zeros at the end."""

_END = bytes(_HEAD.size)

_ROOM, _PAGE = 485, 4092
"""A row of the first so many bytes, and a whole number of the second, fills SQLite's pages of 4 KiB."""

_ROWS = 8
"""Bits of a row's id that number the rows of a thread."""


@dataclass(slots=True)
class Loose:
    """Where a thread's next tail goes: the row, the bytes that are used in it, the bytes that it has."""

    row: int = -1
    used: int = 0
    room: int = 0


def append(db: sqlite3.Connection, number: int, at: Loose, tail: Tail, frame: bytes) -> tuple[int, int]:
    """Write a tail; answers the bytes that it takes, and those of a row that was made for it."""
    entry = _HEAD.pack(*tail.starts, *tail.raws, len(frame)) + frame
    size = len(entry)
    if at.used + size + _HEAD.size > at.room:
        at.row, at.used = at.row + 1, 0
        at.room = _ROOM + _PAGE * max(at.row + 1, size // _PAGE + 1)
        db.execute(
            "INSERT INTO pack_loose(id, data) VALUES (?, ?)", (number << _ROWS | at.row, entry.ljust(at.room, b"\0"))
        )
        made = at.room
    else:
        made = 0
        with db.blobopen("pack_loose", "data", number << _ROWS | at.row) as row:
            row.seek(at.used)
            row.write(entry)
    at.used += size
    return size, made


def find(db: sqlite3.Connection, number: int) -> tuple[list[tuple[Tail, bytes]], Loose]:
    """The tails of a thread, oldest first, with their bytes; and where the next one goes."""
    tails: list[tuple[Tail, bytes]] = []
    at = Loose()
    for row, data in db.execute("SELECT id, data FROM pack_loose WHERE id BETWEEN ? AND ? ORDER BY id", _span(number)):
        at = Loose(row - (number << _ROWS), 0, len(data))
        while not data.startswith(_END, at.used):
            *numbers, size = _HEAD.unpack_from(data, at.used)
            start = at.used + _HEAD.size
            tails.append((Tail(tuple(numbers[:3]), tuple(numbers[3:])), data[start : start + size]))
            at.used = start + size
    return tails, at


def remove(db: sqlite3.Connection, number: int) -> None:
    """Delete the tails of a thread."""
    db.execute("DELETE FROM pack_loose WHERE id BETWEEN ? AND ?", _span(number))


def _span(number: int) -> tuple[int, int]:
    return number << _ROWS, (number + 1 << _ROWS) - 1
