"""States as JSON and back, by both paths."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import uuid
from collections import OrderedDict, deque, namedtuple
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, field_serializer

from turnback.core.state import codec, jsontext, plain


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Word(enum.StrEnum):
    YES = "yes"


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - an untyped one is what agents have


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = None


@dataclasses.dataclass(frozen=True)
class Spot:
    x: int
    _hidden: int = 2


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    a: Any = None
    secret: Any = Field(default=None, exclude=True)


class Root(RootModel[list[int]]):
    pass


class Moody(BaseModel):
    a: int = 1

    @field_serializer("a")
    def fail(self, value: int) -> int:
        raise RuntimeError("no")


def read_back(state: dict[str, Any]) -> Any:
    encoded = codec.encode(state)
    return codec.decode(encoded.messages, encoded.fields)


def exact(value: Any) -> Any:
    return plain.to_plain(value)[0]


CONVERTED = [
    (datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=UTC), "2026-03-29T02:30:00.123456+00:00"),
    (datetime(2026, 3, 29, 2, 30, tzinfo=timezone(timedelta(hours=1, seconds=1))), "2026-03-29T02:30:00+01:00:01"),
    (datetime(2026, 3, 29, 2, 30), "2026-03-29T02:30:00"),  # noqa: DTZ001 - agents keep naive ones, too
    (date(2026, 3, 29), "2026-03-29"),
    (time(2, 30, tzinfo=UTC), "02:30:00+00:00"),
    (Decimal("12.340"), "12.340"),
    (Path("/x/y"), "/x/y"),
    (PurePosixPath("a"), "a"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Word.YES, "yes"),
    (Number.ONE, 1),
    (Text("t"), "t"),
    (Whole(7), 7),
    (Real(1.5), 1.5),
    (Real("nan"), None),
    (b"%PDF", {"$bytes": "JVBERg=="}),
    (bytearray(b"%PDF"), {"$bytes": "JVBERg=="}),
    (memoryview(b"%PDF"), {"$bytes": "JVBERg=="}),
    ({3, 1, 2}, [1, 2, 3]),
    ({"b", "a"}, ["a", "b"]),
    ({"b", 1, None, (2,)}, ["b", 1, [2], None]),
    (frozenset({frozenset({2, 1})}), [[1, 2]]),
    ((1, (2,)), [1, [2]]),
    (Pair(1, {2}), [1, [2]]),
    (deque([1]), [1]),
    (OrderedDict(a=1), {"a": 1}),
    (MappingProxyType({"a": {1}}), {"a": [1]}),
    (Point(1, Point(b"")), {"x": 1, "y": {"x": {"$bytes": ""}, "y": None}}),
    (Spot(1), {"x": 1, "_hidden": 2}),
    (Point, {"$object": "type"}),
    (Model(a={1}, secret="s", more=Decimal(1)), {"a": [1], "more": "1"}),
    (Model(a=Model(a=math.inf)), {"a": {"a": None}}),
    (Model(a=SecretStr("s")), {"a": {"$object": "SecretStr"}}),
    (Root([1]), [1]),
    (Moody(), {"a": 1}),
    (object(), {"$object": "object"}),
    (1j, {"$object": "complex"}),
    (math.nan, None),
    (-math.inf, None),
    ({1: "a"}, {"1": "a"}),
    ({None: 1, True: 2, 1.5: 3, (1, "x"): 4}, {"null": 1, "true": 2, "1.5": 3, '[1,"x"]': 4}),
    ({Word.YES: 1}, {"yes": 1}),
    ({Text("k"): 1}, {"k": 1}),
    ({date(2026, 1, 1): 1}, {"2026-01-01": 1}),
    (
        {1: "int", "1": "str", Colour.RED: "enum", "red": "str"},
        {"1 (2)": "int", "1": "str", "red (2)": "enum", "red": "str"},
    ),
    (
        {1: "a", Decimal("1.0"): "b", "1": "c", date(1, 1, 1): "d", "1 (2)": "e"},
        {"1 (3)": "b", "1": "c", "0001-01-01": "d", "1 (2)": "e"},
    ),
]


@pytest.mark.parametrize(("value", "expected"), CONVERTED, ids=lambda value: type(value).__name__)
def test_encode_converts_each_kind_of_value(value: Any, expected: Any) -> None:
    assert read_back({"v": value, "messages": [{"v": value}]}) == {"v": expected, "messages": [{"v": expected}]}
    assert repr(read_back({"v": value})["v"]) == repr(expected)


@pytest.mark.parametrize(("value", "expected"), CONVERTED, ids=lambda value: type(value).__name__)
def test_exact_path_converts_like_the_fast_one(value: Any, expected: Any) -> None:
    assert repr(exact(value)) == repr(expected)


@pytest.mark.parametrize(
    "value",
    [10**19, -(2**63) - 1, 2**64, -(10**30), 10**5000, -(10**10000) + 1, 2**63, 2**64 - 1],
    ids=lambda value: f"{value.bit_length()} bits",
)
def test_integers_of_any_size_read_back_equal(value: int) -> None:
    state = {"n": value, "messages": [{"n": value}, {"n": 1}]}
    assert read_back(state) == state


TEXTS = ["report \udc88 end", "ok \ud83d", "nul \x00 \x1f", "🙂", "\u2028", 'q"\\']


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_odd_texts_read_back_equal_as_values_and_keys(text: str) -> None:
    state = {"t": text, text: {text: 1}, '"quoted': 1, "messages": [{text: text, "role": "tool"}, {"a": text}]}
    assert read_back(state) == state
    assert all(name.encode() for name in codec.encode(state).fields)


def test_encode_tells_the_size_as_compact_json() -> None:
    states: list[dict[str, Any]] = [
        {},
        {"a": 1},
        {"messages": []},
        {"messages": [1, "é"], "é": {"x": [1, 2]}, "b": None},
    ]
    for state in states:
        assert codec.encode(state).bytes == len(orjson.dumps(state))


def test_encode_tells_the_size_of_what_orjson_refuses() -> None:
    state = {"n": 10**30, "k": "\udc88", "messages": ["\udc88", 10**20]}
    assert codec.encode(state).bytes == len(json.dumps(state, separators=(",", ":")))


@pytest.mark.parametrize("messages", [None, "text", {"a": 1}, 5])
def test_messages_that_are_no_list_are_a_field(messages: Any) -> None:
    encoded = codec.encode({"messages": messages})
    assert encoded.messages == b""
    assert codec.decode(encoded.messages, encoded.fields) == {"messages": messages}


def test_no_messages_read_back_as_none_at_all() -> None:
    assert read_back({"a": 1}) == {"a": 1}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [200, 254, 255, 300, 499])
def test_nesting_up_to_the_limit_reads_back_equal(levels: int) -> None:
    state = {"v": nested(levels)}
    encoded = codec.encode(state)
    assert not encoded.truncated
    assert encoded.fields["v"] == b"[" * levels + b"]" * levels
    assert read_back(state)["v"] == state["v"]


@pytest.mark.parametrize("levels", [500, 900, 2000, 200_000])
def test_deeper_nesting_is_cut_with_a_marker(levels: int) -> None:
    encoded = codec.encode({"messages": [], "v": nested(levels)})
    assert encoded.truncated
    assert encoded.fields["v"].strip(b"[]") == orjson.dumps(plain.TOO_DEEP)
    assert encoded.fields["v"].count(b"[") == 500 - 1 + plain.TOO_DEEP.count("[")


def test_deep_models_are_cut_too() -> None:
    value = Point(None)
    for _ in range(2000):
        value = Point(value)
    assert codec.encode({"v": value}).truncated


@pytest.mark.parametrize("kind", ["list", "dict", "object", "model", "in a set"])
def test_cycles_are_cut_with_a_marker(kind: str) -> None:
    ring: Any = {"list": [], "dict": {}, "object": Point(1), "model": Model(), "in a set": None}[kind]
    if kind == "list":
        ring.append(ring)
    elif kind == "dict":
        ring["self"] = ring
    elif kind == "object":
        ring.y = [ring]
    elif kind == "model":
        ring.a = ring
    else:
        held: list[Any] = []

        @dataclasses.dataclass(eq=False)
        class Hashable:
            inside: Any

        ring = {Hashable(held), 1}
        held.append(ring)
    encoded = codec.encode({"v": ring, "rest": 1})
    assert encoded.truncated
    assert plain.CYCLE.encode() in encoded.fields["v"]
    assert encoded.fields["rest"] == b"1"


def test_a_value_held_twice_is_no_cycle() -> None:
    shared = {"n": 10**30}
    encoded = codec.encode({"v": [shared, shared]})
    assert not encoded.truncated
    assert read_back({"v": [shared, shared]}) == {"v": [shared, shared]}


def test_a_state_may_be_a_mapping_or_a_model() -> None:
    for state in (OrderedDict(a={1}), MappingProxyType({"a": (1,)}), Model(a=[1]), {Text("a"): [1]}):
        encoded = codec.encode(state)  # type: ignore[arg-type]
        assert codec.decode(encoded.messages, encoded.fields) == {"a": [1]}


@pytest.mark.parametrize("state", [None, [], "text", 1])
def test_encode_refuses_a_state_that_is_no_object(state: Any) -> None:
    with pytest.raises(codec.NotEncodable):
        codec.encode(state)


def test_encode_refuses_what_fails_while_it_is_read() -> None:
    class Evil(dict[str, Any]):
        def items(self) -> Any:
            raise OSError("gone")

    class Holder(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise OSError("gone")

        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            return iter("a")

    for state in (Evil(), {"a": Holder()}, {"messages": [Holder()]}):
        with pytest.raises(codec.NotEncodable):
            codec.encode(state)


@pytest.mark.parametrize(
    "later", [{"t": "\udc88"}, {"n": 10**30}, {1: 2}, {"v": nested(300)}, {"v": nested(700)}, {"b": b""}, {"s": {1}}]
)
def test_a_later_message_changes_no_byte_of_earlier_ones(later: Any) -> None:
    earlier = [
        {"content": "é🙂", "f": 1e22, "g": 1.0},
        {"when": date(2026, 1, 1)},
        {"n": 10**25},
        {"deep": nested(253)},
    ]
    for count in range(len(earlier)):
        before = codec.encode({"messages": earlier[:count]}).messages
        after = codec.encode({"messages": [*earlier[:count], later]}).messages
        assert after.startswith(before[:-1])


def test_encode_plain_gives_the_same_state_if_it_is_plain() -> None:
    state = {"messages": [{"role": "user", "content": "x"}], "n": 1.5}
    assert codec.encode_plain(state)[1] is state


def test_encode_plain_gives_plain_values_of_others() -> None:
    assert codec.encode_plain({"messages": [Point(1)]})[1] == {"messages": [{"x": 1, "y": None}]}


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.text(st.characters(categories=["Cs", "L"]))
)
odd = (
    st.datetimes()
    | st.dates()
    | st.times()
    | st.decimals()
    | st.binary()
    | st.uuids()
    | st.sampled_from([Colour.RED, Colour.PAIR, Word.YES, Number.ONE, object()])
    | st.builds(Text, st.text())
    | st.builds(Whole, st.integers())
)
hashable = (
    st.none() | st.booleans() | st.integers() | st.text() | st.dates() | st.sampled_from(list(Word)) | st.floats()
)
keys = st.text() | hashable


def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(children, max_size=4)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.text(), children, max_size=4)
        | st.dictionaries(keys, children, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.builds(Point, children, children)
        | st.builds(Model, a=children)
    )


values = st.recursive(scalars | odd, containers, max_leaves=12)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=20,
)


@given(values)
@settings(deadline=None)
def test_both_paths_convert_alike_wherever_the_fast_one_works(value: Any) -> None:
    fast = codec._Writer().fast(value)
    slow, cut = plain.to_plain(value)
    if fast is not None:
        assert not cut
        assert fast == orjson.dumps(slow)


@given(values)
@settings(deadline=None)
def test_any_value_is_encoded_and_reads_back_the_same_twice(value: Any) -> None:
    once = read_back({"v": value, "messages": [value]})
    assert repr(read_back(once)) == repr(once)


@given(st.dictionaries(st.text(st.characters()), plain_values, max_size=5), st.lists(plain_values, max_size=4))
@settings(deadline=None)
def test_json_values_read_back_equal(fields: dict[str, Any], messages: list[Any]) -> None:
    state = {**fields, "messages": messages}
    result = read_back(state)
    assert repr(sorted(result.items(), key=repr)) == repr(sorted(state.items(), key=repr))


@given(plain_values)
@settings(deadline=None)
def test_loads_reads_what_dumps_and_others_wrote(value: Any) -> None:
    assert repr(codec.loads(codec.dumps(value))) == repr(value)
    assert repr(codec.loads(json.dumps(value))) == repr(value)


@given(plain_values)
@settings(deadline=None)
def test_own_text_is_json(value: Any) -> None:
    assert repr(json.loads(jsontext.write(value))) == repr(value)
