"""Two states side by side."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnback.core.state import codec
from turnback.core.state.compare import compare
from turnback.core.state.patch import diff


def tokens(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def apply(document: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, its strict reading."""
    holder = [copy.deepcopy(document)]
    for operation in operations:
        target: Any = holder
        *path, last = ["0", *tokens(operation["path"])]
        for part in path:
            target = target[int(part)] if isinstance(target, list) else target[part]
        key: Any = int(last) if isinstance(target, list) else last
        if operation["op"] == "remove":
            del target[key]
        elif operation["op"] == "add" and isinstance(target, list):
            assert key <= len(target)
            target.insert(key, operation["value"])
        else:
            assert operation["op"] == "add" or key in target or isinstance(target, list)
            target[key] = operation["value"]
    return holder[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 1.5, 2**70, "", "a", "~/", "\udc88"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "", "~", "/", "~1", "0", "-"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(json_values, json_values)
@settings(deadline=None)
def test_patch_applied_to_a_gives_b(a: Any, b: Any) -> None:
    assert codec.canonical(apply(a, diff(a, b))) == codec.canonical(b)


@given(json_values)
@settings(deadline=None)
def test_patch_between_equals_is_empty(a: Any) -> None:
    assert diff(a, copy.deepcopy(a)) == []


@pytest.mark.parametrize(
    ("a", "b", "operations"),
    [
        ({"x": 1}, {"x": 2}, [{"op": "replace", "path": "/x", "value": 2}]),
        ({"x": 1}, {"x": True}, [{"op": "replace", "path": "/x", "value": True}]),
        (
            {"a/b": 1, "c~": 1},
            {"a/b": 2},
            [{"op": "remove", "path": "/c~0"}, {"op": "replace", "path": "/a~1b", "value": 2}],
        ),
        ([1, 2, 3], [1, 9, 2, 3], [{"op": "add", "path": "/1", "value": 9}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
        ([{"t": 1}, {"t": 2}], [{"t": 1}, {"t": 3}], [{"op": "replace", "path": "/1/t", "value": 3}]),
        ([1], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}, {"op": "add", "path": "/2", "value": 3}]),
        ({"x": [1]}, {"x": None}, [{"op": "replace", "path": "/x", "value": None}]),
    ],
)
def test_patch_is_small(a: Any, b: Any, operations: list[Any]) -> None:
    assert diff(a, b) == operations


def test_compare_tells_the_common_beginning_and_what_only_one_has(form: Any) -> None:
    begin = [form.ask("hi"), form.call(["a"]), *form.result(["a"])]
    result = compare(
        {"messages": [*begin, form.ask("left")]}, {"messages": [*begin, form.call(["b"]), *form.result(["b"])]}
    )
    assert result["common_messages"] == 3
    assert [entry["text"] for entry in result["only_a"]] == ["left"]
    assert result["only_b"][0]["tool_calls"] == [{"name": "tb", "args": {"x": 1}}]
    assert result["only_b"][1]["tool_result"] == "result b"
    assert result["changes"] == []
    assert not result["identical"]


def test_compare_counts_readable_messages_in_common() -> None:
    parts = [{"part_kind": "system-prompt", "content": "s"}, {"part_kind": "user-prompt", "content": "u"}]
    state = {"messages": [{"kind": "request", "parts": parts}]}
    assert compare(state, state)["common_messages"] == 2


def test_compare_gives_a_patch_of_all_keys_but_the_messages() -> None:
    a = {"messages": [1], "plan": ["x"], "old": 1}
    b = {"messages": [2], "plan": ["x", "y"], "new": "\udc88"}
    assert compare(a, b)["changes"] == [
        {"op": "remove", "path": "/old"},
        {"op": "add", "path": "/new", "value": "\ufffd"},
        {"op": "add", "path": "/plan/1", "value": "y"},
    ]


@given(
    st.dictionaries(st.sampled_from(["plan", "a", "messages"]), json_values),
    st.dictionaries(st.sampled_from(["plan", "a", "messages"]), json_values),
)
@settings(deadline=None)
def test_compare_is_identical_exactly_when_nothing_differs(a: dict[str, Any], b: dict[str, Any]) -> None:
    result = compare(a, b)
    messages = [state.get("messages") for state in (a, b)]
    same_messages = codec.canonical(messages[0]) == codec.canonical(messages[1])
    assert result["identical"] == (codec.canonical(a) == codec.canonical(b))
    if result["identical"]:
        assert [result["only_a"], result["only_b"], result["changes"]] == [[], [], []]
    elif same_messages:
        assert result["changes"]


def test_nan_equals_nan_and_order_of_keys_is_no_difference() -> None:
    a = {"x": math.nan, "y": {"b": 1, "a": 10**30}, "messages": [{"mean": math.inf, "z": 1}]}
    b = {"messages": [{"z": 1, "mean": None}], "y": {"a": 10**30, "b": 1}, "x": None}
    result = compare(a, b)
    assert result["identical"]
    assert result["changes"] == []
    assert result["common_messages"] == 1


def test_compare_tells_what_both_cost() -> None:
    a = {"cost": {"usd": 0.1, "tokens": {"in": 5}, "currency": "USD", "ok": True}}
    b = {"cost": {"usd": 0.3, "tokens": {"in": 7, "out": 1}}}
    assert compare(a, b)["cost"] == {
        "a": {"usd": 0.1, "tokens.in": 5},
        "b": {"usd": 0.3, "tokens.in": 7, "tokens.out": 1},
        "delta": {"usd": 0.2, "tokens.in": 2, "tokens.out": 1},
    }


@pytest.mark.parametrize("cost", [None, "much", [], {}, math.nan, {"usd": math.inf}])
def test_odd_costs_are_none(cost: Any) -> None:
    assert compare({"cost": cost}, {})["cost"] == {"a": {}, "b": {}, "delta": {}}
