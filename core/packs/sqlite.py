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
from turnback.core.packs import frames, logs, tables
from turnback.core.packs.bundle import Bundle
from turnback.core.packs.cursor import Cursor, Cursors
from turnback.core.packs.log import Pieces, Spans, contents, make_bundle, open_bundle
from turnback.core.packs.manifest import (
    LOGS,
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
    """The states of one file. One writer at a time; `bundle` may be called by others meanwhile."""

    def __init__(self, suspects: Callable[[bytes, str], bool] | None = None, cursors: Cursors | None = None) -> None:
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
            content = _encoded(content)
        saving = Saving(db, thread, cursor, content, self._key(db))
        stored = saving.save(self._suspects)
        self._cursors.keep(thread, cursor)
        return stored

    def drop(self, db: sqlite3.Connection, thread: str, refs: Sequence[bytes], *, purge: bool = False) -> None:
        """Let go of states. What only they used is freed sooner or later; with `purge` now, to the last byte.

        Store what comes next before dropping what it resembles: the newest state is what the next one
        is compared with.
        """
        if not refs and not purge:
            return
        cursor = self._cursor(db, thread)
        gone = {int.from_bytes(ref, "big") for ref in refs}
        tables.remove_states(db, gone)
        cursor.states = max(0, cursor.states - len(gone))
        cursor.dropped += len(gone)
        if cursor.base is not None and cursor.base.state in gone:
            cursor.base = None
            self._rebase(db, cursor, None)
        if purge or cursor.states == 0 or cursor.dropped >= max(SWEEP_AFTER, cursor.states // 4):
            self._sweep(db, cursor, purge)
        self._cursors.keep(thread, cursor)

    def sweep(self, db: sqlite3.Connection, thread: str, *, purge: bool = False) -> None:
        """Free what no state of a thread needs."""
        cursor = self._cursor(db, thread)
        self._sweep(db, cursor, purge)
        self._cursors.keep(thread, cursor)

    def _sweep(self, db: sqlite3.Connection, cursor: Cursor, purge: bool) -> None:
        manifests = [decode(data) for _, data in tables.states(db, cursor.number)]
        cursor.states, cursor.dropped = len(manifests), 0
        if not manifests:
            tables.remove_all(db, cursor.number)
            cursor.base, cursor.ends, cursor.open = None, [0, 0, 0], [[], [], []]
            cursor.loose = cursor.loose_bytes = 0
            return
        if purge:
            logs.flush(db, cursor)
        for log in LOGS:
            live = union(span for manifest in manifests for span in manifest.ranges(log))
            if logs.sweep(db, cursor.number, log, live, purge):
                cursor.found(log, tables.all_pieces(db, cursor.number, log))

    def drop_thread(self, db: sqlite3.Connection, thread: str) -> None:
        """Let go of everything of a thread."""
        self._cursors.forget(thread)
        number = tables.find_number(db, thread)
        if number is not None:
            tables.remove_all(db, number)
            db.execute("DELETE FROM pack_thread WHERE number = ?", (number,))

    def rolled_back(self, thread: str | None = None) -> None:
        """A transaction failed: forget what was remembered of a thread, or of all."""
        if thread is None:
            self._cursors.clear()
        else:
            self._cursors.forget(thread)

    # reading

    def bundle(self, db: sqlite3.Connection, thread: str, ref: bytes) -> Bundle:
        """A state as stored, with nothing of any other state. Raises KeyError where it is gone."""
        return _bundle(db, thread, ref, only=True)

    def peek(self, db: sqlite3.Connection, thread: str, ref: bytes) -> Bundle:
        """A state to be read at once: whole pieces, which may hold other states' text as well."""
        return _bundle(db, thread, ref, only=False)

    def read(self, db: sqlite3.Connection, thread: str, ref: bytes) -> State:
        """A state, decoded. Raises KeyError where it is gone."""
        manifest = decode(_manifest(db, thread, ref))
        stored = logs.stored(db, int.from_bytes(ref, "big") >> tables.STATE_BITS, manifest)
        return codec.decode(*contents(manifest, Pieces(stored)))

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
            for tail, _ in tables.tails(db, cursor.number, FAN):
                cursor.found_tail(tail)
                cursor.loose = FAN - 1  # how many were saved since is not known: make pieces with the next one
            cursor.states = tables.count_states(db, cursor.number)
            cursor.next_state = tables.next_state(db, cursor.number)
            self._rebase(db, cursor, None)
        return cursor

    def _rebase(self, db: sqlite3.Connection, cursor: Cursor, state: int | None) -> None:
        """Take another state, or the newest, as what the next one is compared with."""
        rebase(db, cursor, state)

    def _copy(self, db: sqlite3.Connection, thread: str, cursor: Cursor, bundle: Bundle) -> Stored:
        """Store a bundle as it is: pieces keep their offsets, nothing is decompressed."""
        manifest, stored = open_bundle(bundle)
        self._cursors.forget(thread)
        size = 0
        for log, rows in stored.items():
            for piece, frame in rows:
                tables.add_piece(db, cursor.number, log, piece, frame)
                size += len(frame) + tables.ROW_BYTES
        state = cursor.number << tables.STATE_BITS
        size += tables.add_state(db, state, encode(replace(manifest, digest=0)))
        return Stored(ref=state.to_bytes(8, "big"), stored_bytes=size)


def _manifest(db: sqlite3.Connection, thread: str, ref: bytes) -> bytes:
    data = tables.manifest(db, int.from_bytes(ref, "big"))
    if data is None:
        raise KeyError(f"{thread}: that state is gone")
    return data


def _bundle(db: sqlite3.Connection, thread: str, ref: bytes, *, only: bool) -> Bundle:
    data = _manifest(db, thread, ref)
    manifest = decode(data)
    stored = logs.stored(db, int.from_bytes(ref, "big") >> tables.STATE_BITS, manifest)
    if only:
        for log, rows in stored.items():
            wanted = Spans(union(manifest.ranges(log)))
            stored[log] = [_only(piece, frame, wanted) for piece, frame in rows]
    return make_bundle(data, stored)


def _only(piece: Piece, frame: bytes, wanted: Spans) -> tuple[Piece, bytes]:
    if wanted.covered(piece) == piece.raw:
        return piece, frame
    return piece, frames.pack(wanted.blanked(piece, frames.unpack(frame)), frames.SMALL)


def _encoded(bundle: Bundle) -> Encoded:
    """A bundle as if it had just been encoded."""
    manifest, stored = open_bundle(bundle)
    messages, fields = contents(manifest, Pieces(stored))
    return Encoded(messages=messages, fields=fields, bytes=manifest.bytes, finished=manifest.finished)
