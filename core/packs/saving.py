"""One state being stored: what of it is new, and which old ranges make up the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import xxhash

from turnback.core.packs import head, logs
from turnback.core.packs.cursor import Base, Cursor
from turnback.core.packs.delta import matches
from turnback.core.packs.log import Pieces
from turnback.core.packs.manifest import (
    BIG,
    FIELDS,
    LOGS,
    MESSAGES,
    Manifest,
    Range,
    Rope,
    Value,
    cut,
    decode,
    encode,
    join,
    length,
)
from turnback.core.state import codec
from turnback.core.state.codec import Encoded

BIG_FROM = 16 * 1024
"""Values of this many bytes have a log of their own."""

COMPARE_FROM = 1536
"""Values of this many bytes are compared with their last version when they change."""

SHARED = {MESSAGES: 4096, FIELDS: 128, BIG: 1024}
"""The shortest stretch of an old version that a new one refers to rather than repeating it."""

NEAR = 32 * 1024
"""A small value is written again when it was last written so far back: it keeps reads local, and old pieces mortal."""

MOST_RANGES = {MESSAGES: 8, FIELDS: 6, BIG: 256}
"""A rope of more ranges is made shorter: many small ranges are slow to read and to write down."""

CANDIDATES = 64
"""How many of the newest states are looked at for the beginning of one that does not follow the last."""

States = Callable[[sqlite3.Connection, int, int], list[bytes]]
"""The references of a thread's kept states by its number, newest first, at most so many (all: -1)."""

MARGIN = 96
"""Bytes around new ones that are looked at too when searching for what must not be copied elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored state.

    `ref` is its manifest, by which it is found again: whoever keeps the state keeps that. `number` is the
    thread's, `stored_bytes` is what the state added beside it, `grown` by how much the counters of the file grew,
    None where that has to be looked up.
    """

    ref: bytes
    number: int
    stored_bytes: int
    grown: int | None


class Saving:
    """One state being stored."""

    def __init__(
        self, db: sqlite3.Connection, thread: str, cursor: Cursor, content: Encoded, seed: int, states: States
    ) -> None:
        self._db, self._thread, self._cursor, self._content, self._seed = db, thread, cursor, content, seed
        self._states = states
        self._hashing = xxhash.xxh3_64(seed=seed)
        self._new: list[list[bytes]] = [[], [], []]
        self._at = list(cursor.ends)
        self._checked: list[bytes] = []

    def save(self, suspects: Callable[[bytes, str], bool]) -> Stored:
        content, cursor = self._content, self._cursor
        messages = self._messages()
        base = cursor.base
        keys = tuple(content.fields)
        if base is None or base.keys != keys:
            self._checked += [codec.dumps(key) + b":" for key in keys]
        text, own = head.write(content.fields)
        old = base.own if base else {}
        manifest = Manifest(
            bytes=content.bytes,
            finished=content.finished and not content.truncated,
            listed=bool(content.messages),
            digest=self._hashing.intdigest() or 1,
            messages=messages,
            head=self._value(text, (base.head, base.manifest.head) if base else None),
            own=tuple([self._value(value, old.get(key)) for key, value in own.items()]),
            suspect=bool(base and base.manifest.suspect) or suspects(b"\n".join(self._checked), self._thread),
        )
        cursor.pieces_made = False
        size, grown = logs.append(self._db, cursor, [b"".join(parts) for parts in self._new])
        ref = encode(manifest)
        cursor.states += 1
        cursor.base = make_base(ref, manifest, keys, text, own)
        cursor.base.hashing, cursor.base.proof = self._hashing, content.proof
        logs.settle(self._db, cursor)
        return Stored(ref=ref, number=cursor.number, stored_bytes=size, grown=None if cursor.pieces_made else grown)

    # messages

    def _messages(self) -> Rope:
        """The rope of the messages; hashes them, and chooses the base, too."""
        text = self._content.messages
        body = memoryview(text)[:-1]
        base = self._cursor.base
        if base is not None:
            size = length(base.manifest.messages)
            if self._begins_with(base, body, size):
                self._hashing.update(body[size:])
                return self._grown(base.manifest, text, size)
        self._hashing = xxhash.xxh3_64(body, seed=self._seed)
        other = None if base is None else self._candidate(body)
        if other is None:
            return self._compared(text, base)
        rebase(self._db, self._cursor, other[0])
        return self._grown(other[1], text, length(other[1].messages))

    def _begins_with(self, base: Base, body: memoryview, size: int) -> bool:
        """Whether the messages begin with all of the base's, which are hashed then."""
        proof = self._content.proof
        if base.hashing is not None and base.proof and proof and proof.beginning == base.proof.whole:
            self._hashing = base.hashing.copy()
            return True
        if not base.manifest.digest or size > len(body):
            return False
        self._hashing.update(body[:size])
        return (self._hashing.intdigest() or 1) == base.manifest.digest

    def _grown(self, manifest: Manifest, text: bytes, size: int) -> Rope:
        """The rope of a known beginning and what follows it."""
        stop = len(text) - 1
        if size >= stop:
            return manifest.messages
        self._look(text, size, stop)
        return join([*manifest.messages, self._add(MESSAGES, text[size:stop])])

    def _compared(self, text: bytes, base: Base | None) -> Rope:
        body = text[:-1]
        if base is None or not base.manifest.messages or not body:
            self._look(body, 0, len(body))
            return join([self._add(MESSAGES, body)])
        value = Value(MESSAGES, base.manifest.messages)
        old = Pieces(logs.stored(self._db, self._cursor.number, base.manifest, [MESSAGES])).text(value)
        return self._spliced(old, body, value).rope

    def _candidate(self, view: memoryview) -> tuple[bytes, Manifest] | None:
        """An older state whose messages are the beginning, and most, of the new ones."""
        known: list[tuple[int, bytes, Manifest]] = []
        for ref in self._states(self._db, self._cursor.number, CANDIDATES):
            manifest = decode(ref)
            size = length(manifest.messages)
            if manifest.digest and len(view) // 2 <= size <= len(view):
                known.insert(0, (size, ref, manifest))
        hashing, done, best = xxhash.xxh3_64(seed=self._seed), 0, None
        for size, ref, manifest in sorted(known, key=lambda entry: entry[0]):
            hashing.update(view[done:size])
            done = size
            if (hashing.intdigest() or 1) == manifest.digest:
                best = ref, manifest
        return best

    # other values

    def _value(self, text: bytes, last: tuple[bytes, Value] | None) -> Value:
        log = BIG if len(text) >= BIG_FROM else FIELDS
        if last is not None and last[1].log == log:
            before, old = last
            if text == before:
                if log == BIG or self._at[log] - old.rope[0][0] <= max(NEAR, 8 * len(text)):
                    return old
            elif len(text) >= COMPARE_FROM <= len(before):
                return self._spliced(before, text, old)
        self._checked.append(text)
        return Value(log, (self._add(log, text),))

    def _spliced(self, before: bytes, text: bytes, old: Value) -> Value:
        """A rope of what is the same as before and of what is new."""
        log = old.log
        ranges: list[Range] = []
        at = 0
        for was, now, size in matches(before, text, SHARED[log]):
            if now > at:
                self._look(text, at, now)
                ranges.append(self._add(log, text[at:now]))
            ranges += cut(old.rope, was, was + size)
            at = now + size
        if at < len(text):
            self._look(text, at, len(text))
            ranges.append(self._add(log, text[at:]))
        rope = join(ranges)
        return Value(log, rope if len(rope) <= MOST_RANGES[log] else self._fewer(log, text, rope))

    def _fewer(self, log: int, text: bytes, rope: Rope) -> Rope:
        """A rope of half as many ranges: those neighbours that are smallest together are written again."""
        count = len(rope) - MOST_RANGES[log] // 2 + 1
        at = list(accumulate((hi - lo for lo, hi in rope), initial=0))
        first = min(range(len(rope) - count + 1), key=lambda n: at[n + count] - at[n])
        again = self._add(log, text[at[first] : at[first + count]])
        return join([*rope[:first], again, *rope[first + count :]])

    # the logs

    def _add(self, log: int, data: bytes) -> Range:
        start = self._at[log]
        if data:
            self._new[log].append(data)
            self._at[log] += len(data)
        return start, self._at[log]

    def _look(self, text: bytes, start: int, stop: int) -> None:
        """Have a new stretch checked, with enough around it that no word is cut."""
        self._checked.append(text[max(0, start - MARGIN) : stop + MARGIN])


def rebase(db: sqlite3.Connection, cursor: Cursor, ref: bytes) -> None:
    """Make a state the base of a cursor."""
    manifest = decode(ref)
    cursor.fits([manifest.ranges(log) for log in LOGS])
    parts = Pieces(logs.stored(db, cursor.number, manifest, [FIELDS, BIG]))
    text = parts.text(manifest.head)
    own = [parts.text(value) for value in manifest.own]
    fields = head.read(text, iter(own))
    named = dict(zip([key for key, value in fields.items() if len(value) >= head.OWN_FROM], own, strict=True))
    cursor.base = make_base(ref, manifest, tuple(fields), text, named)


def make_base(ref: bytes, manifest: Manifest, keys: tuple[str, ...], text: bytes, own: dict[str, bytes]) -> Base:
    values = {key: (value, where) for (key, value), where in zip(own.items(), manifest.own, strict=True)}
    return Base(ref, manifest, keys, text, values)
