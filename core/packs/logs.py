"""The logs of a thread in the file: appended to, merged, read, and freed.

What a state appends to all three logs is its tail. Tails are turned into pieces of the single logs when
there are some, so that each log is read without the others and compresses well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from turnback.core.packs import frames, loose, tables
from turnback.core.packs.cursor import Cursor
from turnback.core.packs.log import Spans
from turnback.core.packs.manifest import LOGS, Manifest, Range, union
from turnback.core.packs.plan import DIRECT, FAN, PIECE, STAYS, Piece, Tail, merged, pieces, to_merge

PLAIN = 3 * 1024
"""Tails of so few bytes are not compressed: they fit in a page, and soon become part of a piece."""

JOINED = 64 * 1024
"""Ranges nearer to each other than this are read at once."""


def append(db: sqlite3.Connection, cursor: Cursor, new: Sequence[bytes]) -> tuple[int, int]:
    """Write what is new in each log; answers the bytes that it takes, and those that were set aside for tails."""
    size = 0
    small = list(new)
    for log in LOGS:
        if len(new[log]) >= DIRECT:
            flush(db, cursor)
            size += _add(db, cursor, log, cursor.ends[log], new[log])
            cursor.ends[log] += len(new[log])
            small[log] = b""
            _merge(db, cursor, log)
    text = b"".join(small)
    if not text:
        return size, 0
    tail = Tail((cursor.ends[0], cursor.ends[1], cursor.ends[2]), (len(small[0]), len(small[1]), len(small[2])))
    cursor.found_tail(tail)
    frame = frames.pack(text) if len(text) > PLAIN else frames.plain(text)
    own, room = loose.append(db, cursor.number, cursor.loose, tail, frame)
    return size + own, room


def settle(db: sqlite3.Connection, cursor: Cursor) -> None:
    """A state was written: make pieces of the tails if it is time, or merge some; no save does both."""
    cursor.since += 1
    if cursor.since >= FAN or cursor.loose_bytes >= PIECE:
        flush(db, cursor)
    elif cursor.since == FAN // 2:
        any(_merge(db, cursor, log) for log in LOGS)  # one at a time: the others wait for the next time


def flush(db: sqlite3.Connection, cursor: Cursor) -> None:
    """Make pieces of all tails."""
    if cursor.loose_bytes:
        for log, rows in _tails(db, cursor.number).items():
            start, texts = 0, list[bytes]()
            for piece, text in rows:
                if texts and piece.start != start + sum(map(len, texts)):
                    _add(db, cursor, log, start, b"".join(texts))
                    texts = []
                if not texts:
                    start = piece.start
                texts.append(text)
            if texts:
                _add(db, cursor, log, start, b"".join(texts))
        loose.remove(db, cursor.number)
    cursor.loose = loose.Loose()
    cursor.since = cursor.loose_bytes = 0


def stored(
    db: sqlite3.Connection, number: int, manifest: Manifest, logs: Iterable[int] = LOGS
) -> dict[int, list[tuple[Piece, bytes]]]:
    """The pieces, ascending, that hold anything of a state in these logs; from tails, too."""
    tails = _tails(db, number)
    found: dict[int, list[tuple[Piece, bytes]]] = {}
    for log in logs:
        wanted = Spans(union(manifest.ranges(log)))
        rows = dict[int, tuple[Piece, bytes]]()
        for span in _near(wanted.ranges):
            for piece, frame in tables.frames(db, number, log, span):
                rows[piece.start] = (piece, frame)
        for piece, text in tails[log]:
            rows[piece.start] = (piece, frames.plain(text))
        found[log] = [rows[start] for start in sorted(rows) if wanted.covered(rows[start][0])]
    return found


def sweep(db: sqlite3.Connection, number: int, log: int, live: list[Range], purge: bool) -> bool:
    """Free the pieces of a log that are not live, with `purge` to the last byte; answers whether any went."""
    dead: list[Piece] = []
    wanted = Spans(live)
    for piece in tables.all_pieces(db, number, log):
        kept = wanted.covered(piece)
        if kept == 0:
            dead.append(piece)
        elif kept < piece.raw and (purge or kept * 2 < piece.raw):
            _blank(db, number, log, piece, wanted)
    tables.remove_pieces(db, number, log, dead)
    return bool(dead)


def _blank(db: sqlite3.Connection, number: int, log: int, piece: Piece, wanted: Spans) -> None:
    """Write a piece anew without what is dead in it."""
    [(_, frame)] = tables.frames(db, number, log, (piece.start, piece.stop))
    fresh = frames.pack(wanted.blanked(piece, frames.unpack(frame)), stays=True)
    if fresh != frame:
        tables.remove_pieces(db, number, log, [piece])
        tables.add_piece(db, number, log, piece, fresh)


def _add(db: sqlite3.Connection, cursor: Cursor, log: int, start: int, data: bytes) -> int:
    """Write pieces at the end of a log; answers the bytes that they take."""
    size = 0
    for piece in pieces(start, len(data)):
        frame = frames.pack(data[piece.start - start : piece.stop - start], stays=piece.level == STAYS)
        tables.add_piece(db, cursor.number, log, piece, frame)
        size += len(frame) + tables.ROW_BYTES
        if piece.level < STAYS:
            cursor.open[log].append(piece)
    cursor.pieces_made = True
    return size


def _merge(db: sqlite3.Connection, cursor: Cursor, log: int) -> bool:
    """Merge what is due of a log; answers whether anything was."""
    run = to_merge(cursor.open[log])
    if not run:
        return False
    rows = tables.frames(db, cursor.number, log, (run[0].start, run[-1].stop))
    frame = frames.pack(b"".join(frames.unpack(frame) for _, frame in rows), stays=True)
    tables.remove_pieces(db, cursor.number, log, run)
    tables.add_piece(db, cursor.number, log, merged(run), frame)
    cursor.open[log] = cursor.open[log][len(run) :]
    return True


def _tails(db: sqlite3.Connection, number: int) -> dict[int, list[tuple[Piece, bytes]]]:
    """By log, what the tails of a thread hold, decompressed."""
    found: dict[int, list[tuple[Piece, bytes]]] = {log: [] for log in LOGS}
    for tail, frame in loose.find(db, number)[0]:
        text, at = frames.unpack(frame), 0
        for log in LOGS:
            raw = tail.raws[log]
            if raw:
                found[log].append((Piece(tail.starts[log], raw, 1), text[at : at + raw]))
                at += raw
    return found


def _near(ranges: Sequence[Range]) -> list[Range]:
    """The ranges, those that are near to each other as one."""
    spans: list[Range] = []
    for lo, hi in ranges:
        if spans and lo - spans[-1][1] <= JOINED:
            spans[-1] = (spans[-1][0], hi)
        else:
            spans.append((lo, hi))
    return spans
