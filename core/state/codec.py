"""States as JSON bytes and back.

The fast path is one `orjson.dumps`. What orjson refuses (integers over 64 bits, lone surrogates, keys
that are not strings, deep nesting, cycles) takes the exact path: `plain` turns the value into plain JSON
values without recursing, and `jsontext` writes them. Both paths convert alike (`plain.convert`).

Messages are written one after the other, each on its own terms, so that a longer conversation's array
begins with the bytes of the shorter one's. A value that only `jsontext` can read back begins with a
newline: orjson never writes one, and looking for it costs next to nothing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from turnback.core.models import State
from turnback.core.state import jsontext, plain

_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_MARK = b"\n"
_STR = frozenset({str})
_NAMES = 1024
_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))


class NotEncodable(Exception):
    """This state cannot be written as JSON."""


class Proof(NamedTuple):
    """What an array of messages was hashed to, with a key that this process keeps to itself.

    `whole` is how many bytes it has but for the closing bracket, and their hash; `beginning` the same of an
    earlier array that it begins with.
    """

    whole: tuple[int, int]
    beginning: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A state, encoded once before the first await, for every store that keeps it.

    `messages` is a JSON array, b"" if the state's messages are no list; `fields` are all other keys in
    their order, JSON each, under names that are valid UTF-8 (`field_name`). `bytes` is the size of the
    whole state as compact JSON. `proof` saves hashing the messages again, where they are many.
    """

    messages: bytes
    fields: Mapping[str, bytes]
    bytes: int
    message_count: int = 0
    truncated: bool = False
    finished: bool = True
    proof: Proof | None = None


def encode(state: Mapping[str, Any]) -> Encoded:
    """The state as JSON; counts no messages and finishes nothing (`prepare` does).

    Raises NotEncodable.
    """
    return encode_plain(state)[0]


def encode_plain(state: Mapping[str, Any]) -> tuple[Encoded, State]:
    """The state as JSON, and as plain JSON values: the same object if it held nothing else.

    Raises NotEncodable.
    """
    try:
        return _encode(state)
    except Exception as error:  # converting runs foreign code (properties, iterators), which may raise anything
        raise NotEncodable(f"{type(error).__name__} while encoding the state") from error


def decode(messages: bytes, fields: Mapping[str, bytes]) -> State:
    """The state that `encode` wrote."""
    state: State = {field_key(name): _read(data) for name, data in fields.items()}
    if messages:
        state["messages"] = _read(messages)
    return state


def dumps(value: Any) -> bytes:
    """Any value as compact JSON, by the same rules as a state."""
    return _Writer().value(value, 0)


def loads(data: bytes | str) -> Any:
    """JSON as values, from `dumps` or from anywhere; integers of any size stay exact.

    Raises ValueError.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _MARK in raw or b"0" * 20 in raw.translate(_DIGITS) or b"\\ud" in raw or b"\\uD" in raw:
        return jsontext.read(raw)
    return orjson.loads(raw)


def text_size(text: str) -> int:
    """How many bytes a text takes as JSON."""
    try:
        return len(orjson.dumps(text))
    except TypeError:  # a lone surrogate
        return len(jsontext.write(text))


def field_name(key: str) -> str:
    """A state's key as valid UTF-8: itself, or its JSON form where that is not possible."""
    if key.startswith('"'):
        return json.dumps(key)
    try:
        key.encode()
    except UnicodeEncodeError:
        return json.dumps(key)
    return key


def field_key(name: str) -> str:
    """The state's key for a field's name."""
    return str(json.loads(name)) if name.startswith('"') else name


def canonical(value: Any) -> bytes:
    """Plain JSON values as bytes that are equal when the values are, whatever the order of keys."""
    try:
        return orjson.dumps(value, option=_OPTIONS | orjson.OPT_SORT_KEYS)
    except TypeError:
        return jsontext.write(value, sort_keys=True).encode()


class _Writer:
    """Writes values, and remembers whether they were plain JSON and whether anything was cut."""

    def __init__(self) -> None:
        self.plain = True
        self.cut = False
        self.marks = 0

    def _convert(self, value: Any) -> Any:
        self.plain = False
        return plain.convert(value)

    def fast(self, value: Any) -> bytes | None:
        """By orjson alone; None where it refuses."""
        try:
            return orjson.dumps(value, default=self._convert, option=_OPTIONS)
        except TypeError:  # orjson.JSONEncodeError, for all that it refuses
            return None

    def value(self, value: Any, depth: int) -> bytes:
        return self.fast(value) or self._exact(value, depth)

    def messages(self, messages: list[Any] | tuple[Any, ...], depth: int) -> bytes:
        whole = self.fast(messages)
        if whole is not None:
            return whole
        return b"[" + b",".join([self.value(message, depth + 1) for message in messages]) + b"]"

    def _exact(self, value: Any, depth: int) -> bytes:
        self.plain = False
        values, cut = plain.to_plain(value, depth)
        self.cut = self.cut or cut
        data = self.fast(values)
        if data is not None:
            return data
        text, exotic = jsontext.write_marked(values)
        self.marks += exotic
        return (_MARK if exotic else b"") + text.encode()


def _encode(state: Any) -> tuple[Encoded, State]:
    if not isinstance(state, Mapping):
        if not plain.is_record(state):
            raise TypeError("a state is an object")
        state = plain.convert(state)
    if type(state) is not dict or not _STR.issuperset(map(type, state)):
        state = plain.string_keys(state)
    writer = _Writer()
    messages = state.get("messages")
    listed = isinstance(messages, list | tuple)
    encoded = writer.messages(messages, 1) if listed else b""
    size = len(encoded) + len(b'"messages":,') if listed else 0
    fields = {}
    for key, value in state.items():
        if not (listed and key == "messages"):
            name, length = _named(key)
            fields[name] = data = writer.value(value, 1)
            size += length + len(data)
    # there are two braces, and one comma less
    result = Encoded(messages=encoded, fields=fields, bytes=(size or 1) + 1 - writer.marks, truncated=writer.cut)
    return result, state if writer.plain else decode(encoded, fields)


@functools.lru_cache(_NAMES)
def _named(key: str) -> tuple[str, int]:
    """A key's field name, and the bytes that it takes in a JSON object: itself, a colon and a comma."""
    name = field_name(key)
    return name, 2 + (len(name) if name.startswith('"') else len(orjson.dumps(name)))


def _read(data: bytes) -> Any:
    return jsontext.read(data) if _MARK in data else orjson.loads(data)
