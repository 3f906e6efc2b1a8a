"""States in SQLite, each for the price of what is new in it.

Works on a plain connection inside the caller's transaction, in steps.db and turnback.db alike. What
the last state of a thread was is remembered in a cursor, so that a capture reads nothing: that the
old messages are unchanged is proved by a keyed hash over their bytes, and the rest is appended.
Where the proof fails (a compaction, another branch) an older state with that beginning is looked for, and
else the two texts are compared.

Garbage is found by marking what the remaining states need, once for many dropped ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

from turnback.core.models import State
from turnback.core.packs import frames, logs, loose, tables
from turnback.core.packs.bundle import Bundle
from turnback.core.packs.cursor import Cursor, Cursors
from turnback.core.packs.log import Damaged, Pieces, Spans, content_of, contents, make_bundle, open_bundle
from turnback.core.packs.manifest import (
    LOGS,
    Manifest,
    decode,
    encode,
    union,
)
from turnback.core.packs.plan import FAN, Piece
from turnback.core.packs.saving import Saving, Stored, rebase
from turnback.core.packs.tables import SCHEMA
from turnback.core.state import codec, scrub
from turnback.core.state.codec import Encoded

__all__ = ["SCHEMA", "Packs", "Stored"]

SWEEP_AFTER = 32
"""Dropped states between two searches for garbage, or a quarter of those that are left."""


class Packs:
    """The states of one file. One writer at a time; `bundle` may be called by others meanwhile.

    `kept` is the SELECT of the references of all states that are kept of a thread, newest first; ?1 is the
    thread's number. A row of it appears after `put`, and is gone before `drop`.
    """

    def __init__(
        self, kept: str, suspects: Callable[[bytes, str], bool] | None = None, cursors: Cursors | None = None
    ) -> None:
        self._kept = kept
        self._suspects = suspects or scrub.suspects
        self._cursors = cursors or Cursors()
        self._seed: int | None = None

    # writing

    def put(self, db: sqlite3.Connection, thread: str, content: Encoded | Bundle) -> Stored:
        """Store a state as the newest of its thread."""
        cursor = self._cursor(db, thread)
        if isinstance(content, Bundle):
            if cursor.states == 0:
                return self._copy(db, thread, cursor, content)
            content = content_of(content)
        saving = Saving(db, thread, cursor, content, self._key(db), self._states)
        stored = saving.save(self._suspects)
        self._cursors.keep(thread, cursor)
        return stored

    def drop(self, db: sqlite3.Connection, thread: str, refs: Sequence[bytes], *, purge: bool = False) -> None:
        """Let go of states, kept no more. What only they used is freed sooner or later; with `purge` now, wholly.

        Store what comes next before dropping what it resembles: the newest state is what the next one
        is compared with.
        """
        if not refs and not purge:
            return
        cursor = self._cursor(db, thread)
        cursor.states = max(0, cursor.states - len(refs))
        cursor.dropped += len(refs)
        if cursor.base is not None and cursor.base.ref in refs:
            self._rebase(db, cursor)
        if purge or cursor.states == 0 or cursor.dropped >= max(SWEEP_AFTER, cursor.states // 4):
            self._sweep(db, cursor, purge)
        self._cursors.keep(thread, cursor)

    def sweep(self, db: sqlite3.Connection, thread: str, *, purge: bool = False) -> None:
        """Free what no state of a thread needs."""
        cursor = self._cursor(db, thread)
        self._sweep(db, cursor, purge)
        self._cursors.keep(thread, cursor)

    def _sweep(self, db: sqlite3.Connection, cursor: Cursor, purge: bool) -> None:
        manifests = [decode(ref) for ref in self._states(db, cursor.number)]
        cursor.states, cursor.dropped = len(manifests), 0
        if not manifests:
            loose.remove(db, cursor.number)
            tables.remove_all(db, cursor.number)
            cursor.base, cursor.ends, cursor.open = None, [0, 0, 0], [[], [], []]
            cursor.loose = loose.Loose()
            cursor.since = cursor.loose_bytes = 0
            return
        if purge:
            logs.flush(db, cursor)
        for log in LOGS:
            live = union(span for manifest in manifests for span in manifest.ranges(log))
            if logs.sweep(db, cursor.number, log, live, purge):
                cursor.found(log, tables.all_pieces(db, cursor.number, log))

    def drop_thread(self, db: sqlite3.Connection, thread: str, own: str | None = None) -> int:
        """Let go of everything of a thread.

        `own` deletes what its keeper has of it beside, ?1 being the thread's number; answers how many rows that were.
        """
        self._cursors.forget(thread)
        number = tables.find_number(db, thread)
        if number is None:
            return 0
        tables.begin_leaving(db, number)
        removed = db.execute(own, (number,)).rowcount if own else 0
        loose.remove(db, number)
        tables.remove_all(db, number)
        tables.end_leaving(db, number)
        return removed

    def rolled_back(self, thread: str | None = None) -> None:
        """A transaction failed: forget what was remembered of a thread, or of all."""
        if thread is None:
            self._cursors.clear()
        else:
            self._cursors.forget(thread)

    # reading

    def bundle(self, db: sqlite3.Connection, thread: str, ref: bytes) -> Bundle:
        """A state as stored, with nothing of any other state. Raises `Damaged` where it is gone."""
        return _bundle(db, thread, ref, only=True)

    def peek(self, db: sqlite3.Connection, thread: str, ref: bytes) -> Bundle:
        """A state to be read at once: whole pieces, which may hold other states' text as well."""
        return _bundle(db, thread, ref, only=False)

    def read(self, db: sqlite3.Connection, thread: str, ref: bytes) -> State:
        """A state, decoded. Raises `Damaged` where it is gone."""
        manifest = decode(ref)
        return codec.decode(*contents(manifest, Pieces(_stored(db, thread, manifest))))

    # within

    def _key(self, db: sqlite3.Connection) -> int:
        if self._seed is None:
            self._seed = tables.seed(db)
        return self._seed

    def _cursor(self, db: sqlite3.Connection, thread: str) -> Cursor:
        cursor = self._cursors.find(thread)
        if cursor is None:
            cursor = Cursor(tables.number_of(db, thread))
            for log in LOGS:
                cursor.found(log, tables.all_pieces(db, cursor.number, log))
            tails, cursor.loose = loose.find(db, cursor.number)
            for tail, _ in tails:
                cursor.found_tail(tail)
                cursor.since = FAN - 1  # how many were saved since is not known: make pieces with the next one
            (cursor.states,) = db.execute(f"SELECT count(*) FROM ({self._kept})", (cursor.number,)).fetchone()
            self._rebase(db, cursor)
        return cursor

    def _states(self, db: sqlite3.Connection, number: int, most: int = -1) -> list[bytes]:
        return [ref for (ref,) in db.execute(f"{self._kept} LIMIT ?2", (number, most))]

    def _rebase(self, db: sqlite3.Connection, cursor: Cursor) -> None:
        """Compare the next state with the newest."""
        newest = self._states(db, cursor.number, 1)
        if newest:
            rebase(db, cursor, newest[0])
        else:
            cursor.base = None

    def _copy(self, db: sqlite3.Connection, thread: str, cursor: Cursor, bundle: Bundle) -> Stored:
        """Store a bundle as it is: pieces keep their offsets, nothing is decompressed."""
        manifest, stored = open_bundle(bundle)
        self._cursors.forget(thread)
        size = 0
        for log, rows in stored.items():
            for piece, frame in rows:
                tables.add_piece(db, cursor.number, log, piece, frame)
                size += len(frame) + tables.ROW_BYTES
        ref = encode(replace(manifest, digest=0))
        return Stored(ref=ref, number=cursor.number, stored_bytes=size, grown=None)


def _stored(db: sqlite3.Connection, thread: str, manifest: Manifest) -> dict[int, list[tuple[Piece, bytes]]]:
    number = tables.find_number(db, thread)
    if number is None:
        raise Damaged("the thread is not there")
    return logs.stored(db, number, manifest)


def _bundle(db: sqlite3.Connection, thread: str, ref: bytes, *, only: bool) -> Bundle:
    manifest = decode(ref)
    stored = _stored(db, thread, manifest)
    if only:
        for log, rows in stored.items():
            wanted = Spans(union(manifest.ranges(log)))
            stored[log] = [_only(piece, frame, wanted) for piece, frame in rows]
    return make_bundle(ref, stored)


def _only(piece: Piece, frame: bytes, wanted: Spans) -> tuple[Piece, bytes]:
    if wanted.covered(piece) == piece.raw:
        return piece, frame
    return piece, frames.pack(wanted.blanked(piece, frames.unpack(frame)), stays=True)
