"""One state being stored: what of it is new, and which old ranges make up the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import xxhash

from turnback.core.packs import head, logs, tables
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

MARGIN = 96
"""Bytes around new ones that are looked at too when searching for what must not be copied elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored state: what to remember it by, and the bytes that it added to the file."""

    ref: bytes
    stored_bytes: int


class Saving:
    """One state being stored."""

    def __init__(self, db: sqlite3.Connection, thread: str, cursor: Cursor, content: Encoded, seed: int) -> None:
        self._db, self._thread, self._cursor, self._content, self._seed = db, thread, cursor, content, seed
        self._new: list[list[bytes]] = [[], [], []]
        self._at = list(cursor.ends)
        self._checked: list[bytes] = []

    def save(self, suspects: Callable[[bytes, str], bool]) -> Stored:
        content, cursor = self._content, self._cursor
        digest, messages = self._messages()
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
            digest=digest,
            messages=messages,
            head=self._value(text, (base.head, base.manifest.head) if base else None),
            own=tuple([self._value(value, old.get(key)) for key, value in own.items()]),
            suspect=bool(base and base.manifest.suspect) or suspects(b"\n".join(self._checked), self._thread),
        )
        size, tail = logs.append(self._db, cursor, [b"".join(parts) for parts in self._new])
        state = cursor.number << tables.STATE_BITS | cursor.next_state
        size += tables.add_state(self._db, state, encode(manifest), tail)
        cursor.next_state += 1
        cursor.states += 1
        cursor.base = make_base(state, manifest, keys, text, own)
        logs.settle(self._db, cursor)
        return Stored(ref=state.to_bytes(8, "big"), stored_bytes=size)

    # messages

    def _messages(self) -> tuple[int, Rope]:
        """The hash and the rope of the messages; chooses the base, too."""
        text = self._content.messages
        body = memoryview(text)[:-1]
        base = self._cursor.base
        if base is not None:
            size = length(base.manifest.messages)
            hashing = xxhash.xxh3_64(seed=self._seed)
            if base.manifest.digest and size <= len(body):
                hashing.update(body[:size])
                if (hashing.intdigest() or 1) == base.manifest.digest:
                    hashing.update(body[size:])
                    return hashing.intdigest() or 1, self._grown(base.manifest, text, size)
            other = self._candidate(body)
            if other is not None:
                rebase(self._db, self._cursor, other[0])
                return _digest(body, self._seed), self._grown(other[1], text, length(other[1].messages))
        return _digest(body, self._seed), self._compared(text, base)

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

    def _candidate(self, view: memoryview) -> tuple[int, Manifest] | None:
        """An older state whose messages are the beginning, and most, of the new ones."""
        known = []
        for state, data in tables.states(self._db, self._cursor.number, CANDIDATES):
            manifest = decode(data)
            size = length(manifest.messages)
            if manifest.digest and len(view) // 2 <= size <= len(view):
                known.append((size, state, manifest))
        hashing, done, best = xxhash.xxh3_64(seed=self._seed), 0, None
        for size, state, manifest in sorted(known, key=lambda entry: entry[:2]):
            hashing.update(view[done:size])
            done = size
            if (hashing.intdigest() or 1) == manifest.digest:
                best = state, manifest
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


def rebase(db: sqlite3.Connection, cursor: Cursor, state: int | None) -> None:
    """Make a state, or the newest, the base of a cursor."""
    if state is None:
        newest = tables.states(db, cursor.number, 1)
        if not newest:
            cursor.base = None
            return
        state, data = newest[0]
    else:
        data = tables.manifest(db, state) or b""
    manifest = decode(data)
    cursor.fits([manifest.ranges(log) for log in LOGS])
    parts = Pieces(logs.stored(db, cursor.number, manifest, [FIELDS, BIG]))
    text = parts.text(manifest.head)
    own = [parts.text(value) for value in manifest.own]
    fields = head.read(text, iter(own))
    named = dict(zip([key for key, value in fields.items() if len(value) >= head.OWN_FROM], own, strict=True))
    cursor.base = make_base(state, manifest, tuple(fields), text, named)


def make_base(state: int, manifest: Manifest, keys: tuple[str, ...], text: bytes, own: dict[str, bytes]) -> Base:
    values = {key: (value, where) for (key, value), where in zip(own.items(), manifest.own, strict=True)}
    return Base(state, manifest, keys, text, values)


def _digest(view: memoryview, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(view, seed=seed) or 1
