"""From stored pieces back to a state. Pure: a bundle is read in any thread, without a database."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from turnback.core.models import State
from turnback.core.packs import frames, head
from turnback.core.packs.bundle import Bundle
from turnback.core.packs.manifest import MESSAGES, Manifest, Range, Rope, Value, cut, decode, length
from turnback.core.packs.plan import Piece
from turnback.core.state import codec
from turnback.core.state.codec import Encoded

Frames = Mapping[int, list[tuple[Piece, bytes]]]
"""By log, the stored pieces, ascending."""

_HEAD = struct.Struct("<BQQB")


class Damaged(Exception):
    """What is stored does not fit together: bytes that a state needs are not there."""


class Pieces:
    """The bytes of some pieces of logs, each decompressed when first needed."""

    def __init__(self, stored: Frames) -> None:
        self._stored = stored
        self._starts = {log: [piece.start for piece, _ in rows] for log, rows in stored.items()}
        self._raw: dict[tuple[int, int], bytes] = {}

    def text(self, value: Value) -> bytes:
        """What a rope makes up."""
        return b"".join(self._parts(value.log, value.rope))

    def _parts(self, log: int, rope: Rope) -> Iterable[memoryview | bytes]:
        starts = self._starts.get(log, [])
        for lo, hi in rope:
            at = lo
            index = bisect_right(starts, lo) - 1
            while at < hi:
                if not 0 <= index < len(starts):
                    raise Damaged("a piece is missing")
                raw, start = self._bytes(log, index), starts[index]
                stop = min(hi, start + len(raw))
                if not start <= at < stop:
                    raise Damaged("a piece is missing")
                yield memoryview(raw)[at - start : stop - start] if stop - at < len(raw) else raw
                at = stop
                index += 1

    def _bytes(self, log: int, index: int) -> bytes:
        raw = self._raw.get((log, index))
        if raw is None:
            raw = self._raw[log, index] = frames.unpack(self._stored[log][index][1])
        return raw


def contents(manifest: Manifest, pieces: Pieces) -> tuple[bytes, dict[str, bytes]]:
    """The messages and the other keys of a state, as `Encoded` has them."""
    messages = pieces.text(Value(0, manifest.messages)) + b"]" if manifest.listed else b""
    return messages, head.read(pieces.text(manifest.head), map(pieces.text, manifest.own))


def load(bundle: Bundle) -> State:
    """The state in a bundle. Raises `Damaged`, zstandard.ZstdError or ValueError on a damaged one."""
    content = content_of(bundle)
    return codec.decode(content.messages, content.fields)


def opened(bundle: Bundle) -> Bundle:
    """The same with its content at hand. Raises as `load` where its bytes are damaged; decodes nothing."""
    return replace(bundle, content=content_of(bundle))


def content_of(bundle: Bundle) -> Encoded:
    """The state in a bundle as if it had just been encoded."""
    if bundle.content is not None:
        return bundle.content
    manifest, stored = open_bundle(bundle)
    messages, fields = contents(manifest, Pieces(stored))
    return Encoded(messages=messages, fields=fields, bytes=manifest.bytes, finished=manifest.finished)


def messages_of(bundle: Bundle, start: int = 0) -> bytes:
    """The JSON array of a state's messages without its first `start` bytes, b"" where it has none."""
    manifest, stored = open_bundle(bundle)
    if not manifest.listed:
        return b""
    return Pieces(stored).text(Value(MESSAGES, tuple(cut(manifest.messages, start, 2**63)))) + b"]"


def size_of_messages(bundle: Bundle) -> int:
    """The bytes of that array but for its closing bracket."""
    return length(decode(bundle.parts[0]).messages)


def make_bundle(manifest: bytes, stored: Frames) -> Bundle:
    """A bundle of a stored manifest and the pieces that it needs."""
    decoded = decode(manifest)
    parts = [manifest]
    for log, rows in stored.items():
        parts += [_HEAD.pack(log, piece.start, piece.raw, piece.level) + frame for piece, frame in rows]
    return Bundle(parts=tuple(parts), bytes=decoded.bytes, clean=decoded.finished and not decoded.suspect)


def open_bundle(bundle: Bundle) -> tuple[Manifest, dict[int, list[tuple[Piece, bytes]]]]:
    """The manifest and the pieces of a bundle."""
    stored: dict[int, list[tuple[Piece, bytes]]] = {}
    for part in bundle.parts[1:]:
        log, start, raw, level = _HEAD.unpack_from(part)
        stored.setdefault(log, []).append((Piece(start, raw, level), part[_HEAD.size :]))
    return decode(bundle.parts[0]), stored


class Spans:
    """Sorted ranges of a log that do not overlap, to be asked about pieces."""

    def __init__(self, ranges: list[Range]) -> None:
        self.ranges = ranges
        self._stops = [stop for _, stop in ranges]

    def within(self, piece: Piece) -> Iterator[Range]:
        """What of a piece lies in the ranges."""
        for index in range(bisect_right(self._stops, piece.start), len(self.ranges)):
            lo, hi = self.ranges[index]
            if lo >= piece.stop:
                return
            yield max(lo, piece.start), min(hi, piece.stop)

    def covered(self, piece: Piece) -> int:
        """How many bytes of a piece lie in the ranges."""
        return sum(hi - lo for lo, hi in self.within(piece))

    def blanked(self, piece: Piece, raw: bytes) -> bytes:
        """The bytes of a piece, with zeros for everything outside of the ranges."""
        out = bytearray(len(raw))
        for lo, hi in self.within(piece):
            out[lo - piece.start : hi - piece.start] = raw[lo - piece.start : hi - piece.start]
        return bytes(out)
