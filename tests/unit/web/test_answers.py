"""JSON on its way out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.web.answers import clean, dumps


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


def test_dumps_goes_deep() -> None:
    value: Any = "bottom"
    for _ in range(520):
        value = [value]
    assert dumps(value).count(b"[") == 520


@given(st.text(st.characters()))
def test_clean_text_is_utf8(text: str) -> None:
    assert clean(text).encode().decode() == clean(text)
