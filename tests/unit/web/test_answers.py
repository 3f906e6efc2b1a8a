"""JSON on its way out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnback.web.answers import StateAnswer, dumps


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, 2**70, -(2**64), "⑂", "\0", [None, True, 1.5], {"n": {"m": [10**400]}}],
)
def test_dumps_keeps_every_value(value: Any) -> None:
    assert json.loads(dumps(value)) == value


def test_dumps_replaces_lone_surrogates_in_keys_and_values() -> None:
    assert json.loads(dumps({"a\udc88": "x \ud83d"})) == {"a\ufffd": "x \ufffd"}


def test_dumps_keeps_whole_emoji_beside_a_lone_surrogate() -> None:
    assert json.loads(dumps("😀\ud83d")) == "😀\ufffd"


@pytest.mark.parametrize("state", [{}, {"a\udc88": "x \ud83d 😀", "n": 2**70}])
def test_state_is_answered_to_the_last_character_and_all_else_mended(state: Any) -> None:
    told = json.loads(bytes(StateAnswer({"id": "1", "state": state, "summary": "cut \ud83d"}).body))
    assert told == {"id": "1", "state": state, "summary": "cut \ufffd"}


def test_dumps_goes_deep() -> None:
    value: Any = "bottom"
    for _ in range(520):
        value = [value]
    assert dumps(value).count(b"[") == 520
