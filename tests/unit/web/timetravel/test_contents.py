"""Messages and states, bounded and harmless."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnback.web.timetravel.contents import (
    ARGUMENT_SHOWN,
    KEY_SHOWN,
    MESSAGES_SHOWN,
    PAGE_SHOWN,
    STATE_SHOWN,
    TEXT_SHOWN,
    json_text,
    read_message,
    read_messages,
    read_state,
)


def message(role: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {"role": role, "text": text, "tool_calls": [], "tool_result": None, **more}


TALK = [message("user", "one"), message("assistant", "1"), message("user", "two"), message("assistant", "2")]


def test_messages_of_the_last_turn_come_first() -> None:
    page = read_messages(TALK, None)
    assert [m.text for m in page.shown] == ["two", "2"]
    assert (page.first, page.total, page.whole_turn) == (2, 4, True)


def test_all_messages_come_in_pages() -> None:
    many = TALK * MESSAGES_SHOWN
    page = read_messages(many, 10)
    assert (page.first, page.after, len(page.shown)) == (10, 10 + MESSAGES_SHOWN, MESSAGES_SHOWN)


@pytest.mark.parametrize("start", [-5, 10**9])
def test_a_page_beyond_the_ends_is_the_nearest(start: int) -> None:
    assert read_messages(TALK, start).shown


def test_no_messages_are_no_messages() -> None:
    assert read_messages([], None).shown == ()
    assert read_messages([], 3).shown == ()


def test_long_texts_are_cut_and_counted() -> None:
    shown = read_message(message("user", "x" * (TEXT_SHOWN + 7)))
    assert (len(shown.text), shown.rest) == (TEXT_SHOWN, 7)


def test_what_was_cut_at_saving_is_marked() -> None:
    assert read_message(message("tool", tool_result="abc… [cut: 900 characters]")).cut
    assert not read_message(message("tool", tool_result="not cut")).cut


def test_calls_show_their_arguments() -> None:
    call = {"name": "write_file", "args": {"path": "a.txt", "text": "y" * 9000, "deep": {"a": [1]}}}
    shown = read_message(message("assistant", tool_calls=[call])).calls[0]
    assert shown.args[0] == ("path", "a.txt")
    assert len(shown.args[1][1]) <= ARGUMENT_SHOWN + 2
    assert shown.args[2] == ("deep", '{"a":[1]}')


@pytest.mark.parametrize("args", [None, "", [], "plain", [1, 2], 7])
def test_odd_arguments_are_shown_somehow(args: Any) -> None:
    shown = read_message(message("assistant", tool_calls=[{"name": "t", "args": args}])).calls[0]
    assert [value for _, value in shown.args] == ([] if args in (None, "", []) else [shown.args[0][1]])


def test_texts_cannot_turn_lines_around() -> None:
    shown = read_message(message("user", "abc\u202ecba\u2066\x1b[31m\nnext\tword"))
    assert shown.text == "abccba[31m\nnext\tword"


def test_joined_emoji_and_other_scripts_stay_whole() -> None:
    text = "👩‍💻 नमस्ते می‌خواهم"
    assert read_message(message("user", text)).text == text


def test_state_keys_have_hints_and_the_plan_is_open() -> None:
    state = {"messages": [{}, {}], "cost": {"usd": 0.5}, "scratchpad": {}, "plan": [{"do": "x"}], "n": 3}
    keys = {key.name: key for key in read_state(state)}
    assert [keys[name].hint for name in ("messages", "cost", "scratchpad", "plan")] == [
        "2 items",
        "$0.5000",
        "empty",
        "1 item",
    ]
    assert keys["plan"].opened
    assert not keys["cost"].opened
    assert next(iter(keys)) == "plan"
    assert not keys["messages"].json
    assert json.loads(keys["n"].json) == 3


def test_big_states_are_cut_to_a_bound() -> None:
    keys = read_state({f"k{n}": "x" * 50_000 for n in range(20)})
    assert all(len(key.json) <= KEY_SHOWN and not key.whole for key in keys)
    assert sum(len(key.json) for key in keys) <= STATE_SHOWN


def test_json_escapes_what_turns_lines_around() -> None:
    assert json_text("a\u202eb") == '"a\\u202eb"'
    assert json.loads(json_text({"a\u2066": "\ud800"})) == {"a\u2066": "\ufffd"}


def test_json_of_anything_is_written() -> None:
    deep: Any = 1
    for _ in range(450):
        deep = [deep]
    assert json_text(deep).count("[") == 450
    assert json_text(10**5000).startswith("1000")


def test_a_page_of_long_messages_is_bounded() -> None:
    call = {"name": "t", "args": {f"a{n}": "y" * 9000 for n in range(12)}}
    page = read_messages([message("assistant", "x" * 9000, tool_calls=[call])] * MESSAGES_SHOWN, 0)
    total = sum(len(m.text) + sum(len(v) for c in m.calls for _, v in c.args) for m in page.shown)
    assert total < 4 * PAGE_SHOWN
